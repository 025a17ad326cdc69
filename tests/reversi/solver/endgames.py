"""Positions near the end of a game, their value by minimax, and a solver."""

from __future__ import annotations

import random
from functools import cache

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.solver.solver import Solver

BOARDS = ("reversi4", "reversi6", "reversi8")


def empties(position: Position) -> int:
    return position.game.squares - (position.own | position.opp).bit_count()


def minimax(position: Position) -> tuple[int, int]:
    """The score if empty squares are nobody's, and if they are the winner's: every line to its end."""
    if position.is_over:
        margin = position.margin
        return margin, margin + empties(position) * ((margin > 0) - (margin < 0))
    below = [minimax(position.play(action)) for action in position.legal_actions()]
    return max(-score for score, _ in below), max(-score for _, score in below)


def positions(name: str, count: int, most: int, seed: int) -> list[Position]:
    """Positions of random games with up to `most` empty squares, forced passes and finished games among them."""
    rng, found = random.Random(seed), list[Position]()
    while len(found) < count:
        position, target = Position.start(name), rng.randint(0, most)
        while not position.is_over and empties(position) > target:
            position = position.play(rng.choice(position.legal_actions()))
        found.append(position)
    return found


@cache
def solver(name: str, winner: bool = False) -> Solver:
    return Solver(GAMES[name], winner_takes_empties=winner, table_bits=16)


def hard(count: int) -> Position:
    """A position of 8x8 with so many empty squares."""
    position, rng = Position.start("reversi8"), random.Random(5)
    while empties(position) > count:
        position = position.play(rng.choice(position.legal_actions()))
    return position
