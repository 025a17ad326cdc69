"""Faults other than a role's death: each drill injects one kind into a run and reports how the run continued."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reversi.errors import RunError
from scripts.run.processes import children
from tests.faults.drill.losses import stop_and_compare
from tests.faults.drill.machines import cut_off, cut_off_long, drop_packets
from tests.faults.drill.network import cut_network, frozen_network, slow_network
from tests.faults.drill.outcome import Outcome
from tests.faults.drill.raylet import kill_raylet
from tests.faults.drill.run import POLL_S, drill_run, is_alive

STALL_S = 15.0
"""`cluster.stall_s` of the drill that stops a learner; the default is minutes."""

FREEZE_S = 30.0

ORPHANS_S = 60.0
"""Longest time in seconds that a process of a run may outlive its driver."""

AGENTS, AGENTS_S = {"ray::DashboardAgent", "ray::RuntimeEnvAgent"}, 90.0
"""Two of Ray's own processes try for 60 s (fixed in Ray 2.60) to reach a store that is dead too, and then end."""

PASSED_OVER = "checkpoint passed over: "

FULL_BYTES = 4096
"""Largest file in bytes that can be written in the drill of a full disk."""

DISK_FULL_S = 20.0
"""Seconds for which the disk stays full: a few checkpoints, and several rows of metrics."""


@dataclass(frozen=True)
class Drill:
    """One kind of fault."""

    summary: str
    do: Callable[[Path, Sequence[str], int], Outcome]
    """Called with a folder to work in, overrides of the run and the number of faults."""


