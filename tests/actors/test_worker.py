"""A worker takes new weights between rounds, delivers what ended, and resumes exactly."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from actors.config import ActorConfig, GamesActorConfig
from actors.selfplay import SelfPlay
from actors.worker import Worker
from learner.replay.memory import MemoryReplay
from learner.replay.samples import POSITIONS
from reversi import record
from reversi.games.rules import game_named
from reversi.record import Records, check, decode
from tests.actors.games import ACTORS, EPSILON
from tests.actors.workers import SEARCHING, Sink, Source, weights, worker
from tests.configs import replay_config, search_config
from tests.reversi.formats.wthor_files import transcript

EXPLORING = dataclasses.replace(EPSILON, epsilon=0.5, final_epsilon=0.1, round_games=10)


def test_only_rounds_in_the_background_end_by_time() -> None:
    """The others have to repeat exactly, however long a network takes."""
    source = Source()
    source.data = weights(0)
    config = dataclasses.replace(SEARCHING, round_batches=40, round_s=1e-9)
    timed, counted = worker(source, Sink(), config, background=True), worker(source, Sink(), config)
    longest = max(timed.round(0.0).simulations for _ in range(5))
    assert 0 < 10 * longest < counted.round(0.0).simulations


def test_a_worker_without_weights_plays_nothing() -> None:
    report = worker(Source(), Sink()).round(0.0)
    assert (report.games, report.positions, report.version) == (0, 0, -1)


def test_records_carry_the_version_that_played_and_count_up() -> None:
    source, sink = Source(), Sink()
    player = worker(source, sink)
    source.data = weights(0)
    reports = [player.round(0.0) for _ in range(6)]
    source.data = weights(7)
    reports += [player.round(0.0) for _ in range(6)]
    decoded = [decode(data, "test") for data in sink.data]
    assert [sequence for _, _, sequence in decoded] == list(range(len(decoded)))
    assert {producer for _, producer, _ in decoded} == {"actor-0-0"}
    assert sum(len(records) for records, _, _ in decoded) == sum(report.games for report in reports)
    assert {int(v) for records, _, _ in decoded for v in records.version} == {0, 7}
    assert all(not check(records).any() for records, _, _ in decoded)
    done = reports[-1]
    assert abs(done.simulations / done.positions / 4 - 1) < 0.1
    assert done.asked + done.found == done.looked_up
    assert done.found > 0


@pytest.mark.parametrize("config", [SEARCHING, EXPLORING], ids=["search", "epsilon"])
def test_a_resumed_worker_delivers_what_the_uninterrupted_one_does(config: ActorConfig) -> None:
    source = Source()
    source.data = weights(0)
    whole, cut = Sink(), Sink()
    uninterrupted = worker(source, whole, config)
    first = worker(source, cut, config)
    for _ in range(4):
        uninterrupted.round(0.0)
        first.round(0.0)
    second = worker(source, cut, config)
    second.restore(first.state())
    for _ in range(6):
        uninterrupted.round(0.0)
        second.round(0.0)
    assert whole.data == cut.data
    assert len(whole.data) > 3


def test_a_round_too_large_for_one_delivery_is_several(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source()
    source.data = weights(0)
    config = dataclasses.replace(EXPLORING, round_games=100)
    whole, parts = Sink(), Sink()
    one = worker(source, whole, config)
    reports = [one.round(0.0) for _ in range(4)]
    assert min(map(len, whole.data)) > 10_000
    rounds = [decode(data, "test")[0] for data in whole.data]
    monkeypatch.setattr(record, "BATCH_BYTES", 3000)
    monkeypatch.setattr(record, "MAX_BYTES", 6000)
    state: bytes | None = None
    for report in reports:
        other = worker(source, parts, config)
        if state is not None:
            other.restore(state)
        assert other.round(0.0).games == report.games
        state = other.state()
    decoded = [decode(data, "test") for data in parts.data]
    assert [sequence for _, _, sequence in decoded] == list(range(len(decoded)))
    assert len(decoded) >= 4 * 4
    expected, got = Records.concatenate(rounds), Records.concatenate([records for records, _, _ in decoded])
    for field in dataclasses.fields(Records):
        np.testing.assert_array_equal(getattr(got, field.name), getattr(expected, field.name))


def test_games_of_another_number_are_dropped_on_resume() -> None:
    source, sink = Source(), Sink()
    source.data = weights(0)
    small = worker(source, sink, dataclasses.replace(SEARCHING, games=4))
    small.round(0.0)
    for other in (SEARCHING, EXPLORING):
        large = worker(source, sink, other)
        large.restore(small.state())
        assert large.round(0.0).positions > 0
    assert np.all([not check(decode(data, "test")[0]).any() for data in sink.data])


def test_epsilon_play_reports_its_games_and_takes_new_weights() -> None:
    source, sink = Source(), Sink()
    source.data = weights(0)
    player = worker(source, sink, EXPLORING)
    first = player.round(0.0)
    source.data = weights(4)
    second = player.round(1.0)
    assert (first.version, second.version) == (0, 4)
    assert 10 <= first.games < 18
    assert first.positions == first.asked > 10 * 10
    assert (first.simulations, first.looked_up, first.found, first.finished) == (0, 0, 0, False)
    decoded = [decode(data, "test")[0] for data in sink.data]
    assert [set(records.version) for records in decoded] == [{0}, {4}]
    assert not any(check(records).any() for records in decoded)


def recorded(file: Path, seeds: range) -> GamesActorConfig:
    """Write a game for each seed into `file`; return the configuration that reads them, ten a round."""
    file.write_text("\n".join(transcript(seed, "reversi4") for seed in seeds))
    return GamesActorConfig(
        kind="games",
        count=1,
        paths=(str(file),),
        column=None,
        max_games=None,
        validation_share=0.0,
        round_games=10,
    )


def test_games_of_files_need_no_weights_and_resume_in_the_middle(tmp_path: Path) -> None:
    config = recorded(tmp_path / "games.txt", range(25))
    whole, cut = Sink(), Sink()
    uninterrupted, first = worker(Source(), whole, config), worker(Source(), cut, config)
    reports = [uninterrupted.round(0.0) for _ in range(4)]
    assert [(report.games, report.finished, report.version) for report in reports] == [
        (10, False, -1),
        (10, False, -1),
        (5, True, -1),
        (0, True, -1),
    ]
    assert [report.asked for report in reports] == [0, 0, 0, 0]
    assert reports[0].positions > 10 * 8
    first.round(0.0)
    second = worker(Source(), cut, config, incarnation=1)
    second.restore(first.state())
    while not second.round(0.0).finished:
        pass
    assert whole.data == cut.data
    assert len(whole.data) == 3


def test_weights_are_made_ready_while_play_goes_on_with_the_old_ones() -> None:
    source, sink = Source(), Sink()
    config = dataclasses.replace(ACTORS, opening_plies=2)
    player = Worker(
        index=0,
        game="reversi4",
        config=config,
        search=search_config(simulations=4),
        seed=5,
        weights=source,
        records=sink,
        background=True,
    )
    source.data = weights(0)
    assert player.round(0.0).version == 0
    source.data = weights(7)
    versions = [player.round(0.0).version]
    while versions[-1] != 7:
        versions.append(player.round(0.0).version)
    assert versions[0] == 0, "the round that hears of new weights does not wait for them"
    decoded = [decode(data, "test")[0] for data in sink.data]
    assert {int(v) for records in decoded for v in records.version} <= {0, 7}


def test_simulations_grow_in_a_straight_line_over_the_run() -> None:
    source = Source()
    source.data = weights(0)
    config = dataclasses.replace(ACTORS, round_batches=100)
    player = Worker(
        index=0,
        game="reversi4",
        config=config,
        search=search_config(simulations=20, first_simulations=4),
        seed=5,
        weights=source,
        records=Sink(),
    )
    for progress, simulations in ((0.0, 4), (0.5, 12), (1.0, 20)):
        player.round(progress)  # searches begun before end with the old number
        done = player.round(progress)
        assert abs(done.simulations / done.positions / simulations - 1) < 0.15


def test_a_reader_that_lost_its_state_delivers_the_same_again_under_the_same_names(tmp_path: Path) -> None:
    """So the replay counts nothing twice, whichever start of the run reads the files."""
    config = recorded(tmp_path / "games.txt", range(25))
    replay = MemoryReplay(
        game_named("reversi4"), replay_config(capacity_positions=1000, min_positions=10), POSITIONS, 0
    )
    cut, again = Sink(), Sink()
    worker(Source(), cut, config).round(0.0)
    reader = worker(Source(), again, config, incarnation=1)
    while not reader.round(0.0).finished:
        pass
    for data in (*cut.data, *again.data):
        replay.add(data)
    report = replay.report()
    assert (report.games_total, report.duplicates) == (25, 1)
    other = Sink()
    worker(Source(), other, recorded(tmp_path / "games.txt", range(1, 26))).round(0.0)
    assert not replay.add(other.data[0]).duplicate, "other games have another name"


def test_waiting_is_told_from_playing(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1.0

    class Slow(Sink):
        """A replay that keeps its producers waiting."""

        def push(self, data: bytes) -> None:
            nonlocal now_s
            now_s += 0.5
            super().push(data)

    monkeypatch.setattr("actors.worker.time", SimpleNamespace(monotonic=lambda: now_s))
    source, sink = Source(), Slow()
    source.data = weights(0)
    player = worker(source, sink)
    reports = [player.round(0.0) for _ in range(6)]
    assert sum(report.waiting_s for report in reports) == 0.5 * len(sink.data) > 0
    assert [report.waiting_s for report in reports if not report.games] == [0.0] * sum(
        not report.games for report in reports
    )


def test_answers_of_other_weights_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[SelfPlay] = []
    monkeypatch.setattr(SelfPlay, "clear_cache", lambda played: cleared.append(played))
    source = Source()
    source.data = weights(0)
    first = worker(source, Sink())
    first.round(0.0)
    state = first.state()
    source.data = weights(7)
    first.round(0.0)
    assert cleared == [first._source], "new weights"
    other = worker(source, Sink())
    other.restore(state)
    other.round(0.0)
    assert cleared[1:] == [other._source], "resumed with other weights than it was saved with"
