"""The standard error of a model's expected margins, by the number of empty squares, measured in games between models.

The games of a match, after their openings, are none that the models were trained on.  Where few squares are empty the
solver says the truth; before that, a position's truth is that of its game when so few squares were empty, which leaves
out what was lost after that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np

from reversi.analysis.analyzer import Analysis
from reversi.games.position import Position
from reversi.games.rules import Game
from reversi.games.symmetry import canonical_key
from reversi.model.margin_errors import Band, MarginErrors
from reversi.solver.solver import Solver

BAND = 4
"""Numbers of empty squares in a band."""

SOLVED = 16
"""Default of the most empty squares of positions that are solved, some milliseconds each."""

FEWEST = 8
"""Fewest positions of a band that is told."""

SLICE = 32
"""Positions that are analysed between two looks at the clock."""

Analyse = Callable[[list[Position]], list[Analysis]]
"""Analyses unfinished positions without the solver."""


@dataclass(frozen=True)
class _Sample:
    """A position of a game, and the margin for its side to move that it was worth."""

    position: Position
    truth: float


def measured_errors(
    game: Game,
    games: Sequence[Sequence[Position]],
    analyse: Analyse,
    *,
    simulations: int,
    positions: int,
    solved: int = SOLVED,
    seed: int = 0,
) -> Generator[None, None, MarginErrors]:
    """Return the errors of the margins that `analyse` expects; yields between parts of at most some tenths of a second.

    A position whose result is proven without a margin is left out.

    games        the positions of finished ones, from the first move that the models chose on
    simulations  of `analyse`, for the result
    positions    most positions for each band: of different games as far as there are, distinct up to symmetry, with a
                 choice of moves
    solved       most empty squares of positions that are solved, a multiple of `BAND`
    """
    assert solved % BAND == 0, "expected no band on both sides of the limit"
    drawn = yield from _drawn(game, games, positions, solved, np.random.default_rng(seed))
    bands = []
    for number, samples in sorted(drawn.items()):
        squares = list[float]()
        for at in range(0, len(samples), SLICE):
            part = samples[at : at + SLICE]
            for sample, analysis in zip(part, analyse([each.position for each in part]), strict=True):
                best = analysis.judged_best
                expected = best.margin(game)
                if expected is not None and (best.score is not None or not best.certain):
                    squares.append((expected - sample.truth) ** 2)
            yield
        if len(squares) >= FEWEST:
            fewest, error = BAND * number + 1, round(math.sqrt(sum(squares) / len(squares)), 2)
            bands.append(Band(fewest=fewest, most=fewest + BAND - 1, positions=len(squares), discs=error))
    return MarginErrors(simulations=simulations, solved=solved, bands=tuple(bands))


def _drawn(
    game: Game, games: Sequence[Sequence[Position]], most: int, solved: int, rng: np.random.Generator
) -> Generator[None, None, dict[int, list[_Sample]]]:
    """Return samples by the number of their band, of which a game gives each at most one."""
    solver, drawn, known = Solver(game), dict[int, list[_Sample]](), set[tuple[int, int]]()
    for number in rng.permutation(len(games)).tolist():
        played, chosen = games[number], dict[int, Position]()
        for at in rng.permutation(len(played)).tolist():
            position = played[at]
            band, same = (position.empties - 1) // BAND, canonical_key(game, position.own, position.opp)
            lacks = band not in chosen and len(drawn.get(band, ())) < most
            if lacks and same not in known and len(position.legal_actions()) > 1:
                chosen[band] = position
                known.add(same)
        of_game = _black_truth(solver, next((each for each in played if each.empties <= solved), played[-1]))
        for band, position in chosen.items():
            black = _black_truth(solver, position) if position.empties <= solved else of_game
            sample = _Sample(position, black if position.black_to_move else -black)
            drawn.setdefault(band, []).append(sample)
        yield
    return drawn


def played_positions(game: Game, actions: Sequence[int]) -> list[Position]:
    """Return the positions of a game, from its start to its end."""
    positions = [Position.start(game)]
    for action in actions:
        positions.append(positions[-1].play(action))
    return positions


def _black_truth(solver: Solver, position: Position) -> int:
    """Return Black's margin of perfect play."""
    if position.is_over:
        return position.black_margin
    score = solver.solve(position.own, position.opp).score
    assert score is not None, "a position without a limit was not solved"
    return score if position.black_to_move else -score
