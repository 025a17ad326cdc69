"""Errors of expected margins: against the solver, against the end of a game, by number of empty squares."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

from evaluator.margin_errors import BAND, FEWEST, measured_errors, played_positions
from reversi.analysis.analyzer import Analysis, MoveAnalysis
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.games.symmetry import canonical_key
from reversi.model.info import ModelInfo
from reversi.model.margin_errors import Band, MarginErrors
from reversi.model.registry import Registry
from reversi.solver.solver import Solver
from tests.evaluator.gates import CONFIG, Store, judge, make, weights

GAME = GAMES["reversi6"]
SOLVED = 8


def random_game(seed: int) -> list[Position]:
    rng, positions = np.random.default_rng(seed), played_positions(GAME, [])
    while not positions[-1].is_over:
        positions.append(positions[-1].play(int(rng.choice(positions[-1].legal_actions()))))
    return positions


GAMES_PLAYED = [random_game(seed)[6:] for seed in range(40)]
"""From when no two of them have a position in common."""


def finished(measuring: Generator[None, None, MarginErrors]) -> MarginErrors:
    while True:
        try:
            next(measuring)
        except StopIteration as done:
            return done.value


class Truthful:
    """Knows the truth of every position asked, as `measured_errors` takes it, but for `off` discs."""

    def __init__(self, off: float) -> None:
        self.asked: list[Position] = []
        self._off, self._solver = off, Solver(GAME)
        self._game_of = {position: game for game in GAMES_PLAYED for position in game}

    def __call__(self, positions: list[Position]) -> list[Analysis]:
        self.asked += positions
        return [self._analysis(position) for position in positions]

    def _analysis(self, position: Position) -> Analysis:
        game = self._game_of[position]
        judged = next(each for each in game if each.empties <= SOLVED) if position.empties > SOLVED else position
        black = judged.black_margin
        if not judged.is_over:
            score = self._solver.solve(judged.own, judged.opp).score
            assert score is not None
            black = score if judged.black_to_move else -score
        margin = (black if position.black_to_move else -black) + self._off
        move = MoveAnalysis(position.legal_actions()[0], value=0.1, discs=margin)
        return Analysis((move,), 1, 0.0, 0.1)


@pytest.mark.parametrize("off", [0.0, 3.0, -2.5])
def test_the_error_is_how_far_margins_lie_from_the_truth(off: float) -> None:
    analyse = Truthful(off)
    errors = finished(measured_errors(GAME, GAMES_PLAYED, analyse, simulations=7, positions=20, solved=SOLVED))
    assert (errors.simulations, errors.solved) == (7, SOLVED)
    assert {band.discs for band in errors.bands} == {abs(off)}
    assert [band.fewest for band in errors.bands] == sorted(band.fewest for band in errors.bands)
    assert max(band.positions for band in errors.bands) == 20
    for band in errors.bands:
        held = [each for each in analyse.asked if band.fewest <= each.empties <= band.most]
        assert len(held) == band.positions >= FEWEST
        assert len({canonical_key(GAME, each.own, each.opp) for each in held}) == len(held)
        assert all(len(each.legal_actions()) > 1 for each in held)
        assert band.most - band.fewest + 1 == BAND
        assert (band.most <= SOLVED) or (band.fewest > SOLVED)


def test_nothing_is_asked_of_openings() -> None:
    after = [game[6:] for game in GAMES_PLAYED]
    analyse = Truthful(1.0)
    errors = finished(measured_errors(GAME, after, analyse, simulations=1, positions=10, solved=SOLVED))
    assert max(each.empties for each in analyse.asked) <= 20
    assert max(band.fewest for band in errors.bands) == 17


def test_a_result_that_is_proven_without_a_margin_does_not_count() -> None:
    def proven(positions: list[Position]) -> list[Analysis]:
        return [
            Analysis((MoveAnalysis(position.legal_actions()[0], value=1.0, certain=True),), 1, 0.0, 1.0, proven=True)
            for position in positions
        ]

    errors = finished(measured_errors(GAME, GAMES_PLAYED, proven, simulations=1, positions=10, solved=SOLVED))
    assert errors.bands == ()
    assert errors.at(12) is None


def test_the_nearest_band_speaks_for_what_was_not_measured() -> None:
    bands = (
        Band(fewest=9, most=12, positions=10, discs=2.0),
        Band(fewest=13, most=16, positions=10, discs=4.0),
    )
    errors = MarginErrors(simulations=1, solved=8, bands=bands)
    assert [errors.at(empties) for empties in (2, 9, 12, 13, 16, 50)] == [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]


@pytest.mark.usefixtures("scripted")
def test_a_champions_description_has_the_errors_and_a_resumed_gate_the_same(registry: Registry, store: Store) -> None:
    config = dataclasses.replace(CONFIG, truth_positions=10, truth_empties=6, truth_simulations=3)
    gate, states = make(registry, store, config), list[bytes]()
    judge(gate, 0)
    gate.offer(weights(10).to_bytes())
    while gate.round(1e-9).verdict is None:
        states.append(gate.state())
    info = registry.models()[-1]
    errors = info.margin_errors
    assert errors is not None
    assert (info.verdict, errors.simulations) == ("promoted", 3)
    assert max(band.positions for band in errors.bands) == 10
    assert ModelInfo.from_json(info.to_json().encode(), info.path) == info
    card = Path(info.path, "card.md").read_text()
    for band in errors.bands:
        assert f"| {band.squares} | {band.discs:.1f} | {band.positions} |" in card
    twin = Registry(f"{registry.url}-twin", create=True)
    resumed = make(twin, Store(), config)
    judge(resumed, 0)
    resumed.restore(states[-1])
    assert resumed.round(0).verdict == "promoted", "all games were played, the errors not measured"
    assert twin.models()[-1].margin_errors == errors
    assert judge(make(registry, Store(), config), 11)[0].verdict == "rejected"
    assert registry.models()[-1].margin_errors is None
