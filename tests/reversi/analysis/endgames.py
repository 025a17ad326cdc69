"""Positions that the solver takes over, and a stop that never comes."""

from __future__ import annotations

import numpy as np

from reversi.games.position import Position
from reversi.games.rules import Game
from tests.reversi.solver.endgames import empties


def never() -> bool:
    return False


def near_the_end(game: Game, left: int, seed: int) -> Position:
    """Return an unfinished position with `left` empty squares and a choice."""
    rng = np.random.default_rng(seed)
    while True:
        position = Position.start(game)
        while not position.is_over and empties(position) > left:
            position = position.play(int(rng.choice(position.legal_actions())))
        if len(position.legal_actions()) > 1:
            return position
