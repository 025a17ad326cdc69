"""The driver of a run on Ray: it starts the roles, runs the training loop, saves the run and ends it.

Every role has one call in flight at a time.  The driver never waits for one role while others could work, and never
longer for a slow actor than for the others.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from reversi.errors import ReversiError, TrainingDivergedError
from scripts.config.cluster import RayClusterConfig
from scripts.ray.actor_calls import ActorCalls
from scripts.ray.actor_pool import Parts
from scripts.ray.checkpoints import Checkpoints, NoStateError
from scripts.ray.clock import Clock, RunningClock
from scripts.ray.health import HealthReporter
from scripts.ray.role import Role
from scripts.ray.rounds import Rounds
from scripts.ray.supervisor import LOST, POLL_S, START_S, STOP_S, Supervisor
from scripts.run.control import TargetWatcher
from scripts.run.session import Session

log = logging.getLogger(__name__)


class Driver:
    """Takes a run from the start of its roles to its last checkpoint."""

    def __init__(
        self,
        session: Session,
        parts: Parts,
        watcher: TargetWatcher,
        actor_calls: ActorCalls | None = None,
        clock: Clock = time,
    ) -> None:
        """Start every role; those that the session's checkpoint has a state of begin with it."""
        actor_calls, clock = actor_calls or ActorCalls(), RunningClock(clock)
        self._session, self._parts, self._clock = session, parts, clock
        self.supervisor = Supervisor(session, parts, actor_calls, clock)
        self._rounds = Rounds(session, parts, self.supervisor, watcher, clock)
        self.checkpoints = Checkpoints(session, parts, self.supervisor, self._rounds, clock)
        self.shutdown = Shutdown(session, parts, self.supervisor, self._rounds, clock)
        self._health = HealthReporter(parts, session.progress, self.supervisor, actor_calls, clock)
        parts.actors.grow()
        for role in parts.all:
            resumes = f"{role.name}.safetensors" in session.checkpoint and not (parts.stateless and role.group)
            self.supervisor.start(role, resumes=bool(resumes))
        session.checkpoint.clear()  # gigabytes, of which every role reads its part

    def run(self) -> None:
        """Train until the time is up or a signal arrives, then save; the last candidate still gets its match.

        There is a checkpoint before the last candidate is offered, one when the gate has it and one when it is judged:
        whenever the run is stopped or killed, the candidate is offered and judged exactly once.  A run that an error
        ends is saved first, if that is possible; a ReversiError then says how to go on.
        """
        try:
            self._train()
        except Exception as error:
            self.save_after(error)
            if isinstance(error, ReversiError):
                raise self._session.with_resume_hint(error) from error
            raise

    def _train(self) -> None:
        session = self._session
        if self.wait_until_up():
            session.begin()
        elif not session.folder.trained:
            return
        while session.goes_on:
            self.turn()
            if session.checkpoint_due:
                self.checkpoints.save()
        self.shutdown.stop_play()
        self.checkpoints.save_final()
        if not session.interrupt.requested:
            self.shutdown.offer_last_candidate()
            self.checkpoints.save_final()
            self.shutdown.finish_gate()
            self.checkpoints.save_final(judged=True)
        self.supervisor.kill_hanging_actors()

    def wait_until_up(self) -> bool:
        """Wait until the processes have started, which takes Ray some seconds; the run's clock starts with the games.

        What a resumed run restores is waited for.  Otherwise learner, gate, replay and one actor, which may be waiting
        for room in the replay, are enough, as any node of the other actors may be lost, and after
        `cluster.start_timeout_s` the clock starts without them: a run always ends.  Returns False if a signal stopped
        the run before.
        """
        parts, cluster = self._parts, self._session.job.cluster
        needed = (parts.replay, parts.learner, parts.gate)
        self.supervisor.wait_until_idle([role for role in needed if role.resumes])
        timeout_s = cluster.start_timeout_s if isinstance(cluster, RayClusterConfig) else START_S
        deadline = self._clock.monotonic() + timeout_s
        while not self._session.interrupt.requested:
            self._rounds.start_next()
            waits = self.supervisor.actors_wait
            actors_up = any(role.up or role.idle or (waits and role.in_contact) for role in parts.actors.members)
            if (actors_up and all(role.up or role.idle for role in needed)) or self._clock.monotonic() > deadline:
                return True
            self.supervisor.poll(POLL_S)
        return False

    def turn(self) -> None:
        """Collect the finished rounds and start the next ones; waits at most `POLL_S`."""
        self._rounds.check_target()
        self._rounds.start_next()
        self.supervisor.poll(POLL_S)
        self._health.report_due()
        self._session.progress.tick()

    def save_after(self, error: Exception) -> None:
        """Write a checkpoint of a run that `error` ends, unless that is that a part does not give its state.

        After `TrainingDivergedError` the learner is worth less than the last checkpoint.
        """
        log.error("the run ends by %r", error, exc_info=error)
        if not self._session.folder.trained or isinstance(error, NoStateError | TrainingDivergedError):
            return
        self.supervisor.tolerate_failures()
        self._session.interrupt.request()
        try:
            self.shutdown.stop_play()
            self.checkpoints.save_final()
        except Exception as another:
            log.error("not saved: %s", another)
        self.supervisor.kill_hanging_actors()


class Shutdown:
    """The steps between the last round of training and the last checkpoint."""

    def __init__(self, session: Session, parts: Parts, supervisor: Supervisor, rounds: Rounds, clock: Clock) -> None:
        self._session, self._parts, self._clock = session, parts, clock
        self._supervisor, self._rounds = supervisor, rounds

    def stop_play(self) -> None:
        """Let the current rounds end, with the replay's waits released, and start no more.

        Actors that have not answered after `STOP_S` are left out: one that hangs must not prevent the checkpoint.
        """
        deadline = self._clock.monotonic() + STOP_S
        self._request(self._parts.replay, "stop")
        self._rounds.note_release()
        while self._clock.monotonic() < deadline and (self._parts.learner.busy or self._rounds.actors_playing()):
            self._supervisor.poll(POLL_S)

    def offer_last_candidate(self) -> None:
        """Offer the learner's last averaged weights, once per run, and wait until the gate has them.

        From then on they are part of the gate's state: a stopped run continues their match, and no candidate is judged
        twice.
        """
        while not self._session.last_offered and not self._session.interrupt.requested:
            if self._parts.learner.idle and self._parts.gate.idle:
                report = self._request(self._parts.learner, "offer_candidate")
                if report is not LOST and self._request(self._parts.gate, "poll") is not LOST:
                    self._session.offered(report)
            else:
                self._supervisor.poll(POLL_S)

    def finish_gate(self) -> None:
        """Play the gate's matches to their end."""
        gate = self._parts.gate
        while not self._session.interrupt.requested:
            if gate.idle:
                busy = self._request(gate, "poll")
                if busy is False:
                    return
                if busy is True:
                    self._supervisor.start_round(gate)
            self._supervisor.poll(POLL_S)
            self._session.progress.tick()

    def _request(self, role: Role, method: str) -> Any:
        """Return a role's answer to one call, or LOST."""
        if not role.in_contact:
            self._supervisor.poll(POLL_S)
            return LOST
        [answer] = self._supervisor.gather([(role, method)], START_S)
        return answer
