"""Peers are measured in turns with ours, in their fastest way; a missing one is said; their network answers as ours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from reversi.errors import ConfigError, UsageError
from reversi.games.planes import PLANES, write_planes
from reversi.model.evaluate import open_evaluator
from scripts.bench import measure
from scripts.bench.actors import build_actor
from scripts.bench.setup import Settings, positions_of, random_weights
from tests.figures import peers, programs
from tests.figures.__main__ import main

TINY = Settings(blocks=1, channels=8, batch=8, simulations=2, repeats=1)
INSTALLED = pytest.mark.skipif(bool(programs.missing()), reason="pip install '.[peers]'")


class FakeProcessGroup:
    """A group whose processes are as fast as their names say."""

    def __init__(self, builds: Sequence[Any]) -> None:
        self.builds = [build.args[1] if build.func is peers.build_on_cores else build for build in builds]

    def __enter__(self) -> FakeProcessGroup:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def rates(self, seconds: float) -> list[dict[str, float]]:
        return [self.rate(build) for build in self.builds]

    def rate(self, build: partial[Any]) -> dict[str, float]:
        if build.func is programs.mctx_network:
            return {"positions": 100.0 if build.args[1] == "bfloat16" else 70.0}
        if build.func is programs.mctx_selfplay:
            return {"simulations": 50.0 if build.args[1] == "bfloat16" else 30.0}
        if build.func is build_actor:
            return {"simulations": 800.0, "asked": 600.0}
        return {"games": 10.0 if build.func is programs.openspiel_games else 2000.0}


def test_the_fastest_way_of_the_peer_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "version", lambda package: "1.0")
    monkeypatch.setattr(peers, "ProcessGroup", FakeProcessGroup)
    monkeypatch.setattr(peers, "_cores", lambda settings: [0, 1])
    rows = {row.name: row for row in peers.bench_peers(Settings(repeats=2))}
    assert list(rows) == [
        "mctx_network_positions_per_s",
        "mctx_simulations_per_s",
        "actors_simulations_per_s",
        "actors_evaluations_per_s",
        "actors_to_mctx",
        "openspiel_games_per_s",
        "playout_games_per_s",
        "playouts_to_openspiel",
    ]
    assert rows["mctx_network_positions_per_s"].value == 200.0, "two processes in bf16"
    assert "bfloat16, processes 2, cores 2" in rows["mctx_network_positions_per_s"].measured_with
    assert rows["mctx_simulations_per_s"].value == 100.0
    assert rows["actors_simulations_per_s"].value == 1600.0
    assert rows["actors_evaluations_per_s"].value == 1200.0
    assert rows["actors_to_mctx"].value == 16.0
    assert rows["playouts_to_openspiel"].value == 200.0


def test_a_missing_extra_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MODULES", {"a peer": "no_such_module", "numpy": "numpy"})
    with pytest.raises(ConfigError, match=r"^expected a peer: pip install '\.\[peers\]'$"):
        main(["peers"])


def test_another_board_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "missing", list)
    with pytest.raises(UsageError, match="8x8 only, got --size 6"):
        main(["peers", "--size", "6"])


@INSTALLED
def test_the_peers_network_answers_as_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = random_weights(TINY)
    own, opp = positions_of(TINY, TINY.batch)
    planes = np.empty((len(own), PLANES, 8, 8), np.float32)
    write_planes(TINY.game.id, own, opp, planes)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    logits, value = programs.network(programs.layout(weights.arrays, "float32"), planes.transpose(0, 2, 3, 1))
    ours = open_evaluator(weights, precision="float32", batch=TINY.batch)(own, opp)
    np.testing.assert_allclose(np.asarray(logits), ours[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.asarray(value), ours[1], rtol=1e-3, atol=1e-3)


@INSTALLED
def test_the_peers_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "STRETCH_S", 0.05)
    for row in peers.bench_peers(TINY):
        assert 0 < row.low <= row.value <= row.high
