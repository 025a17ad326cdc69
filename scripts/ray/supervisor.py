"""Supervises the roles of a run: makes calls, passes on their answers, counts deaths, pauses and gives up.

Ray starts a process that died again, and the process restores itself; where Ray does not, as for a node that was shut
down in order, the driver starts another one.  The driver's calls fail with the process that they were made to; which
process answers next shows whether it was a death or a connection that was lost.  A role that does not answer for
`cluster.stall_s` is killed, as is an actor that cannot reach Redis while others can.  Starts and rounds are calls whose
answers arrive later: no role is waited for while others could work.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError

from learner.replay.transport import ReplayReport
from reversi.errors import ReversiError, RunError, UnreachableError
from scripts.ray.actor_calls import ActorCalls
from scripts.ray.actor_pool import Parts
from scripts.ray.clock import Clock
from scripts.ray.replay_account import ReplayAccount
from scripts.ray.role import Call, CallKind, Process, Role, code_version
from scripts.run.session import Session

log = logging.getLogger(__name__)

POLL_S = 0.25
"""Longest time in seconds to wait for answers before the clock and signals are checked again."""

STOP_S = 5.0
"""Longest time in seconds to wait for current rounds, or for an answer other than a state, after a signal to stop."""

START_S = 300.0
"""Longest time in seconds from start to first answer: imports, kernels, CUDA graphs, a node that is still starting."""

RETRY_S = 1.0
"""Seconds after which a role that could not be reached is called again."""

MEASURE_EVERY_S = 10.0
"""Seconds between two measurements of a role's process and memory."""

CHECK_EVERY_S = 1.0
"""Seconds between two searches for roles that do not answer."""

RECOVERED = "%s works again"
"""Log message when a restarted role has completed its first round; the fault drills wait for it."""

DETAIL = re.compile(r"\s+\w+: ?|$")
"""A line of Ray's messages about actors with a detail, or an empty one."""

LOST = object()
"""Stands for a missing answer: the role died, or took too long, or the answer was lost on its way."""


