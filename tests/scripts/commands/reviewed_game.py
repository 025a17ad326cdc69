"""Endings with the solver's judgement of every move, for tests of the page's review."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.position import Position
from reversi.solver.solver import Solver

MARKS = ("??", "?", "?!")


@dataclass(frozen=True)
class Judged:
    """A move and what the solver says of it."""

    side: str
    name: str
    lost: int
    mark: str
    best: set[str]


def ending(empties: int, seed: int) -> tuple[GgfGame, list[Judged]]:
    """Return random moves from a position with `empties` empty squares to the end, and the solver's judgement."""
    rng, solver = np.random.default_rng(seed), Solver("reversi6")
    start = Position.start("reversi6")
    while start.empties > empties:
        start = start.play(int(rng.choice(start.legal_actions())))
    position, actions, judged = start, list[int](), list[Judged]()
    while not position.is_over:
        scores = solver.solve_moves(position.own, position.opp).moves
        actions.append(int(rng.choice(position.legal_actions())))
        most, got = max(scores.values()), scores[actions[-1]]
        by_result, lost = int(np.sign(most) - np.sign(got)), most - got
        mark = "??" if by_result == 2 or lost >= 12 else "?" if by_result or lost >= 6 else "?!" if lost >= 3 else ""
        names = dict(zip(position.legal_actions(), position.legal_moves(), strict=True))
        best = {names[action] for action, score in scores.items() if score == most}
        side = "Black" if position.black_to_move else "White"
        judged.append(Judged(side, names[actions[-1]], most - got, mark, best))
        position = position.play(actions[-1])
    return GgfGame(start, tuple(GgfMove(action) for action in actions)), judged
