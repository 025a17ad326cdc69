"""The gate of pattern networks plays what people get: alpha-beta, with fixed work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluator.contestants import Contestants
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from reversi.players import AlphaBetaModelPlayer, SearchPlayer
from tests.evaluator.gates import CONFIG, GAME, Store, make, until_verdict
from tests.reversi.model.samples import PATTERNS, weights

CONFIG_OF_PATTERNS = replace(CONFIG, games=20, wins=11, simulations=20)


def without_knowledge(version: int) -> Weights:
    model = weights(GAME, version, config=PATTERNS)
    return replace(model, arrays=model.arrays | {name: 0 * model.arrays[name] for name in ("tables", "bias")})


def test_players_are_those_that_people_get() -> None:
    model, contestants = weights(GAME, 1, config=PATTERNS), Contestants(CONFIG_OF_PATTERNS, GAME)
    assert isinstance(contestants.playing(model), AlphaBetaModelPlayer)
    assert isinstance(contestants.judging(model), SearchPlayer)
    bare = Contestants(replace(CONFIG_OF_PATTERNS, simulations=0), GAME)
    assert isinstance(bare.playing(model), SearchPlayer)


def test_a_match_repeats_exactly(tmp_path: Path) -> None:
    results = []
    for name in ("one", "two"):
        gate = make(Registry(tmp_path / name, create=True), Store(), CONFIG_OF_PATTERNS)
        for model in (without_knowledge(0), weights(GAME, 1, seed=3, config=PATTERNS)):
            gate.offer(model.to_bytes())
            report = until_verdict(gate)
        results.append((report.verdict, report.wins, report.draws, report.losses))
    assert results[0] == results[1]
    assert np.sum(results[0][1:4]) > 0
