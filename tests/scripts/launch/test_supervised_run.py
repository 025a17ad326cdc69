"""`train experiment=wthor` in this process, on a few random games in files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actors.worker import Worker
from learner.replay.columns import SampleColumns
from learner.replay.memory import MemoryReplay
from learner.replay.samples import POSITIONS
from learner.weight_store import WeightStore
from reversi.games.rules import game_named
from reversi.record import REACH
from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.launch.train import train
from tests.reversi.formats.wthor_files import transcript, wtb
from tests.scripts.launch.supervised_job import job as supervised_job


def test_the_last_candidate_is_offered_once_all_validation_games_are_validated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In rounds of a second or two, here of one batch: a call of many minutes would look like a learner that hangs."""
    few = ("cluster=serial", "run.minutes=60", "actors.validation_share=0.5", "learner.round_s=0.001")
    assert train(supervised_job(tmp_path, "parts", 60, *few)).finished
    out = capsys.readouterr().out
    assert re.search(r"^validating on all 1,\d\d\d positions of the validation games$", out, re.MULTILINE)
    assert len(re.findall(r"^all validation games: loss ", out, re.MULTILINE)) == 1
    assert re.search(r"^(champion: version|no champion yet)", out, re.MULTILINE)


def test_one_process_reads_the_files_while_it_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of every turn, so that a game is drawn as often whichever round it came with."""
    found = []

    class Seen(MemoryReplay):
        def sample(self, batches: int, batch: int) -> SampleColumns | None:
            found.append(self.report().games_total)
            return super().sample(batches, batch)

    monkeypatch.setattr("scripts.launch.serial.MemoryReplay", Seen)
    short = ("cluster=serial", "run.minutes=60", "actors.round_games=10", "learner.chunk_batches=1")
    train(supervised_job(tmp_path, "reads", 60, *short))
    assert found[:6] == [0, 10, 20, 30, 40, 50]


def test_a_replay_that_lost_games_takes_them_from_the_files_again(tmp_path: Path) -> None:
    """Every game once, whatever its checkpoint holds and whichever delivery comes first."""
    path, games = tmp_path / "games.wtb", REACH + 100
    path.write_bytes(wtb([transcript(seed) for seed in range(games)]))
    overrides = ["experiment=wthor", f"actors.paths=[{path}]", "actors.round_games=1", "actors.validation_share=0"]
    job = job_of(compose(overrides))
    game = game_named(job.game.name)
    replay = MemoryReplay(game, job.replay, POSITIONS, 1)
    deliveries: list[bytes] = []

    class Sink:
        def push(self, data: bytes) -> None:
            deliveries.append(data)
            replay.add(data)

    def read_to_the_end() -> None:
        worker = Worker(
            index=0,
            game=game.name,
            config=job.actors,
            search=job.search,
            seed=1,
            weights=WeightStore(),
            records=Sink(),
        )
        while not worker.round(0.0).finished:
            pass

    read_to_the_end()
    assert replay.report().games_total == games
    assert replay.report().positions >= sum(len(transcript(seed)) // 2 for seed in range(games))
    replay = MemoryReplay(game, job.replay, POSITIONS, 1)
    replay.add(deliveries[0])  # what the checkpoint has
    replay.add(deliveries[-1])  # on its way as the replay died
    read_to_the_end()
    assert replay.report().games_total == games
    assert replay.report().duplicates == 2
