"""`reversi train experiment=wthor` as its users run it, on a few random games in files."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from actors.worker import Worker
from learner.replay.memory import MemoryReplay
from learner.weight_store import WeightStore
from reversi.games.rules import game_named
from reversi.record import REACH
from scripts.config.compose import compose
from scripts.config.job import job_of
from tests.reversi.formats.wthor_files import transcript, wtb
from tests.runs.training.processes import REPLAY, processes, wait_for
from tests.scripts.tiny_job import metrics

TINY = (
    "experiment=wthor",
    "network.filters=[8]",
    "network.width=1",
    "replay.min_positions=100",
    "learner.publish_every_steps=40",
    "learner.candidate_every_steps=40",
    "algorithm.validation_every_steps=40",
    "gate.games=20",
    "gate.wins=10",
    "gate.opening_choice=1",
    "gate.truth_positions=0",
    "run.summary_games=0",
    "tracking=jsonl",
)


def command(folder: Path, name: str, games: int, *overrides: str) -> list[str]:
    """Return the command line of a run over so many random games, in a file of their own in `folder`."""
    (folder / "games.wtb").write_bytes(wtb([transcript(seed) for seed in range(games)]))
    given = (f"actors.paths=[{folder}/games.wtb]", f"run.dir={folder}", f"run.name={name}")
    return [sys.executable, "-m", "scripts.cli", "train", *TINY, *given, *overrides]


def test_the_last_candidate_is_offered_once_all_validation_games_are_validated(tmp_path: Path) -> None:
    """In rounds of a second or two, here of one batch: a call of many minutes would look like a learner that hangs."""
    few = ("cluster=serial", "run.minutes=5", "actors.validation_share=0.5", "learner.round_s=0.001")
    done = subprocess.run(
        command(tmp_path, "parts", 60, *few), text=True, capture_output=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^validating on all 1,\d\d\d positions of the validation games$", done.stdout, re.MULTILINE)
    assert len(re.findall(r"^all validation games: loss ", done.stdout, re.MULTILINE)) == 1
    assert re.search(r"^champion: version \d+", done.stdout, re.MULTILINE)


def test_a_replay_that_lost_games_takes_them_from_the_files_again(tmp_path: Path) -> None:
    """Every game once, whatever its checkpoint holds and whichever delivery comes first."""
    path, games = tmp_path / "games.wtb", REACH + 100
    path.write_bytes(wtb([transcript(seed) for seed in range(games)]))
    overrides = ["experiment=wthor", f"actors.paths=[{path}]", "actors.round_games=1", "actors.validation_share=0"]
    job = job_of(compose(overrides))
    game = game_named(job.game.name)
    replay = MemoryReplay(game, job.replay, 1, None)
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
    replay = MemoryReplay(game, job.replay, 1, None)
    replay.add(deliveries[0])  # what the checkpoint has
    replay.add(deliveries[-1])  # on its way as the replay died
    read_to_the_end()
    assert replay.report().games_total == games
    assert replay.report().duplicates == 2


def test_a_replay_that_dies_after_all_games_were_read_does_not_end_the_run(tmp_path: Path) -> None:
    run = tmp_path / "lost"
    much = ("run.minutes=5", "run.checkpoint_minutes=60", "replay.reuse=1e6", "algorithm.patience=null")
    start = command(tmp_path, "lost", 60, *much)
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list((run / "checkpoints").glob("0*")))  # the one of the end of the files
        wait_for(lambda: metrics(run, "replay"))
        held = metrics(run, "replay")[-1]["replay/positions"]
        shutil.rmtree(run / "checkpoints")
        os.kill(processes(process.pid, REPLAY)[0].pid, signal.SIGKILL)
        wait_for(lambda: list((run / "checkpoints").glob("0*")))  # the one of their second end
        step = metrics(run, "learner")[-1]["learner/step"]
        wait_for(lambda: metrics(run, "learner")[-1]["learner/step"] > step)
        wait_for(lambda: metrics(run, "replay")[-1]["replay/positions"] == held)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "the game files are read again from the first" in (run / "logs" / "run.log").read_text()
    rows = metrics(run, "run")
    assert rows[-1]["run/restarts"] == 1
    assert {row["run/games"] for row in rows[1:]} == {rows[-1]["run/games"]}, "no game is counted twice"
