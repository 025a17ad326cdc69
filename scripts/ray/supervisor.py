"""Supervise a run's roles: track calls in flight, restart what dies or stalls, report health.

A role that dies is restarted (`restart_policy.RestartPolicy` decides when, and when the run gives up).  A role that has
been asked and does not answer for `cluster.stall_s` is killed, and then treated like any that died.  So is one whose
answer is lost on its way, and an actor that cannot reach Redis while others can.  The replay and the weights actor are
restarted by Ray, under the same handle, so that their callers only wait.  Starts, restores and rounds are all calls
whose answers arrive later: no role is waited for while others could work.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError

from learner.replay.transport import ReplayReport
from reversi.errors import NoGatedModelError, ReversiError, RunError, UnreachableError, UnwritableError
from scripts.ray.replay_account import ReplayAccount
from scripts.ray.roles import Parts, Process, Role, end_process, measured
from scripts.run.health import HealthReport
from scripts.run.sitting import Sitting

log = logging.getLogger(__name__)

POLL_S = 0.25
"""Longest time in seconds to wait for answers before the clock and signals are checked again."""

BACK = "%s works again"
"""Log message when a restarted role has completed its first round; `reversi drill` waits for it."""

WATCH_EVERY_S = 1.0
"""Seconds between two reports of the replay; without a pause their answers alone took a whole core."""

MEASURE_EVERY_S = 10.0
"""Seconds between two measurements of a role's process and memory."""

STOP_S = 5.0
"""Longest time in seconds to wait for current rounds, or for an answer other than a state, after a signal to stop."""

UNREACHED_S = 1.0
"""Seconds after which an unreachable actor is called again."""

SEND_AGAIN_S = 10.0
"""Seconds between two attempts to read the champion for a restarted weights actor."""

LOST = object()
"""Stands for a missing answer: the role died, or took too long, or the answer was lost on its way."""

START_S = 300.0
"""Longest time in seconds from start to first answer: imports, kernels, CUDA graphs, a node that is still starting."""


@dataclass(eq=False)
class _Call:
    """A call in flight: its role, the process that was called, and the callback for the answer."""

    role: Role
    hear: Callable[[Any], None]
    handle: Any
    works: bool
    """Whether the answer shows that the role is up: true for a round, false for restoring a state."""
    began: float
    """When it was made, or when its process was killed for not answering."""


