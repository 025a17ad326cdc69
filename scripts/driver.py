"""The driver of a run on Ray: one call under way per role, deaths and stalls answered, reports passed on.

A role that dies is started again (`supervision.Lives` says when, and when the run gives up); one that has been asked
and stays silent for `cluster.stall_s` is killed, which makes it one that died.  The replay and the weights actor are
started again by Ray, under the same handle, so that whoever calls them only waits.  The driver never waits for one
role while others could work: a start, a restore and a round are all answers that come when they come.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil
import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from learner.replay.transport import ReplayReport
from reversi.errors import NoGatedModelError, ReversiError, RunError
from scripts.ray_cluster import object_store_mb
from scripts.sitting import Sitting
from scripts.supervision import HealthReport, Lives, MemoryReport

log = logging.getLogger(__name__)

POLL_S = 0.25
"""Longest the driver waits before it looks at the clock and at signals."""

BACK = "%s works again"
"""What the log says when a role that died has done its first round; `reversi drill` waits for it."""

WATCH_EVERY_S = 1.0
"""Seconds between two looks at the replay; asked without a pause, the answers alone took a whole core."""

MEASURE_EVERY_S = 10.0
"""Seconds between two questions to a role for its process and its memory."""

STATE_TIMEOUT_S = 60.0
"""Longest a role may take to hand out its state; the replay's is the largest, some 100 MB."""

STOP_S = 5.0
"""Longest that rounds under way may take when the run stops; who is later is left, unsaved."""

START_S = 300.0
"""Longest from a start to the first answer: imports, kernels, CUDA graphs, a node that is still coming up."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """Where a role runs, as it says itself."""

    pid: int
    node: str
    rss_mb: float


@dataclass
class Role:
    """One remote part: how to start it, how to ask for a round, what to do with the answer."""

    name: str
    start: Callable[[int], Any]
    ask: Callable[[Any], Any]
    hear: Callable[[Any], None]
    lives: Lives
    by_ray: bool = False
    """Whether Ray starts it again itself, under the same handle."""
    handle: Any = None
    starts: int = 0
    up: bool = False
    """Whether it has answered since it was started."""
    due: float | None = None
    """When it is to be started again; None unless it is dead."""
    asked: float = 0.0
    process: Process | None = None
    measured: float = 0.0


@dataclass(frozen=True)
class Parts:
    """The roles of a run."""

    learner: Role
    gate: Role
    workers: Sequence[Role]
    replay: Role
    weights: Role
    stateless: bool
    """Whether workers begin anew instead of going on from a checkpoint: over Redis, under new producers' names."""
    restores_itself: bool
    """Whether a replay that Ray started again has read the last checkpoint by itself."""

    @property
    def all(self) -> tuple[Role, ...]:
        """Every role."""
        return (self.learner, self.gate, *self.workers, self.replay, self.weights)


@dataclass
class _Call:
    """A call under way: whose it is, and who hears the answer."""

    role: Role
    hear: Callable[[Any], None]
    began: float = field(default_factory=time.monotonic)


