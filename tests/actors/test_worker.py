"""A worker takes new weights between rounds, delivers what ended, and resumes exactly."""

from __future__ import annotations

import dataclasses

import numpy as np

from actors.worker import Worker
from reversi.games.rules import game_named
from reversi.model.config import NetworkConfig
from reversi.model.weights import Weights
from reversi.record import check, decode
from reversi.search.config import SearchConfig
from tests.actors.test_selfplay import ACTORS

GAME = game_named("reversi4")


def weights(version: int) -> bytes:
    import torch

    from reversi.model.network import DualNetwork, fold

    torch.manual_seed(version)
    return fold(DualNetwork(NetworkConfig(blocks=1, channels=8), GAME.size), GAME, version).to_bytes()


class Source:
    """Weights that a test sets."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        assert channel == "latest"
        if self.data is None or Weights.from_bytes(self.data, "test").version <= newer_than:
            return None
        return self.data


class Sink:
    """Records that a test reads."""

    def __init__(self) -> None:
        self.data: list[bytes] = []

    def push(self, data: bytes) -> None:
        self.data.append(data)


def worker(source: Source, sink: Sink, games: int = 8) -> Worker:
    config = dataclasses.replace(ACTORS, games=games, opening_plies=2)
    search = SearchConfig(simulations=4)
    return Worker(index=0, game="reversi4", config=config, search=search, seed=5, weights=source, records=sink)


def test_a_worker_without_weights_plays_nothing() -> None:
    report = worker(Source(), Sink()).round()
    assert (report.games, report.positions, report.version) == (0, 0, -1)


def test_records_carry_the_version_that_played_and_count_up() -> None:
    source, sink = Source(), Sink()
    player = worker(source, sink)
    source.data = weights(0)
    reports = [player.round() for _ in range(6)]
    source.data = weights(7)
    reports += [player.round() for _ in range(6)]
    decoded = [decode(data, "test") for data in sink.data]
    assert [sequence for _, _, sequence in decoded] == list(range(len(decoded)))
    assert {producer for _, producer, _ in decoded} == {"actor-0-0"}
    assert sum(len(records) for records, _, _ in decoded) == sum(report.games for report in reports)
    assert {int(v) for records, _, _ in decoded for v in records.version} == {0, 7}
    assert all(not check(records).any() for records, _, _ in decoded)
    assert reports[-1].simulations == 4 * reports[-1].positions


def test_a_resumed_worker_delivers_what_the_uninterrupted_one_does() -> None:
    source = Source()
    source.data = weights(0)
    whole, cut = Sink(), Sink()
    uninterrupted = worker(source, whole)
    first = worker(source, cut)
    for _ in range(4):
        uninterrupted.round()
        first.round()
    second = worker(source, cut)
    second.restore(first.state())
    for _ in range(6):
        uninterrupted.round()
        second.round()
    assert whole.data == cut.data


def test_games_of_another_number_are_dropped_on_resume() -> None:
    source, sink = Source(), Sink()
    source.data = weights(0)
    small = worker(source, sink, games=4)
    small.round()
    large = worker(source, sink, games=8)
    large.restore(small.state())
    assert large.round().positions > 0
    assert np.all([not check(decode(data, "test")[0]).any() for data in sink.data])