class Supervisor:
    """Tracks the calls of a run's roles; all work happens in `hear`."""

    def __init__(self, sitting: Sitting, parts: Parts) -> None:
        self._sitting, self._parts = sitting, parts
        self._replay_account = ReplayAccount(sitting)
        self.ending = False
        """Whether an error ends the run: what actors do, and what ends the last rounds of others, stops no save."""
        self._stall_s = sitting.job.cluster.stall_s
        self._pending: dict[Any, _Call] = {}
        self._measuring: dict[Any, tuple[Role, Any]] = {}
        self._unreached: dict[Role, tuple[Any, float]] = {}
        self._full = time.monotonic()
        self._champion_due: float | None = None

    def start(self, role: Role) -> None:
        """Start a process for a role and restore its saved state, if there is one."""
        role.handle = role.start()
        role.restart_policy.started(time.monotonic())
        if role.saved is not None:
            self.call(role, role.handle.restore.remote(role.saved), _nothing, works=False)

    def until_idle(self, roles: Sequence[Role]) -> bool:
        """Wait until none of `roles` has a call in flight or a restart pending; False if a signal comes first."""
        while not all(role.idle for role in roles):
            if self._sitting.interrupt.requested:
                return False
            self.hear(POLL_S)
        return True

    def ask(self, role: Role) -> None:
        """Start a round of a role."""
        role.saved = None
        self.call(role, role.ask(role.handle), self._hear_replay if role is self._parts.replay else role.hear)

    def call(self, role: Role, reference: Any, hear: Callable[[Any], None], works: bool = True) -> None:
        """Pass the answer of a call to `hear` when it arrives; if the role dies first, `hear` is never called."""
        role.calls += 1
        role.asked = time.monotonic()
        self._pending[reference] = _Call(role, hear, role.handle, works, role.asked)

    def answers(self, calls: Sequence[tuple[Role, Any]], within_s: float, stop_s: float = STOP_S) -> list[Any]:
        """Return the answers to calls just made, LOST for a role that died or was too late.

        Other answers are collected meanwhile, but no new rounds are started.  After a signal to stop at most `stop_s`
        are left.
        """
        got: dict[int, Any] = {}
        handles = [role.handle for role, _ in calls]
        for number, (role, reference) in enumerate(calls):
            self.call(role, reference, functools.partial(got.__setitem__, number), works=False)
        deadline, hurried = time.monotonic() + within_s, False
        while time.monotonic() < deadline:
            if not any(ref in self._pending and role.handle is handles[n] for n, (role, ref) in enumerate(calls)):
                break
            if self._sitting.interrupt.requested and not hurried:
                deadline, hurried = min(deadline, time.monotonic() + stop_s), True
            self.hear(min(POLL_S, max(0.0, deadline - time.monotonic())))
        return [got.get(number, LOST) for number in range(len(calls))]

    def hear(self, timeout_s: float) -> None:
        """Collect the answers that arrive within `timeout_s`, handle deaths, restart the roles that are due."""
        self._start_due()
        self._reach_due()
        self._send_champion()
        self._kill_stalled()
        self._hear_measures()
        if not self._pending:
            time.sleep(timeout_s)
            return
        done, rest = ray.wait(list(self._pending), num_returns=1, timeout=timeout_s)
        if done and rest:
            done += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for reference in done:
            self._heard(reference)

    def settled(self, report: ReplayReport) -> bool:
        """Take the replay's report for a checkpoint; return whether the actors were started again since they gave their
        states, which are then void."""
        return self._replay_account.settle(report) and self._read_again()

    def drop(self, role: Role) -> None:
        """End the process of a role that is no longer needed and forget its calls.

        Ray would ask a process without handles to exit by itself, but some hang while they do and never end.
        """
        self._pending = {reference: call for reference, call in self._pending.items() if call.role is not role}
        if role.handle is not None:
            end_process(role)
        role.handle, role.process, role.due, role.up, role.calls = None, None, None, False, 0

    def health(self) -> dict[str, HealthReport]:
        """Return the health of each role; all actors are one entry, as there may be a thousand."""
        parts, pool = self._parts, self._parts.actors
        groups: dict[str, Sequence[Role]] = {
            role.name: [role] for role in (parts.learner, parts.gate, parts.replay, parts.weights)
        }
        now = time.monotonic()
        return {
            name: HealthReport(
                alive=sum(role.up for role in roles),
                wanted=pool.wanted if name == "actors" else 1,
                restarts=sum(role.restarts for role in roles),
                silent_s=max((now - role.asked for role in roles if role.calls), default=0.0),
                rss_mb=sum(role.process.rss_mb for role in roles if role.process is not None),
            )
            for name, roles in (groups | {"actors": pool.members}).items()
        }

    def _heard(self, reference: Any) -> None:
        call = self._pending.pop(reference, None)
        if call is None or call.handle is not call.role.handle:
            return  # from a role that has left, or from a process that no longer exists
        role = call.role
        role.calls -= 1
        try:
            call.hear(ray.get(reference))
        except RayError as error:
            self._failed(call, error)
            return
        if role.handle is None:
            return  # the callback has removed it
        if not role.up and call.works:
            role.up = role.was_up = True
            role.restart_policy.started(time.monotonic())
            if role.restarts:
                log.warning(BACK, role.name)
        self._measure(role)

    def _failed(self, call: _Call, error: RayError) -> None:
        """Handle a call that has no answer: its role reports an error, or has died, or is out of reach."""
        role, cause = call.role, error.cause if isinstance(error, RayTaskError) else None
        if self.ending and role.group is not None:
            log.error("%s failed while the run ends: %s", role.name, error)
            self._down(role, None)
        elif isinstance(cause, ReversiError):
            self._refused(call, cause)
        else:
            self._lost(call, error)

    def _refused(self, call: _Call, error: ReversiError) -> None:
        """Raise an error that a role reports, as a restart would not mend it: it ends the run.

        It does not if the run is ending, or if other actors can reach the server that this one cannot.
        """
        if self.ending and call.works:
            log.error("the last round of the %s failed: %s", call.role.name, error)
        elif isinstance(error, UnreachableError) and call.role.group is not None:
            self._cut_off(call.role, error)
        else:
            raise error from None

    def _lost(self, call: _Call, error: RayError) -> None:
        """See what has become of a role: it has died, its machine is out of reach, or only the answer is lost."""
        role, is_death = call.role, isinstance(error, RayActorError | RayTaskError)
        if isinstance(error, ActorUnavailableError) and role.group is not None and call.hear is not _nothing:
            self._unreachable(role, error)
        elif role.by_ray and not is_death:  # it was lost with a node: Ray has restarted the process elsewhere
            log.error("an answer of the %s is lost", role.name, exc_info=error)
        else:
            if not is_death and not role.leaving:
                end_process(role)
            self._died(role, error)

    def _measure(self, role: Role) -> None:
        """Ask an idle role from time to time for its process and memory."""
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
                continue  # about a process that no longer exists
            with contextlib.suppress(RayError):  # its death is handled with its round
                process: Process = ray.get(reference)
                if role.by_ray and role.process is not None and role.process.pid != process.pid:
                    self._restarted_by_ray(role)
                role.process = process

    def _kill_stalled(self) -> None:
        """Kill roles that have not answered for too long; their calls then fail like after any death.

        Actors do not count as stalled while the replay is full or its server cannot write: they wait for the learner,
        or for a disk.
        """
        now, held = time.monotonic(), self._replay_account.held
        if held and (held.tokens >= self._sitting.job.replay.bucket_capacity or not held.server_writes):
            self._full = now
        silent_s = {call.role: 0.0 for call in self._pending.values()}
        for call in self._pending.values():
            if call.handle is call.role.handle:  # else the called process is gone, and its successor has no call
                since = call.began if call.role.group is None else max(call.began, self._full)
                silent_s[call.role] = max(silent_s[call.role], now - since)
        for role, seconds in silent_s.items():
            if seconds < (self._stall_s if role.up else max(self._stall_s, START_S)):
                continue
            if not role.up and role.group is not None:
                continue  # it waits for a node with room; the others continue
            log.error("%s has not answered for %.0f s and is killed", role.name, seconds)
            for call in self._pending.values():
                if call.role is role:
                    call.began = now  # it takes a moment until its death arrives
            end_process(role)

    def _unreachable(self, role: Role, error: RayError) -> None:
        """Pause calls to an actor whose machine cannot be reached: it may still be alive, with its games in progress.

        The call or its answer is lost; as after a death, what that round delivered still counts in the replay.  If the
        machine stays unreachable Ray declares it dead, and the next answer is a death.
        """
        if role.up:
            log.warning("%s cannot be reached, and is asked until Ray gives it up: %s", role.name, _last_line(error))
        role.up, role.calls = False, role.calls + 1
        self._unreached[role] = role.handle, time.monotonic() + UNREACHED_S

    def _reach_due(self) -> None:
        """Allow calls again to actors that were unreachable `UNREACHED_S` ago."""
        for role, (handle, due) in list(self._unreached.items()):
            if time.monotonic() >= due:
                del self._unreached[role]
                role.calls -= role.handle is handle  # else it has left or died

    def _cut_off(self, role: Role, error: UnreachableError) -> None:
        """Restart an actor that could not reach Redis, if another one may; else raise `error`.

        One that was never up, as it waits for a node, does not count: it may wait for ever.
        It is a new process under a new producer name, as the server may or may not have the last delivery.
        """
        if self._left(role):
            return
        role.cut_off = True
        if all(each.cut_off or not each.was_up for each in self._parts.actors.members if not each.leaving):
            raise error
        pause_s = role.restart_policy.cut_off(time.monotonic())
        log.error("%s is started again in %.0f s, as others may reach the server: %s", role.name, pause_s, error)
        end_process(role)
        self._down(role, pause_s)

    def _left(self, role: Role) -> bool:
        """Remove an actor that was leaving and ends otherwise than it should; return whether it was one."""
        if role.leaving:
            self._parts.actors.remove(role)
            self.drop(role)
        return role.leaving

    def _down(self, role: Role, pause_s: float | None) -> None:
        """Note that a role has no process; it is restarted after `pause_s`, or never."""
        role.handle, role.process, role.up, role.calls = None, None, False, 0
        role.due = None if pause_s is None else time.monotonic() + pause_s

    def _died(self, role: Role, error: Exception) -> None:
        """Record a death and schedule the restart; one death too many ends the run."""
        log.error("%s died", role.name, exc_info=error)
        if self._left(role):
            return
        pause_s = None if role.by_ray else role.restart_policy.died(time.monotonic())
        self._down(role, pause_s)
        if pause_s is None:
            times = (
                f"{role.restart_policy.deaths} times, the last time"
                if role.restart_policy.deaths > 1
                else "and ended the run,"
            )
            raise RunError(f"the {role.name} died {times} by {_last_line(error)!r}") from error
        if pause_s:
            log.error("%s is started again in %.0f s", role.name, pause_s)

    def _start_due(self) -> None:
        """Restart every role whose pause is over.

        The learner and the gate continue from the last checkpoint.  An actor begins new games under a new producer
        name, as its old sequence numbers have been counted already, unless it died before its first round.
        """
        for role in self._parts.all:
            if role.due is None or time.monotonic() < role.due:
                continue
            role.due, role.restarts = None, role.restarts + 1
            self._sitting.progress.restarted()
            if role.group is None and self._sitting.folder.checkpoints():
                role.saved = self._sitting.folder.newest_checkpoint()[f"{role.name}.safetensors"]
            try:
                self.start(role)
            except UnreachableError as error:  # the registry, which has the number of the learner's next version
                self._died(role, error)

    def _restarted_by_ray(self, role: Role) -> None:
        """Record that Ray has restarted the replay or the weights actor; one death too many ends the run."""
        role.restarts += 1
        self._sitting.progress.restarted()
        if role.restart_policy.died(time.monotonic()) is None:
            raise RunError(f"the {role.name} died {role.restart_policy.deaths} times within an hour")
        log.error("%s died, and Ray has started it again", role.name)
        log.warning(BACK, role.name)
        if role is self._parts.weights:
            self._champion_due = time.monotonic()

    def _send_champion(self) -> None:
        """Send a restarted weights actor the champion, which the gate announces only once, when the registry has it."""
        if self._champion_due is None or time.monotonic() < self._champion_due:
            return
        self._champion_due = None
        try:
            registry = self._sitting.open_registry()
            self._parts.weights.handle.promoted.remote(registry.load(registry.gated()).to_bytes())
        except NoGatedModelError:
            return
        except (UnreachableError, UnwritableError) as error:
            log.warning("the champion is not sent, tried again until it is: %s", error)
            self._champion_due = time.monotonic() + SEND_AGAIN_S

    def _hear_replay(self, report: ReplayReport) -> None:
        if self._replay_account.hear(report):
            self._read_again()
        self._parts.replay.hear(report)

    def _read_again(self) -> bool:
        """After a death of the replay start the actor that reads game files, if there is one, again; return whether.

        Without its state it delivers all games under the same names, and the replay takes those that it lacks.
        """
        if not self._sitting.reads_files:
            return False
        self._sitting.read_again()
        for role in self._parts.actors.members:
            self.drop(role)
            role.saved = None
            self.start(role)
        return True


def _nothing(answer: Any) -> None:
    """Ignore the answer of a restore: the role is idle again."""


def _last_line(error: Exception) -> str:
    """Return the first sentence of the last line; the log has the rest of Ray's message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1].strip().split(". ")[0]