class Driver:
    """Holds the handles of a run and keeps one call of every role under way."""

    def __init__(self, sitting: Sitting, parts: Parts) -> None:
        """Start every role that Ray does not hold yet, and give each its part of the sitting's checkpoint."""
        self._sitting, self._parts = sitting, parts
        self._stall_s = sitting.job.cluster.stall_s
        self._watched = (parts.replay, parts.weights)
        self._kept = tuple(role for role in parts.all if role is not parts.weights and not self._new_each_time(role))
        self._pending: dict[Any, _Call] = {}
        self._measuring: dict[Any, tuple[Role, Any]] = {}
        self._held: ReplayReport | None = None
        self._full = time.monotonic()
        self._weighed = float("-inf")
        for role in parts.all:
            role.handle = role.start(0)
            role.lives.born(time.monotonic())
        self._restore(sitting.checkpoint, self._kept)
        for role in parts.all:
            self._ask(role)

    def wait_until_up(self) -> None:
        """Let every process start, which takes Ray some seconds: the clock of the run begins when games do."""
        waiting = {role.name for role in self._parts.all}
        while waiting and not self._sitting.interrupt.requested:
            for role in self._hear(POLL_S):
                waiting.discard(role.name)
                if role not in self._watched:
                    self._ask(role)

    def turn(self) -> None:
        """Hear every round that is done and ask for the next ones; waits at most `POLL_S`."""
        for role in self._hear(POLL_S):
            if role not in self._watched and (role not in self._parts.workers or self._sitting.plays_on):
                self._ask(role)
        now = time.monotonic()
        for role in self._watched:
            if self._idle([role]) and now - role.asked >= WATCH_EVERY_S:
                self._ask(role)
        self._sitting.progress.health(self._health())
        if now - self._weighed >= MEASURE_EVERY_S:
            self._weighed = now
            rss_mb = psutil.Process().memory_info().rss / (1 << 20)
            self._sitting.progress.memory(MemoryReport(driver_mb=rss_mb, object_store_mb=object_store_mb()))
        self._sitting.progress.tick()

    def stop_play(self) -> None:
        """Let the rounds under way end, with the replay's waits released, and ask for no more.

        Who has not answered `STOP_S` later is left: an actor that hangs shall not keep the others from being saved.
        """
        self._now(self._parts.replay, "stop")
        deadline = time.monotonic() + STOP_S
        waited_for = [role for role in self._parts.all if role is not self._parts.gate]
        while not self._idle([role for role in waited_for if role.up]) and time.monotonic() < deadline:
            self._hear(POLL_S)

    def finish_gate(self) -> None:
        """Offer the learner's last averaged weights and play the gate's matches to their end."""
        look = not self._sitting.interrupt.requested
        self._sitting.offered(self._now(self._parts.learner, "offer_candidate", look))
        gate = self._parts.gate
        while not self._sitting.interrupt.requested and (not self._idle([gate]) or self._now(gate, "busy")):
            if self._idle([gate]) and gate.due is None:
                self._ask(gate)
            self._hear(POLL_S)
            self._sitting.progress.tick()

    def state(self) -> dict[str, bytes]:
        """Return every part's state by the name of its file.

        The actors come first, between two rounds, and the replay last: what they have delivered it then holds.  While
        they finish their rounds the learner goes on, or an actor that waits for room would wait for ever.  Nobody
        waits for an actor that is down or still starting, and its file is left out: it begins new games.  Over Redis
        that is so of all: they are not part of a checkpoint, and what they deliver is kept by the server.
        """
        workers = [role for role in self._kept if role in self._parts.workers]
        last = time.monotonic() + (STOP_S if self._sitting.interrupt.requested else START_S)
        while not self._idle([role for role in workers if role.up]) and time.monotonic() < last:
            for role in self._hear(POLL_S):
                if role not in (*self._parts.workers, *self._watched):
                    self._ask(role)
        kept = [role for role in workers if role.up and self._idle([role])]
        kept += [self._parts.gate, self._parts.learner, self._parts.replay]
        return {f"{role.name}.safetensors": self._now(role, "state") for role in kept}

    def saved(self, place: str) -> None:
        """Tell the learner where the last good checkpoint lies, and go on playing after `state`."""
        self._parts.learner.handle.saved.remote(place)
        for role in self._parts.workers if self._sitting.plays_on else ():
            if self._idle([role]) and role.due is None:
                self._ask(role)

    def _now(self, role: Role, call: str, *arguments: Any) -> Any:
        """Return the answer of `role` to one call, or end the run: without this answer there is no going on."""
        while role.due is not None:
            self._hear(POLL_S)
        timeout_s = min(STATE_TIMEOUT_S, STOP_S) if self._sitting.interrupt.requested else STATE_TIMEOUT_S
        try:
            return ray.get(getattr(role.handle, call).remote(*arguments), timeout=timeout_s)
        except RayTaskError as error:
            if isinstance(error.cause, ReversiError):
                raise error.cause from None
            raise self._end(f"the {role.name} failed at {call!r}: {_last_line(error)}", error) from error
        except (RayError, TimeoutError) as error:
            raise self._end(f"the {role.name} did not answer to {call!r}: {_last_line(error)}", error) from error

    def _end(self, what: str, error: Exception) -> RunError:
        """Return the error that ends the run: what happened, how to go on, where to read more."""
        log.error(what, exc_info=error)
        there = self._sitting.folder.checkpoints()
        again = f"go on from the last checkpoint with: {self._sitting.resume_command}" if there else "start it again"
        return RunError(f"{what}; {again}; see {self._sitting.folder.path / 'logs' / 'run.log'}")

    def _idle(self, roles: Iterable[Role]) -> bool:
        busy = [call.role for call in self._pending.values()]
        return not any(role in busy for role in roles)

    def _hear(self, timeout_s: float) -> list[Role]:
        """Take what is answered within `timeout_s`; return the roles that are free now, those just started included."""
        free = self._start_due()
        self._kill_stalled()
        if free:
            timeout_s = 0.0
        elif not self._pending:
            time.sleep(timeout_s)
            return []
        self._hear_measures()
        done, _ = ray.wait(list(self._pending), num_returns=1, timeout=timeout_s) if self._pending else ([], [])
        for reference in done:
            call = self._pending.pop(reference)
            role = call.role
            try:
                call.hear(ray.get(reference))
            except RayActorError as error:
                self._died(role, error)
                continue
            except RayTaskError as error:
                if isinstance(error.cause, ReversiError):
                    raise error.cause from None
                self._died(role, error)
                continue
            if not role.up and call.hear is not _nothing:
                role.up = True
                role.lives.born(time.monotonic())
                if role.starts:
                    log.warning(BACK, role.name)
            self._measure(role)
            free.append(role)
        return free

    def _ask(self, role: Role) -> None:
        role.asked = time.monotonic()
        self._pending[role.ask(role.handle)] = _Call(
            role, self._hear_replay if role is self._parts.replay else role.hear
        )

    def _measure(self, role: Role) -> None:
        """Ask a role that is free, now and then, which process it is and how large."""
        now = time.monotonic()
        every_s = WATCH_EVERY_S if role.by_ray else MEASURE_EVERY_S
        if now - role.measured >= every_s and not any(role is asked for asked, _ in self._measuring.values()):
            role.measured = now
            self._measuring[measured(role.handle)] = (role, role.handle)

    def _hear_measures(self) -> None:
        if not self._measuring:
            return
        done, _ = ray.wait(list(self._measuring), num_returns=len(self._measuring), timeout=0)
        for reference in done:
            role, handle = self._measuring.pop(reference)
            if role.handle is not handle:
                continue  # told of a process that is gone
            with contextlib.suppress(RayError):  # its death is heard where its round is
                process: Process = ray.get(reference)
                if role.by_ray and role.process is not None and role.process.pid != process.pid:
                    self._restarted_by_ray(role)
                role.process = process

    def _kill_stalled(self) -> None:
        """Kill who was asked and has been silent for too long; the call then fails, as it does after any death.

        Actors are not late while the replay is full: they wait for the learner.
        """
        now = time.monotonic()
        if self._held is not None and self._held.tokens >= self._sitting.job.replay.bucket_capacity:
            self._full = now
        for call in self._pending.values():
            role = call.role
            since = max(call.began, self._full) if role in self._parts.workers else call.began
            if now - since < (self._stall_s if role.up else max(self._stall_s, START_S)):
                continue
            if not role.up and role in self._parts.workers:
                continue  # it waits for a node with room; the others play on
            log.error("%s has not answered for %.0f s and is killed", role.name, now - since)
            call.began = now  # its death takes a moment to be heard
            _kill(role)

    def _died(self, role: Role, error: RayError) -> None:
        """Note a death and when to start again; one death too many ends the run."""
        log.error("%s died", role.name, exc_info=error)
        pause_s = None if role.by_ray else role.lives.died(time.monotonic())
        if pause_s is None:
            times = f"{role.lives.deaths} times, the last time" if role.lives.deaths > 1 else "and ended the run,"
            raise self._end(f"the {role.name} died {times} by {_last_line(error)!r}", error) from error
        role.up, role.process, role.due = False, None, time.monotonic() + pause_s
        if pause_s:
            log.error("%s is started again in %.0f s", role.name, pause_s)

    def _start_due(self) -> list[Role]:
        """Start again whose pause is over; return those that have nothing to restore and can be asked.

        The learner and the gate go on from the last checkpoint.  An actor begins new games under a new producer name:
        its old sequence numbers have been counted already.
        """
        free = []
        for role in self._parts.all:
            if role.due is None or time.monotonic() < role.due:
                continue
            role.due, role.starts = None, role.starts + 1
            self._sitting.progress.restarted()
            role.handle = role.start(role.starts)
            role.lives.born(time.monotonic())
            name = f"{role.name}.safetensors"
            if role not in self._parts.workers and self._sitting.folder.checkpoints():
                data = self._sitting.folder.newest_checkpoint()[name]
                self._pending[role.handle.restore.remote(data)] = _Call(role, _nothing)
            else:
                free.append(role)
        return free

    def _restarted_by_ray(self, role: Role) -> None:
        """Hear that Ray has started the replay or the weights actor again; one death too many ends the run."""
        role.starts += 1
        self._sitting.progress.restarted()
        if role.lives.died(time.monotonic()) is None:
            error = RunError(f"the {role.name} died {role.lives.deaths} times within an hour")
            raise self._end(str(error), error)
        log.error("%s died, and Ray has started it again", role.name)
        log.warning(BACK, role.name)
        if role is self._parts.replay and not self._parts.restores_itself and self._sitting.folder.checkpoints():
            self._restore(self._sitting.folder.newest_checkpoint(), [role])
        if role is self._parts.weights:
            self._send_champion()

    def _send_champion(self) -> None:
        """Give a weights actor that begins anew what the gate will not say again; the learner publishes by itself."""
        registry = self._sitting.open_registry()
        with contextlib.suppress(NoGatedModelError):
            self._parts.weights.handle.promoted.remote(registry.load(registry.gated()).to_bytes())

    def _hear_replay(self, report: ReplayReport) -> None:
        """Pass on what the replay holds; games fewer than before are those that its death has cost."""
        if self._held is not None and report.games_total < self._held.games_total:
            log.error("the replay lost %d games with its death", self._held.games_total - report.games_total)
        self._held = report
        self._parts.replay.hear(report)

    def _restore(self, files: dict[str, bytes], roles: Iterable[Role]) -> None:
        """Give each of `roles` its part of a checkpoint, if it has one, and wait until all have taken it."""
        named = {f"{role.name}.safetensors": role.handle for role in roles}
        taken = [handle.restore.remote(files[name]) for name, handle in named.items() if name in files]
        try:
            ray.get(taken)
        except RayError as error:
            if isinstance(error, RayTaskError) and isinstance(error.cause, ReversiError):
                raise error.cause from None
            raise self._end(f"a role did not take its part of the checkpoint: {_last_line(error)}", error) from error

    def _new_each_time(self, role: Role) -> bool:
        return self._parts.stateless and role in self._parts.workers

    def _health(self) -> dict[str, HealthReport]:
        """Return the health of each role; actors are one, as there may be a thousand."""
        parts = self._parts
        groups: dict[str, Sequence[Role]] = {
            role.name: [role] for role in (parts.learner, parts.gate, parts.replay, parts.weights)
        }
        asked: dict[str, float] = {call.role.name: call.began for call in self._pending.values()}
        now = time.monotonic()
        return {
            name: HealthReport(
                alive=sum(role.up for role in roles),
                restarts=sum(role.starts for role in roles),
                silent_s=max((now - asked.get(role.name, now) for role in roles), default=0.0),
                rss_mb=sum(role.process.rss_mb for role in roles if role.process is not None),
            )
            for name, roles in (groups | {"actors": parts.workers}).items()
        }


def measured(handle: Any) -> Any:
    """Ask a role which process it is and how large."""
    return handle.__ray_call__.remote(_process)


def _process(part: object) -> Process:
    node = ray.get_runtime_context().get_node_id()
    return Process(pid=os.getpid(), node=node, rss_mb=psutil.Process().memory_info().rss / (1 << 20))


def _kill(role: Role) -> None:
    """End the process of a role.  Ray's own way asks the process, which one that is stopped does not hear."""
    if role.process is None:
        ray.kill(role.handle, no_restart=not role.by_ray)
    elif role.process.node == ray.get_runtime_context().get_node_id():
        _end_process(role.process.pid)
    else:
        there = NodeAffinitySchedulingStrategy(role.process.node, soft=False)
        ray.remote(num_cpus=0)(_end_process).options(scheduling_strategy=there).remote(role.process.pid)


def _end_process(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _nothing(answer: Any) -> None:
    """Hear nothing: a role has taken its state and is free."""


def _last_line(error: Exception) -> str:
    """Return the first sentence of the last line; Ray goes on for paragraphs, which the log has."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().split(". ")[0]
