"""Supervises the roles of a run: makes calls, passes on their answers, restarts what dies or stalls.

A role that dies is restarted.  A role that has been called and does not answer for `cluster.stall_s` is killed, and
then treated like any that died.  So is one whose answer is lost on its way, and an actor that cannot reach Redis while
others can.  Starts, restores and rounds are all calls whose answers arrive later: no role is waited for while others
could work.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from learner.replay.transport import ReplayReport
from scripts.ray.calls import Answer, CallKind, PendingCalls
from scripts.ray.champion import ChampionSender
from scripts.ray.failures import FailureHandler
from scripts.ray.health import ProcessMonitor
from scripts.ray.lifecycle import Lifecycle
from scripts.ray.replay_account import ReplayAccount
from scripts.ray.roles import Parts, Role
from scripts.ray.watchdog import Watchdog
from scripts.run.session import Session

POLL_S = 0.25
"""Longest time in seconds to wait for answers before the clock and signals are checked again."""

STOP_S = 5.0
"""Longest time in seconds to wait for current rounds, or for an answer other than a state, after a signal to stop."""

LOST = object()
"""Stands for a missing answer: the role died, or took too long, or the answer was lost on its way."""


class Supervisor:
    """Makes the calls of a run's roles; answers, deaths and restarts are handled in `poll` alone."""

    def __init__(self, session: Session, parts: Parts) -> None:
        self._session, self._parts = session, parts
        cluster, replay = session.job.cluster, session.job.replay
        self._calls = PendingCalls()
        self._lifecycle = Lifecycle(session, parts, self._calls)
        self._failures = FailureHandler(parts, self._lifecycle)
        self._watchdog = Watchdog(cluster.stall_s, replay.bucket_capacity)
        self._monitor = ProcessMonitor()
        self._champion = ChampionSender(session, parts.weights)
        self._replay_account = ReplayAccount(session)

    def start(self, role: Role) -> None:
        """Start a process for a role and restore its saved state, if there is one."""
        self._lifecycle.start(role)

    def remove_actor(self, role: Role) -> None:
        """End an actor for good."""
        self._lifecycle.remove_actor(role)

    def tolerate_failures(self) -> None:
        """From now on only log failures of actors and of last rounds: the run is saved after an error."""
        self._failures.tolerant = True

    def start_round(self, role: Role) -> None:
        """Start a round of a role."""
        role.saved = None
        on_report = self._on_replay_report if role is self._parts.replay else role.on_report
        self.call(role, role.start_round(role.handle), on_report, CallKind.ROUND)

    def call(
        self, role: Role, reference: Any, on_answer: Callable[[Any], None], kind: CallKind = CallKind.REQUEST
    ) -> None:
        """Pass the answer of a call to `on_answer` when it arrives; if the role dies first, that is never called."""
        self._calls.add(role, reference, on_answer, kind)

    def gather(self, calls: Sequence[tuple[Role, str]], within_s: float, stop_s: float = STOP_S) -> list[Any]:
        """Call a method of each role and return their answers, LOST for a role that died or was too late.

        Other answers are collected meanwhile, but no new rounds are started.  After a signal to stop at most `stop_s`
        are left.
        """
        answers: dict[int, Any] = {}
        made = [(role, role.handle, getattr(role.handle, method).remote()) for role, method in calls]
        for number, (role, _, reference) in enumerate(made):
            self.call(role, reference, functools.partial(answers.__setitem__, number))
        deadline, stopping = time.monotonic() + within_s, False
        while time.monotonic() < deadline:
            if not any(reference in self._calls and role.handle is handle for role, handle, reference in made):
                break
            if self._session.interrupt.requested and not stopping:
                deadline, stopping = min(deadline, time.monotonic() + stop_s), True
            self.poll(min(POLL_S, max(0.0, deadline - time.monotonic())))
        return [answers.get(number, LOST) for number in range(len(calls))]

    def wait_until_idle(self, roles: Sequence[Role]) -> bool:
        """Wait until none of `roles` has a call in flight or a restart pending; False if a signal comes first."""
        while not all(role.idle for role in roles):
            if self._session.interrupt.requested:
                return False
            self.poll(POLL_S)
        return True

    def poll(self, timeout_s: float) -> None:
        """Handle the answers that arrive within `timeout_s`, deaths and stalls; restart the roles that are due."""
        self._lifecycle.start_due()
        self._failures.retry_unreachable()
        self._champion.send_due()
        self._watchdog.kill_stalled(self._calls, self._replay_account.last_report)
        for role in self._monitor.collect():
            self._lifecycle.on_ray_restart(role)
            if role is self._parts.weights:
                self._champion.request()
        for answer in self._calls.collect(timeout_s):
            self._handle(answer)

    def replay_saved(self, report: ReplayReport) -> bool:
        """Take the replay's report for a checkpoint; return whether the actors were started again since they gave their
        states, which are then void."""
        return self._replay_account.on_checkpoint(report) and self._reread_game_files()

    def _handle(self, answer: Answer) -> None:
        call, role = answer.call, answer.call.role
        if answer.error is not None:
            self._failures.handle(call, answer.error)
            return
        call.on_answer(answer.value)
        if role.handle is None:
            return  # the callback has removed it
        if not role.up and call.kind is CallKind.ROUND:
            self._lifecycle.on_up(role)
        self._monitor.request(role)

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
            self._lifecycle.end(role)
            role.saved = None
            self._lifecycle.start(role)
        return True
