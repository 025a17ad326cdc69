"""Kill -9 in a loop: every role named is killed again and again at random moments of one and the same run.

Each role has a clock of its own, so that several are down at once as chance will have it.  What was acknowledged is
recorded outside the run (`acknowledged.py`) and compared with what the stopped run holds.
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
from scripts.drill.acknowledged import AcknowledgedLog, Probe
from scripts.drill.losses import StopReport, stop_and_compare
from scripts.drill.outcome import Outcome
from scripts.drill.run import POLL_S, DrillRun, drill_run

PAUSE_S = (10.5, 16.0)
"""A role lives so long, drawn at random, between coming back and its next death: deaths in the first ten seconds are
answered by longer and longer pauses, which is another promise."""

FIRST_S = 4.0
"""The first deaths come within so many seconds of the run's first checkpoint."""

ROLES = {
    "actor": "kill -9 an actor",
    "learner": "kill -9 the learner",
    "gate": "kill -9 the evaluator in mid-match",
    "replay": "kill -9 the replay actor",
    "weights": "kill -9 the weights actor",
    "redis": "kill -9 the Redis server, append-only file",
    "redis-memory": "kill -9 the Redis server without one",
}
"""Who can be killed in a run, and goes on by itself."""

BACK_S = 600.0
"""A role that is not back by then never comes; a machine that has other work as well may need minutes."""

STRAY_S = 60.0
"""After so long it is asked whether the role was killed at all, or a process that the run had given up before."""

SERVERS = ("redis", "redis-memory")


@dataclass
class _Victim:
    """A role between two deaths, or dead and not back yet."""

    role: str
    due: float
    went_on_s: list[float] = field(default_factory=list)
    killed: float | None = None
    """When it was killed, by the monotonic clock; None while it lives."""
    killed_at: float = 0.0
    """The same by the clock on the wall, by which processes say when they began."""
    before: int = 0
    """Its returns before that death."""


def kill_roles(
    roles: Sequence[str],
    folder: Path,
    overrides: Sequence[str],
    kills: int,
    hear: Callable[[list[Outcome], str], None],
    seed: int = 1,
) -> list[Outcome]:
    """Kill each of `roles` so many times, in one run; `hear` is told of every return, with the outcomes so far.

    A run that ends in between, or a role that does not come back, is an outcome that was not kept, and its last words.
    """
    chance = random.Random(seed)
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
                        hear(_outcomes(victims, kills, None, words), step)
                time.sleep(POLL_S)
            run.wait_for_checkpoint(run.newest_checkpoint())
            stopped = stop_and_compare(run, acknowledged, probe, append_only=not _may_lose(victims))
        except RunError as error:
            words = str(error)
    return _outcomes(victims, kills, stopped, words)


def _turn(run: DrillRun, probe: Probe | None, victim: _Victim, kills: int, chance: random.Random) -> bool:
    """Kill a role whose time has come, or look whether it is back; True if it has just come back."""
    now = time.monotonic()
    if victim.killed is None:
        if len(victim.went_on_s) < kills and now >= victim.due:
            _kill(run, victim, chance)
        return False
    if not _is_back(run, probe, victim):
        if run.driver.poll() is not None:
            raise RunError(f"the run ended with code {run.driver.returncode}: {run.last_words()}")
        if now - victim.killed > BACK_S:
            raise RunError(f"expected the {victim.role} back within {BACK_S:.0f} s of its death; see {run.path}")
        if now - victim.killed > STRAY_S and _was_missed(run, victim):
            victim.killed, victim.due = None, now
        return False
    victim.went_on_s.append(round(now - victim.killed, 2))
    victim.killed, victim.due = None, now + chance.uniform(*PAUSE_S)
    return True


def _kill(run: DrillRun, victim: _Victim, chance: random.Random) -> None:
    """Kill one process of a role, if it has one just now: it may be down with another one's death."""
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
    """Whether a process was killed that the run had given up already: the role's own is older than the kill."""
    alone = victim.role not in SERVERS and victim.role != "actor"
    return alone and any(process.create_time() < victim.killed_at for process in run.processes(victim.role))


def _is_back(run: DrillRun, probe: Probe | None, victim: _Victim) -> bool:
    """Whether a role has done its first round; a server is back when it has confirmed a delivery begun since."""
    if victim.role in SERVERS:
        assert probe is not None
        assert victim.killed is not None
        return probe.begun > victim.killed
    return run.deaths_answered(victim.role) > victim.before


@contextmanager
def _probe(run: DrillRun, acknowledged: AcknowledgedLog | None) -> Iterator[Probe | None]:
    """Deliver meanwhile to the run's Redis, if it has one."""
    if acknowledged is None:
        yield None
        return
    run.wait_for(lambda: bool(acknowledged.sample), "a delivery")
    found = run.redis()
    assert found is not None, "the server has just confirmed a delivery"
    with contextlib.closing(Probe(found[1], run.key(), acknowledged.sample)) as probe:
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