class Supervisor:
    """Makes the calls of a run's roles; answers, deaths and stalls are handled in `poll` alone."""

    def __init__(self, session: Session, parts: Parts, actor_calls: ActorCalls, clock: Clock) -> None:
        self._session, self._parts, self._ray, self._clock = session, parts, actor_calls, clock
        self._replay_account = ReplayAccount(session)
        self._last_full_at, self._last_check_at = clock.monotonic(), float("-inf")
        self._tolerant = False

    @property
    def actors_wait(self) -> bool:
        """Whether, by the replay's last report, the actors wait there: it is full, or its server cannot write."""
        replay = self._replay_account.last_report
        return replay is not None and (
            replay.tokens >= self._session.job.replay.bucket_capacity or not replay.server_writes
        )

    def unanswered_s(self, role: Role, now: float) -> float:
        """Return the age of a role's oldest call in flight, without an actor's wait for room in the replay."""
        return role.unanswered_s(now, 0.0 if role.group is None else self._last_full_at)

    def start(self, role: Role, *, resumes: bool = False) -> None:
        """Start a role, which restores itself; `resumes` is whether the newest checkpoint has a state of it."""
        role.begin(self._clock.monotonic(), resumes=resumes)

    def end(self, role: Role) -> None:
        """End a role for good."""
        handle, process = role.handle, role.process
        role.end()
        if handle is not None:
            self._ray.end(handle, process)

    def remove_actor(self, role: Role) -> None:
        """End an actor for good, and forget it."""
        self._parts.actors.remove(role)
        self.end(role)

    def tolerate_failures(self) -> None:
        """From now on only log failures of actors and of last rounds: the run is saved after an error."""
        self._tolerant = True

    def start_round(self, role: Role) -> None:
        """Start a round of a role."""
        on_report = self._on_replay_report if role is self._parts.replay else role.on_report
        self._call(role, CallKind.ROUND, on_report, *role.next_round())

    def request(self, role: Role, method: str, on_answer: Callable[[Any], None]) -> Any:
        """Call a method and pass its answer to `on_answer`, unless the role dies first; return its reference."""
        return self._call(role, CallKind.REQUEST, on_answer, method)

    def tell(self, role: Role, method: str) -> None:
        """Call a method whose answer does not matter."""
        if role.in_contact:
            self._ray.call(role.handle, method)

    def gather(self, calls: Sequence[tuple[Role, str]], within_s: float, stop_s: float = STOP_S) -> list[Any]:
        """Call a method of each role and return their answers, LOST for a role that died or was too late.

        Other answers are collected meanwhile, but no new rounds are started.  After a signal to stop at most `stop_s`
        are left.
        """
        answers: dict[int, Any] = {}
        made = [
            (role, self.request(role, method, functools.partial(answers.__setitem__, number)))
            for number, (role, method) in enumerate(calls)
            if role.in_contact
        ]
        deadline, stopping = self._clock.monotonic() + within_s, False
        while (now := self._clock.monotonic()) < deadline:
            if not any(reference in role.calls for role, reference in made):
                break
            if self._session.interrupt.requested and not stopping:
                deadline, stopping = min(deadline, now + stop_s), True
            self.poll(min(POLL_S, max(0.0, deadline - now)))
        return [answers.get(number, LOST) for number in range(len(calls))]

    def wait_until_idle(self, roles: Sequence[Role]) -> bool:
        """Wait until every one of `roles` can be called and has no call in flight; False if a signal comes first."""
        while not all(role.idle for role in roles):
            if self._session.interrupt.requested:
                return False
            self.poll(POLL_S)
        return True

    def poll(self, timeout_s: float) -> None:
        """Handle the answers that arrive within `timeout_s`, deaths and stalls."""
        now = self._clock.monotonic()
        for role in self._parts.all:
            if role.waits_for_contact(now):
                self._measure(role, CallKind.CONTACT)
        self._kill_stalled(now)
        pending = {reference: role for role in self._parts.all for reference in role.calls}
        if not pending:
            self._clock.sleep(timeout_s)
        else:
            for reference in self._ray.wait(list(pending), timeout_s):
                if (
                    call := pending[reference].calls.pop(reference, None)
                ) is not None:  # else it was forgotten meanwhile
                    self._handle(call, reference)

    def replay_saved(self, report: ReplayReport) -> bool:
        """Take the replay's report for a checkpoint; return whether the actors were started again since they gave their
        states, which are then void."""
        return self._replay_account.on_checkpoint(report) and self._reread_game_files()

    def kill_hanging_actors(self) -> None:
        """End the actors that have not answered: one that hangs would delay the shutdown of Ray."""
        for role in self._parts.actors.members:
            if role.busy:
                self.end(role)

    def _call(self, role: Role, kind: CallKind, on_answer: Callable[[Any], None], *call: Any) -> Any:
        reference = self._ray.call(role.handle, *call)
        role.called(reference, kind, on_answer, self._clock.monotonic())
        return reference

    def _measure(self, role: Role, kind: CallKind = CallKind.MEASUREMENT) -> None:
        on_answer = functools.partial(self._on_process, role)
        role.called(self._ray.measure(role.handle), kind, on_answer, self._clock.monotonic())

    def _handle(self, call: Call, reference: Any) -> None:
        role = call.role
        try:
            value = self._ray.answer(reference)
        except RayError as error:
            if call.kind is not CallKind.MEASUREMENT:  # else its round fails too
                self._on_failure(call, error)
            return
        call.on_answer(value)
        now = self._clock.monotonic()
        if call.kind is CallKind.ROUND and role.in_contact and role.answered_round(now) and role.restarts:
            log.warning(RECOVERED, role.name)
        if role.in_contact and not role.is_measured(now, MEASURE_EVERY_S):
            self._measure(role)

    def _on_process(self, role: Role, process: Process) -> None:
        if (code := getattr(process, "code", "an older one")) != (ours := code_version()):
            text = f"the {role.name} runs version {code} of the code and the driver {ours}"
            if not self._session.folder.trained:
                raise RunError(f"{text}; install one version on every node, or send it by cluster.working_dir")
            log.warning("%s", text)
        if role.measured(process, self._clock.monotonic(), RETRY_S):
            self._on_death(role, role.failure or RunError("the end of its process between two calls"), process)

    def _on_failure(self, call: Call, error: RayError) -> None:
        """Handle a call that failed with `error`; raises the error if it ends the run.

        A connection or an answer may be lost while the process lives, with its games in progress: which process answers
        next will tell.  What a lost round delivered still counts in the replay.
        """
        role, cause = call.role, error.cause if isinstance(error, RayTaskError) else None
        if self._tolerant and role.group is not None:
            log.error("%s failed while the run ends: %s", role.name, error)
            self.end(role)
        elif isinstance(cause, ReversiError):
            self._on_reported(call, cause)
        elif isinstance(error, RayTaskError):
            self._ray.kill(role.handle, role.process)
            self._on_death(role, error)
        elif isinstance(error, RayActorError) and not isinstance(error, ActorUnavailableError):
            self._on_death(role, error, final=True)
        else:
            if role.in_contact:
                log.warning("an answer of the %s is lost: %s", role.name, last_sentence(error))
            role.lost_contact(self._clock.monotonic() + RETRY_S, error)

    def _on_reported(self, call: Call, error: ReversiError) -> None:
        """Raise an error that a role reports, as a restart would not mend it: it ends the run.

        It does not if the run is ending, or if other actors can reach the server that this one cannot.
        """
        if self._tolerant and call.kind is CallKind.ROUND:
            log.error("the last round of the %s failed: %s", call.role.name, error)
        elif isinstance(error, UnreachableError) and call.role.group is not None:
            self._on_lost_server(call.role, error)
        else:
            raise error from None

    def _on_lost_server(self, role: Role, error: UnreachableError) -> None:
        """Restart an actor that could not reach Redis, if another one may; else raise `error`.

        One that was never up, as it waits for a node, does not count: it may wait for ever.
        It is a new process under a new producer name, as the server may or may not have the last delivery.
        """
        if role.leaving:
            self.remove_actor(role)
            return
        role.cannot_reach_redis()
        if all(each.cut_off or not each.was_up for each in self._parts.actors.members if not each.leaving):
            raise error
        self._ray.kill(role.handle, role.process)
        pause_s = role.killed_cut_off(self._clock.monotonic())
        self._session.progress.restarted()
        log.error("%s is called again in %.0f s, as others may reach the server: %s", role.name, pause_s, error)

    def _on_death(self, role: Role, error: Exception, successor: Process | None = None, *, final: bool = False) -> None:
        """Count a death; one too many raises RunError.  A leaving actor just leaves.

        final  Ray starts no other process under this handle, as on a node that was shut down in order, so that the
               driver has to; of the parts that others call too none can, as they have the handle
        """
        log.error("%s died", role.name, exc_info=error)
        if role.leaving:
            self.remove_actor(role)
            return
        pause_s = role.died(self._clock.monotonic(), successor)
        self._session.progress.restarted()
        called_by_others = role in (self._parts.replay, self._parts.weights)
        if final:
            role.end()
        if pause_s is None or (final and called_by_others):
            deaths = role.restart_policy.deaths
            times = f"{deaths} times, the last time" if deaths > 1 else "and ended the run,"
            raise RunError(f"the {role.name} died {times} by {last_sentence(error)!r}") from error
        if final:
            role.begin(self._clock.monotonic() + pause_s)
        if pause_s:
            log.error("%s is called again in %.0f s", role.name, pause_s)

    def _kill_stalled(self, now: float) -> None:
        """Kill the roles with a call that has been in flight for too long.

        Actors do not count as stalled while they wait for the learner, or for a disk.  One that is not up waits for a
        node with room; the others continue.
        """
        if now - self._last_check_at < CHECK_EVERY_S:
            return
        self._last_check_at = now
        stall_s = self._session.job.cluster.stall_s
        if self.actors_wait:
            self._last_full_at = now
        for role in self._parts.all:
            if role.group is not None and not role.up:
                continue
            unanswered_s = self.unanswered_s(role, now)
            if unanswered_s < (stall_s if role.up else max(stall_s, START_S)):
                continue
            log.error("%s has not answered for %.0f s and is killed", role.name, unanswered_s)
            self._ray.kill(role.handle, role.process)
            self._on_death(role, RunError(f"no answer for {unanswered_s:.0f} s"))

    def _on_replay_report(self, report: ReplayReport) -> None:
        if self._replay_account.on_report(report):
            self._reread_game_files()
        self._parts.replay.on_report(report)

    def _reread_game_files(self) -> bool:
        """After a death of the replay start the actor that reads game files, if there is one, again; return whether.

        Without its state it delivers all games under the same names, and the replay takes those that it lacks.
        """
        if not self._session.reads_files:
            return False
        self._session.reread_game_files()
        for role in self._parts.actors.members:
            if role.handle is not None:
                self._ray.kill(role.handle, role.process)
                role.killed(self._clock.monotonic())
        return True


def last_sentence(error: Exception) -> str:
    """Return the first sentence of the last line of a message, details such as `pid: 1` apart, which the log has."""
    lines = [line for line in str(error).strip().splitlines() if not DETAIL.match(line)] or [type(error).__name__]
    return lines[-1].strip().split(". ")[0]
