"""The drills: each does one kind of harm to a run and returns how it went on and what was lost."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from reversi.errors import RunError
from scripts.drill_run import DrillRun, drill_run

PAUSE_S = (10.5, 16.0)
"""A role lives so long, drawn at random, between coming back and its next death: deaths in the first ten seconds are
answered by longer and longer pauses, which is another promise."""

STALL_S = 15.0
"""`cluster.stall_s` of the drill that stops a learner; the configuration's own is minutes."""

FREEZE_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one drill did and found."""

    drill: str
    kills: int
    """How often the harm was done."""
    went_on_s: list[float] = field(default_factory=list)
    """Seconds from each until the work went on."""
    lost_games: int | None = None
    """Games that the run had heard were delivered and that the replay lacks at the end; None where not asked."""
    kept: bool = True
    """Whether nothing was lost but what this drill says may be."""
    seen: str
    """What a user sees."""


@dataclass(frozen=True)
class Drill:
    """One kind of harm."""

    summary: str
    do: Callable[[Path, Sequence[str], int], Outcome]
    """Called with a folder to work in, overrides of the run and how often to do harm."""


def kill_role(role: str, folder: Path, overrides: Sequence[str], kills: int, seed: int = 1) -> Outcome:
    """Kill a process of `role` at random moments; the run goes on by itself."""
    chance = random.Random(seed)
    with drill_run(folder, overrides) as run:
        went_on_s = []
        for number in range(kills):
            time.sleep(chance.uniform(*PAUSE_S) if number else chance.uniform(0, 2))
            went_on_s.append(_killed(run, role, chance))
        run.wait_for(partial(_newer_checkpoint, run, _names(run)), "a checkpoint after the last kill")
        stop_s = run.stop()
        heard, held = run.games_heard(), run.games_held()
        lost = max(0, heard - held)
        told = sum(map(int, re.findall(r"the replay lost (\d+) games", run.log())))
    shown = "actors" if role == "actor" else role
    seen = f"health: {shown} {kills} restarts; {held} games in all; stopped in {stop_s:.1f} s"
    return Outcome(
        drill=role,
        kills=kills,
        went_on_s=went_on_s,
        lost_games=lost,
        kept=lost <= told,
        seen=seen,
    )


def _killed(run: DrillRun, role: str, chance: random.Random) -> float:
    before = run.deaths_answered(role)
    run.wait_for(lambda: bool(run.processes(role)), f"a process of the {role}")
    os.kill(chance.choice(run.processes(role)).pid, signal.SIGKILL)
    return run.wait_for(lambda: run.deaths_answered(role) > before, f"the {role} back")


def kill_driver(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Kill the driver; nothing of the run may stay, and `resume=` goes on."""
    chance = random.Random(1)
    run = DrillRun(folder, overrides)
    went_on_s, lost = [], 0
    try:
        run.wait_until_under_way()
        for _ in range(kills):
            time.sleep(chance.uniform(0, 5))
            children = _children(run)
            run.driver.kill()
            run.driver.wait()
            killed = time.monotonic()
            while any(child_runs(pid) for pid in children):
                if time.monotonic() - killed > 60:
                    raise RunError("expected every process of the run to end with its driver, some go on")
                time.sleep(0.05)
            saved = _names(run)
            run.resume()
            run.wait_for(partial(_newer_checkpoint, run, saved), "a checkpoint of the resumed run")
            went_on_s.append(time.monotonic() - killed)
        run.stop()
        lost = max(0, run.games_heard() - run.games_held())
    finally:
        run.end()
    seen = "the shell's `Killed`; `reversi train resume=...` goes on from the last checkpoint"
    return Outcome(drill="driver", kills=kills, went_on_s=went_on_s, lost_games=lost, kept=lost == 0, seen=seen)