def kill_driver(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Kill the driver: `resume=` continues the run, and none of its old processes remains."""
    chance = random.Random(1)
    went_on_s = []
    with drill_run(folder, overrides) as (run, acknowledged):
        for _ in range(kills):
            time.sleep(chance.uniform(0, 5))
            below = children(run.driver.pid)
            run.driver.kill()
            run.driver.wait()
            killed, saved = time.monotonic(), run.newest_checkpoint()
            run.resume()
            run.wait_for_checkpoint(saved)
            went_on_s.append(time.monotonic() - killed)
            while left := [title.split()[0] for child, title in below if is_alive(child)]:
                if time.monotonic() - killed > (AGENTS_S if AGENTS.issuperset(left) else ORPHANS_S):
                    raise RunError(f"expected every process of the run to end with its driver, got {', '.join(left)}")
                time.sleep(POLL_S)
        stopped = stop_and_compare(run, acknowledged)
    seen = "the shell's `Killed`; `reversi train resume=...` goes on from the last checkpoint"
    return stopped.outcome("driver", asked=kills, went_on_s=went_on_s, kept=stopped.whole, seen=seen)


def stall_learner(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Stop the learner's process without killing it: the run detects this, kills it and starts it again."""
    went_on_s = []
    with drill_run(folder, [*overrides, f"cluster.stall_s={STALL_S}"]) as (run, acknowledged):
        for _ in range(kills):
            time.sleep(12.0)
            before = run.deaths_answered("learner")
            os.kill(run.processes("learner")[0].pid, signal.SIGSTOP)
            went_on_s.append(run.wait_for_return("learner", before))
        stopped = stop_and_compare(run, acknowledged)
    lines = [line for line in run.log() if re.search(r"learner has not answered for \d+ s and is killed", line)]
    seen = f"health: learner unresponsive for N s; then {lines[0].partition(': ')[2]!r}" if lines else "nothing"
    kept = stopped.whole and len(lines) >= kills
    return stopped.outcome("stall", asked=kills, went_on_s=went_on_s, kept=kept, seen=seen)


def freeze_actor(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Freeze an actor for 30 s and let it continue: the run does not kill it."""
    went_on_s = []
    with drill_run(folder, overrides) as (run, acknowledged):
        for _ in range(kills):
            victim = run.processes("actor")[0].pid
            os.kill(victim, signal.SIGSTOP)
            time.sleep(FREEZE_S)
            games = run.games_played()
            os.kill(victim, signal.SIGCONT)
            went_on_s.append(run.wait_for_games(games))
        stopped = stop_and_compare(run, acknowledged)
    killed = any("is killed" in line for line in run.log())
    seen = f"health: actors unresponsive for {FREEZE_S:.0f} s"
    return stopped.outcome("freeze", asked=kills, went_on_s=went_on_s, kept=stopped.whole and not killed, seen=seen)


def full_disk(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Limit files of the driver and the gate to 4 kB for a while, as on a full disk: the run plays on, reports that it
    is not saved, and saves once there is room."""
    went_on_s, message = [], ""
    with drill_run(folder, overrides) as (run, acknowledged):
        for _ in range(kills):
            run.wait_for_checkpoint(run.newest_checkpoint())
            saved, before = run.newest_checkpoint(), len(run.complaints("not saved"))
            writers = [run.driver.pid, *(process.pid for process in run.processes("gate"))]
            for pid in writers:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (FULL_BYTES, resource.RLIM_INFINITY))
            time.sleep(DISK_FULL_S)
            run.wait_for(lambda: len(run.complaints("not saved")) > before, "a word on it")  # noqa: B023
            message = run.complaints("not saved")[before]
            half = [path.name for path in (run.path / "checkpoints").iterdir() if path.name > saved]
            for pid in writers:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            if half:
                raise RunError(f"expected no checkpoint from a full disk, got {half}")
            games = run.games_played()
            went_on_s.append(run.wait_for_checkpoint(saved))
            run.wait_for_games(games)
        stopped = stop_and_compare(run, acknowledged)
    return stopped.outcome("disk", asked=kills, went_on_s=went_on_s, kept=stopped.whole, seen=message)


def cut_checkpoint(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Cut a file of the newest checkpoint in half: the run names and skips it, and continues from the previous one."""
    went_on_s, message = [], ""
    with drill_run(folder, overrides) as (run, _):
        for _ in range(kills):
            run.wait_for(lambda: len(run.checkpoints()) > 1, "two checkpoints")
            run.stop()
            newest = run.checkpoints()[-1] / "learner.safetensors"
            os.truncate(newest, newest.stat().st_size // 2)
            saved, began, before = run.newest_checkpoint(), time.monotonic(), len(run.complaints(PASSED_OVER))
            run.resume()
            run.wait_for_checkpoint(saved)
            went_on_s.append(time.monotonic() - began)
            message = next(iter(run.complaints(PASSED_OVER)[before:]), "")
        run.stop()
    return Outcome(drill="checkpoint", asked=kills, kills=kills, went_on_s=went_on_s, kept=bool(message), seen=message)


def damaged_records(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Deliver records twice, out of order, cut, with a flipped bit or with an illegal move."""
    from tests.faults.drill.records import deliver_damaged

    return deliver_damaged(folder, kills)


DRILLS: dict[str, Drill] = {
    "driver": Drill("kill -9 the driver, then resume", kill_driver),
    "stall": Drill("a learner that hangs", stall_learner),
    "freeze": Drill("an actor frozen for 30 s", freeze_actor),
    "records": Drill("damaged, repeated and poisoned records", damaged_records),
    "disk": Drill("a full disk", full_disk),
    "checkpoint": Drill("a checkpoint cut in half", cut_checkpoint),
    "frozen-network": Drill("a network to Redis that freezes for 30 s", frozen_network),
    "cut-network": Drill("connections to Redis cut at random moments", cut_network),
    "slow-network": Drill("a network to Redis that loses packets, which TCP turns into delay", slow_network),
    "raylet": Drill("kill -9 the raylet of a second node, with its actor", kill_raylet),
    "packet-loss": Drill("a network between two nodes that drops 5 %, then 20 % of all packets", drop_packets),
    "partition": Drill("a node that is cut off from the others for 30 s", cut_off),
    "long-partition": Drill("a node that is cut off until Ray gives it up", cut_off_long),
}
"""Every drill other than a role's death, by name."""
