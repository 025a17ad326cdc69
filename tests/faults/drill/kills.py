"""Kill -9 in a loop: every role named is killed repeatedly at random moments of a single run.

Each role has its own schedule, so that several are down at once by chance.  Acknowledged deliveries are recorded
outside the run (`acknowledged.py`) and compared with those that the stopped run holds.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reversi.errors import RunError
from tests.faults.drill.acknowledged import AcknowledgedLog, Probe
from tests.faults.drill.losses import StopReport, stop_and_compare
from tests.faults.drill.outcome import Outcome
from tests.faults.drill.run import POLL_S, DrillRun, drill_run

PAUSE_S = (10.5, 16.0)
"""Range of the random time in seconds from a role's return to its next death.  Deaths in the first ten seconds would be
answered by longer and longer pauses, which this drill does not test."""

FIRST_S = 4.0
"""The first kills follow within this many seconds of the run's first checkpoint."""

ROLES = {
    "actor": "kill -9 an actor",
    "learner": "kill -9 the learner",
    "gate": "kill -9 the evaluator in mid-match",
    "replay": "kill -9 the replay actor",
    "weights": "kill -9 the weights actor",
    "redis": "kill -9 the Redis server, append-only file",
    "redis-memory": "kill -9 the Redis server without one",
}
"""Roles that can be killed in a run and recover by themselves."""

BACK_S = 600.0
"""Seconds after which a role counts as lost for good; a machine with other work may need minutes."""

STRAY_S = 60.0
"""Seconds after which the drill checks whether it killed the role, or a process that the run had already given up."""

SERVERS = ("redis", "redis-memory")


@dataclass
class _Victim:
    """A role under attack, alive or dead."""

    role: str
    due: float
    went_on_s: list[float] = field(default_factory=list)
    killed: float | None = None
    """Time of its death by the monotonic clock; None while it lives."""
    killed_at: float = 0.0
    """The same by the wall clock, which also gives the start times of processes."""
    before: int = 0
    """Number of its returns before that death."""


def kill_roles(
    roles: Sequence[str],
    folder: Path,
    overrides: Sequence[str],
    kills: int,
    on_report: Callable[[list[Outcome], str], None],
) -> list[Outcome]:
    """Kill each of `roles` `kills` times in one run; `on_report` is called after every return with the outcomes so far.

    If the run ends too early or a role does not return, the outcomes are not kept and show the error.
    """
    chance = random.Random(1)
    servers = [role for role in roles if role in SERVERS]
    if servers:
        redis = ["replay=redis", f"replay.append_only={str('redis' in servers).lower()}"]
        overrides = [*overrides, *redis]
    stopped, words = None, "the run goes on"
    with drill_run(folder, overrides) as (run, acknowledged), _probe(run, acknowledged) as probe:
        now = time.monotonic()
        victims = [_Victim(role, now + chance.uniform(0, FIRST_S)) for role in roles]
        try:
            while any(len(victim.went_on_s) < kills for victim in victims):
                for victim in chance.sample(victims, len(victims)):
                    if _turn(run, probe, victim, kills, chance):
                        step = f"{victim.role} {len(victim.went_on_s)}/{kills}: {victim.went_on_s[-1]:.1f} s"
                        on_report(_outcomes(victims, kills, None, words), step)
                time.sleep(POLL_S)
            run.wait_for_checkpoint(run.newest_checkpoint())
            stopped = stop_and_compare(run, acknowledged, probe, append_only=not _may_lose(victims))
        except RunError as error:
            words = str(error)
    return _outcomes(victims, kills, stopped, words)


def _turn(run: DrillRun, probe: Probe | None, victim: _Victim, kills: int, chance: random.Random) -> bool:
    """Kill a role that is due, or check whether it has returned; return True if it has just returned."""
    now = time.monotonic()
    if victim.killed is None:
        if len(victim.went_on_s) < kills and now >= victim.due:
            _kill(run, victim, chance)
        return False
    if not _is_back(run, probe, victim):
        if run.driver.poll() is not None:
            raise RunError(f"the run ended with code {run.driver.returncode}: {run.last_error_line()}")
        if now - victim.killed > BACK_S:
            raise RunError(f"expected the {victim.role} back within {BACK_S:.0f} s of its death; see {run.path}")
        if now - victim.killed > STRAY_S and _was_missed(run, victim):
            victim.killed, victim.due = None, now
        return False
    victim.went_on_s.append(round(now - victim.killed, 2))
    victim.killed, victim.due = None, now + chance.uniform(*PAUSE_S)
    return True


def _kill(run: DrillRun, victim: _Victim, chance: random.Random) -> None:
    """Kill one process of a role, if it has one: it may be down because of another role's death."""
    if victim.role in SERVERS:
        server = run.redis()
        processes = [server[0]] if server else []
    else:
        processes = run.processes(victim.role)
        victim.before = run.deaths_answered(victim.role)
    if processes:
        run.kill(chance.choice(processes))
        victim.killed, victim.killed_at = time.monotonic(), time.time()


def _was_missed(run: DrillRun, victim: _Victim) -> bool:
    """Return whether the killed process had already been given up by the run: the role's own is older than the kill."""
    alone = victim.role not in SERVERS and victim.role != "actor"
    return alone and any(process.create_time() < victim.killed_at for process in run.processes(victim.role))


def _is_back(run: DrillRun, probe: Probe | None, victim: _Victim) -> bool:
    """Return whether a role has done its first round, or a server has confirmed a delivery begun since its death."""
    if victim.role in SERVERS:
        assert probe is not None
        assert victim.killed is not None
        return probe.begun > victim.killed
    return run.deaths_answered(victim.role) > victim.before


@contextmanager
def _probe(run: DrillRun, acknowledged: AcknowledgedLog | None) -> Iterator[Probe | None]:
    """Deliver to the run's Redis in the meantime, if it has one."""
    if acknowledged is None:
        yield None
        return
    run.wait_for(lambda: bool(acknowledged.sample), "a delivery")
    server = run.redis()
    assert server is not None, "the server has just confirmed a delivery"
    with contextlib.closing(Probe(server[1], run.key(), acknowledged.sample)) as probe:
        yield probe


def _outcomes(victims: Sequence[_Victim], kills: int, stopped: StopReport | None, words: str) -> list[Outcome]:
    return [_outcome(victim, kills, stopped, words, _may_lose(victims)) for victim in victims]


def _outcome(victim: _Victim, kills: int, stopped: StopReport | None, words: str, may_lose: bool) -> Outcome:
    times = victim.went_on_s
    if stopped is None:
        done = len(times)
        return Outcome(drill=victim.role, asked=kills, kills=done, went_on_s=list(times), kept=False, seen=words)
    shown = "actors" if victim.role == "actor" else victim.role
    seen = "nothing; games/s is 0 meanwhile" if victim.role in SERVERS else f"health: {shown} {len(times)} restarts"
    return stopped.outcome(victim.role, asked=kills, went_on_s=times, kept=may_lose or stopped.whole, seen=seen)


def _may_lose(victims: Sequence[_Victim]) -> bool:
    return any(victim.role == "redis-memory" for victim in victims)