def stall_learner(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Stop the learner's process without killing it: it is found, killed and started again."""
    went_on_s = []
    with drill_run(folder, [*overrides, f"cluster.stall_s={STALL_S}"]) as run:
        for _ in range(kills):
            time.sleep(12.0)
            before = run.deaths_answered("learner")
            os.kill(run.processes("learner")[0].pid, signal.SIGSTOP)
            went_on_s.append(run.wait_for(partial(_back, run, "learner", before), "the learner back"))
        run.stop()
        lost = max(0, run.games_heard() - run.games_held())
        found = re.findall(r"learner has not answered for \d+ s and is killed", run.log())
    seen = f"health: learner silent for N s; then {found[0]!r}" if found else "nothing"
    return Outcome(
        drill="stall",
        kills=kills,
        went_on_s=went_on_s,
        lost_games=lost,
        kept=lost == 0 and len(found) >= kills,
        seen=seen,
    )


def freeze_actor(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Freeze an actor for 30 s, as a network that drops its packets does; nobody is killed, and it goes on."""
    went_on_s = []
    with drill_run(folder, overrides) as run:
        for _ in range(kills):
            victim = run.processes("actor")[0].pid
            os.kill(victim, signal.SIGSTOP)
            time.sleep(FREEZE_S)
            games = _played(run)
            os.kill(victim, signal.SIGCONT)
            went_on_s.append(run.wait_for(partial(_more_played, run, games), "games after the thaw"))
        killed = "is killed" in run.log()
        run.stop()
        lost = max(0, run.games_heard() - run.games_held())
    return Outcome(
        drill="freeze",
        kills=kills,
        went_on_s=went_on_s,
        lost_games=lost,
        kept=lost == 0 and not killed,
        seen=f"health: actors silent for {FREEZE_S:.0f} s",
    )


def full_disk(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Let the driver write no file above 4 kB any more; the run ends with one line, and goes on once there is room."""
    went_on_s, words = [], ""
    run = DrillRun(folder, overrides)
    try:
        run.wait_until_under_way()
        for _ in range(kills):
            saved = _names(run)
            resource.prlimit(run.driver.pid, resource.RLIMIT_FSIZE, (4096, 4096))
            code = run.wait_for_end()
            words = run.last_words()
            if code != 1 or "error: " not in words:
                raise RunError(f"expected the run to end with one line and code 1, got {code}: {words}")
            began = time.monotonic()
            run.resume()
            run.wait_for(partial(_newer_checkpoint, run, saved), "a checkpoint of the resumed run")
            went_on_s.append(time.monotonic() - began)
        run.stop()
        lost = max(0, run.games_heard() - run.games_held())
    finally:
        run.end()
    return Outcome(drill="disk", kills=kills, went_on_s=went_on_s, lost_games=lost, kept=lost == 0, seen=words)


def cut_checkpoint(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Cut a file of the newest checkpoint in half: the run refuses it by name, and goes on from the one before."""
    went_on_s, words = [], ""
    run = DrillRun(folder, overrides)
    try:
        for _ in range(kills):
            run.wait_for(lambda: len(run.checkpoints()) > 1, "two checkpoints")
            run.stop()
            newest = run.checkpoints()[-1] / "learner.safetensors"
            os.truncate(newest, newest.stat().st_size // 2)
            saved, began = _names(run), time.monotonic()
            run.resume()
            run.wait_for(partial(_newer_checkpoint, run, saved), "a checkpoint of the resumed run")
            went_on_s.append(time.monotonic() - began)
            words = run.last_words()
        run.stop()
    finally:
        run.end()
    return Outcome(drill="checkpoint", kills=kills, went_on_s=went_on_s, seen=words)


def damaged_records(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Deliver records that came twice, out of order, cut, with a bit flipped or with an illegal move in them."""
    from scripts.drill_records import deliver_damaged

    return deliver_damaged(folder, kills)


def kill_redis(append_only: bool, folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Kill the server of a run over Redis; its supervisor starts it again, and everybody waits for it."""
    chance = random.Random(1)
    went_on_s = []
    redis = ["replay=redis", f"replay.append_only={str(append_only).lower()}"]
    with drill_run(folder, [*overrides, *redis]) as run:
        for _ in range(kills):
            time.sleep(chance.uniform(*PAUSE_S))
            games = _played(run)
            os.kill(_server_pid(run), signal.SIGKILL)
            killed = time.monotonic()
            time.sleep(5.0)  # the next rows of metrics may tell of what came before
            base = max(games, _played(run))
            run.wait_for(partial(_more_played, run, base), "games after the server's death")
            went_on_s.append(time.monotonic() - killed)
        run.stop()
        lost = max(0, run.games_heard() - run.games_held())
    name = "redis" if append_only else "redis-memory"
    seen = "games/s falls to 0 and comes back; nothing else"
    return Outcome(
        drill=name, kills=kills, went_on_s=went_on_s, lost_games=lost, kept=lost == 0 or not append_only, seen=seen
    )


DRILLS: dict[str, Drill] = {
    "actor": Drill("kill -9 an actor", partial(kill_role, "actor")),
    "learner": Drill("kill -9 the learner", partial(kill_role, "learner")),
    "gate": Drill("kill -9 the evaluator in mid-match", partial(kill_role, "gate")),
    "replay": Drill("kill -9 the replay actor", partial(kill_role, "replay")),
    "weights": Drill("kill -9 the weights actor", partial(kill_role, "weights")),
    "driver": Drill("kill -9 the driver, then resume", kill_driver),
    "stall": Drill("a learner that hangs", stall_learner),
    "freeze": Drill("an actor frozen for 30 s", freeze_actor),
    "records": Drill("damaged, repeated and poisoned records", damaged_records),
    "disk": Drill("a full disk", full_disk),
    "checkpoint": Drill("a checkpoint cut in half", cut_checkpoint),
    "redis": Drill("kill -9 the Redis server, append-only file", partial(kill_redis, True)),
    "redis-memory": Drill("kill -9 the Redis server without one", partial(kill_redis, False)),
}
"""Every drill by name."""


def _back(run: DrillRun, role: str, before: int) -> bool:
    return run.deaths_answered(role) > before


def _names(run: DrillRun) -> set[str]:
    return {path.name for path in run.checkpoints()}


def _newer_checkpoint(run: DrillRun, before: Iterable[str]) -> bool:
    return bool(_names(run)) and max(_names(run)) > max(before, default="")


def _played(run: DrillRun) -> int:
    """Return the games that the newest row of metrics counts."""
    text = (run.path / "metrics.jsonl").read_text(encoding="utf-8")
    found = re.findall(r'"run/games": ([0-9.]+)', text)
    return int(float(found[-1])) if found else 0


def _more_played(run: DrillRun, games: int) -> bool:
    return _played(run) > games


def _server_pid(run: DrillRun) -> int:
    log = (run.path / "redis" / "redis.log").read_text(encoding="utf-8")
    return int(re.findall(r"^(\d+):M .*[Rr]eady to accept connections", log, re.MULTILINE)[-1])


def _children(run: DrillRun) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(run.driver.pid).children(recursive=True)]


def child_runs(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    import psutil

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
