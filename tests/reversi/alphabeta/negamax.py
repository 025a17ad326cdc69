"""Negamax without pruning, table or order: the slow and obvious alpha-beta, and tables for it."""

from __future__ import annotations

import functools
import random

import numpy as np

from reversi.alphabeta.search import INFINITE, SOLVED_EMPTIES
from reversi.games.bitboard import ONE, ZERO, lowest_square, popcount
from reversi.games.position import Position
from reversi.games.rules import (
    UNFINISHED,
    action_of_square,
    game_named,
    legal_moves,
    outcome,
    play,
    squares_of,
)
from reversi.kernels.kernel import kernel
from reversi.patterns.evaluate import margin_of
from reversi.patterns.tables import DISC, PatternTables
from reversi.solver.solver import solve_small
from tests.reversi.patterns.oracle import random_tables

PATTERNS = {
    "reversi4": ("a1 b1 c1 d1", "a2 b2 c2 d2", "a1 a2 b1 b2"),
    "reversi6": ("a1 b1 c1 d1 e1 f1", "a2 b2 c2 d2 e2 f2", "a3 b3 c3 d3 e3 f3", "a1 b1 c1 a2 b2 c2"),
    "reversi8": tuple(" ".join(f"{column}{row}" for column in "abcdefgh") for row in range(1, 5)),
}


@functools.cache
def tables_for(name: str, seed: int = 1) -> PatternTables:
    return random_tables(PATTERNS[name], game_named(name), 4, seed)[0]


@kernel
def negamax(tables, game_id, own, opp, depth):
    """Return the value of a position; a pass costs no depth, and few empty squares are solved at any depth."""
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        margin = outcome(game_id, own, opp)
        return DISC * margin if margin != UNFINISHED else -negamax(tables, game_id, opp, own, depth)
    if squares_of(game_id) - popcount(own | opp) <= SOLVED_EMPTIES:
        return DISC * solve_small(game_id, own, opp, -64, 64)
    if depth == 0:
        most = DISC * squares_of(game_id)
        return min(max(margin_of(tables, own, opp), -most), most)
    best = -INFINITE
    while legal != ZERO:
        next_own, next_opp = play(game_id, own, opp, action_of_square(game_id, lowest_square(legal)))
        legal &= legal - ONE
        best = max(best, -negamax(tables, game_id, next_own, next_opp, depth - 1))
    return best


def value_of(tables: PatternTables, position: Position, depth: int) -> int:
    masks = np.uint64(position.own), np.uint64(position.opp)
    return int(negamax(tables, position.game.id, *masks, int(np.int64(depth))))


def positions(name: str, count: int, seed: int) -> list[Position]:
    """Return unfinished positions of random games, passes among them."""
    rng, found = random.Random(seed), list[Position]()
    while len(found) < count:
        position = Position.start(name)
        plies = rng.randrange(position.game.squares - 4)
        for _ in range(plies):
            if not position.is_over:
                position = position.play(rng.choice(position.legal_actions()))
        if not position.is_over:
            found.append(position)
    return found
