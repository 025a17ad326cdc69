"""Actors that come, go, freeze and are killed with their driver, on a real Ray: nothing is held up, lost or counted
twice, and the last candidate is judged once."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from learner.replay.deliveries import Deliveries
from reversi.model.registry import Registry
from scripts.cli import main
from scripts.run.processes import children, kill_children
from tests.faults.drill.faults import AGENTS
from tests.faults.drill.run import is_alive
from tests.runs.training.processes import command, wait_for
from tests.scripts.launch.tiny_job import metrics
from tests.scripts.run.run_states import header

FEW_CANDIDATES = ("learner.candidate_every_steps=1000000", "gate.games=60", "gate.wins=31", "gate.simulations=1000")
"""The first model and the last candidate are all that is judged, and the last match takes some seconds."""


class Session:
    """A run's driver, as a child of this process."""

    def __init__(self, run: Path, arguments: list[str]) -> None:
        self.run = run
        self.said = run.parent / f"{run.name}.err"
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen(arguments, stdout=said, stderr=said, start_new_session=True)

    def wait(self, condition: Any, what: str, timeout_s: float = 300) -> None:
        """Wait until `condition` holds; fail at once, with its last words, if the run ends before."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert self.process.poll() is None, f"ended before {what}: {self.said.read_text()}"
            assert time.monotonic() < deadline, f"{what} did not come within {timeout_s:.0f} s: {log(self.run)[-2000:]}"
            time.sleep(0.05)

    def wait_for_actors(self, count: int) -> None:
        def there() -> bool:
            told = [row["health/actors/alive"] for row in rows(self.run, "health/actors")]
            return bool(told) and told[-1] == count and len(self.actors()) == count

        self.wait(there, f"{count} actors")

    def wait_for_checkpoint(self, actors: int) -> dict[str, Any]:
        """Return `run.json` of a checkpoint that was begun after this call, with the states of so many actors in it."""
        following = f"{int(max(names(self.run), default='0')) + 1:06d}"  # may have been begun already
        found: list[dict[str, Any]] = []

        def there() -> bool:
            with contextlib.suppress(FileNotFoundError):  # a newer one has come meanwhile
                newest = max(checkpoints(self.run), default=None)
                if newest is not None and max(names(self.run)) > following:
                    found.append(state_of(newest))
            return bool(found) and sum(part.startswith("actor-") for part in found[-1]["parts"]) == actors

        self.wait(there, f"a checkpoint with {actors} actors")
        return found[-1]

    def actors(self) -> list[psutil.Process]:
        return [child for child, title in children(self.process.pid) if title.startswith("ray::RemoteWorker")]

    def stop(self) -> None:
        """Ask for the end, and wait for it."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=100) == 130, self.said.read_text()

    def kill(self) -> None:
        """End it as a power cut does, and see its children go, but for Ray's agents, which take a minute."""
        below = [child for child, title in children(self.process.pid) if title.split()[0] not in AGENTS]
        self.process.kill()
        self.process.wait()
        wait_for(lambda: not any(map(is_alive, below)))


@contextmanager
def session(run: Path, arguments: list[str]) -> Iterator[Session]:
    started = Session(run, arguments)
    try:
        yield started
    finally:
        kill_children(started.process.pid)
        started.process.kill()
        started.process.wait()


def resumed(run: Path, *overrides: str) -> list[str]:
    return [sys.executable, "-m", "scripts.cli", "train", f"resume={run}", *overrides]


def names(run: Path) -> list[str]:
    return [path.name for path in (run / "checkpoints").glob("0*")]


def rows(run: Path, prefix: str) -> list[dict[str, float]]:
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # not there yet, or half a row
        return metrics(run, prefix)
    return []


def log(run: Path) -> str:
    path = run / "logs" / "run.log"
    return path.read_text() if path.exists() else ""


def state_of(checkpoint: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((checkpoint / "run.json").read_text())
    return value


def actors_in(checkpoint: Path) -> list[str]:
    return sorted(path.stem for path in checkpoint.glob("actor-*"))


def assert_counted_once(checkpoint: Path, actors: int) -> None:
    """What the actors say they have delivered is what the replay has taken, batch by batch and game by game.

    Of an actor that was left out the driver may not have heard yet what the replay has taken.
    """
    replay = header(checkpoint, "replay")
    taken = Deliveries.restored(replay["deliveries"])
    for actor in actors_in(checkpoint):
        state = header(checkpoint, actor)
        delivered = range(max(0, state["sequence"] - 1000), state["sequence"])
        assert all((state["producer"], number) in taken for number in delivered)
        assert (state["producer"], state["sequence"]) not in taken
    heard, held = state_of(checkpoint)["progress"]["games"], replay["counts"]["games_total"]
    assert heard == held if len(actors_in(checkpoint)) == actors else heard <= held
    assert replay["counts"]["duplicates"] == 0


@pytest.mark.timeout(900)  # on a machine that does much else
def test_actors_join_freeze_die_with_their_driver_and_leave(tmp_path: Path) -> None:
    run = tmp_path / "elastic"
    start = command(
        tmp_path, "run.name=elastic", "run.minutes=30", "run.checkpoint_minutes=0.03", "tracking=jsonl", *FEW_CANDIDATES
    )
    with session(run, start) as first:
        first.wait_for_actors(1)
        assert main(["scale", str(run), "3"]) == 0
        first.wait_for_actors(3)
        first.wait_for_checkpoint(actors=3)
        frozen = first.actors()[0]
        frozen.suspend()
        without = first.wait_for_checkpoint(actors=2)
        later = first.wait_for_checkpoint(actors=2)
        assert later["progress"]["games"] > without["progress"]["games"], "the others play on"
        assert later["progress"]["steps"] > without["progress"]["steps"], "and the learner learns"
        frozen.resume()
        first.wait_for_checkpoint(actors=3)
        assert main(["scale", str(run), "2"]) == 0
        first.wait(lambda: "actor-2 has left; its 16 games in progress are abandoned" in log(run), "one to leave")
        first.wait_for_checkpoint(actors=2)
        first.kill()
    killed_at = max(checkpoints(run))
    assert_counted_once(killed_at, actors=2)

    minutes = state_of(killed_at)["elapsed_s"] / 60 + 0.05
    with session(run, resumed(run, f"run.minutes={minutes}", "run.summary_games=0")) as second:
        second.wait(lambda: offered(run), "the last match")
        second.actors()[0].suspend()
        second.stop()
    last = max(checkpoints(run))
    assert_counted_once(last, actors=2)
    assert rows(run, "health/actors")[-1]["health/actors/wanted"] == 2, "what was asked for last"
    assert state_of(last)["end"]["last_offered"]
    step, counts = counted(last)

    done = subprocess.run(resumed(run), text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    models = Registry(str(run / "registry")).models()
    assert models[0].verdict == "first"
    assert len(models) == 2, "the last candidate was offered and judged once"
    assert counted(max(checkpoints(run))) == (step, counts)


def counted(checkpoint: Path) -> tuple[int, dict[str, int]]:
    """The learner's steps, and what the replay has counted."""
    return (
        header(checkpoint, "learner")["step"],
        header(checkpoint, "replay")["counts"],
    )


def offered(run: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(state_of(max(checkpoints(run)))["end"]["last_offered"])
    return False


def checkpoints(run: Path) -> list[Path]:
    return sorted((run / "checkpoints").glob("0*"))
