"""The driver of a run on Ray: it starts the roles, runs the training loop, saves the run and ends it.

Every role has one call in flight at a time.  The driver never waits for one role while others could work, and never
longer for a slow actor than for the others.
"""

from __future__ import annotations

import logging
import time

from reversi.errors import ReversiError, TrainingDivergedError
from scripts.config.cluster import RayClusterConfig
from scripts.ray.checkpoints import Checkpoints, NoStateError
from scripts.ray.health import HealthReporter
from scripts.ray.lifecycle import START_S
from scripts.ray.roles import Parts
from scripts.ray.rounds import Rounds
from scripts.ray.scaling import ActorScaling
from scripts.ray.shutdown import Shutdown
from scripts.ray.supervisor import POLL_S, Supervisor
from scripts.run.control import TargetWatcher
from scripts.run.session import Session

log = logging.getLogger(__name__)


class Driver:
    """Takes a run from the start of its roles to its last checkpoint."""

    def __init__(self, session: Session, parts: Parts, watcher: TargetWatcher) -> None:
        """Start every role with its part of the session's checkpoint."""
        self._session, self._parts = session, parts
        self.supervisor = Supervisor(session, parts)
        self._scaling = ActorScaling(parts.actors, watcher, self.supervisor)
        self._rounds = Rounds(session, parts, self.supervisor, self._scaling)
        self.checkpoints = Checkpoints(session, parts, self.supervisor, self._rounds)
        self.shutdown = Shutdown(session, parts, self.supervisor, self._rounds)
        self._health = HealthReporter(parts, session.progress)
        self._restored = False
        parts.actors.grow()
        for role in parts.all:
            if role is not parts.weights and not (role.group is not None and parts.stateless):
                role.saved = session.checkpoint.get(f"{role.name}.safetensors")
            self.supervisor.start(role)
        session.checkpoint.clear()  # gigabytes, that every role now has its part of

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
        self.shutdown.kill_hanging_actors()

    def wait_until_up(self) -> bool:
        """Wait until the processes have started, which takes Ray some seconds; the run's clock starts with the games.

        Learner, gate, replay and one actor are enough, as any node of the other actors may be lost.  After
        `cluster.start_timeout_s` the clock starts without them: a run always ends.  Returns False if a signal stopped
        the run before.
        """
        parts, cluster = self._parts, self._session.job.cluster
        needed = (parts.replay, parts.learner, parts.gate)
        self._restored = self.supervisor.wait_until_idle(needed)
        deadline = time.monotonic() + (cluster.start_timeout_s if isinstance(cluster, RayClusterConfig) else START_S)
        while not self._session.interrupt.requested:
            self._rounds.start_next()
            actors_up = any(role.up or role.idle for role in parts.actors.members)
            if (actors_up and all(role.up or role.idle for role in needed)) or time.monotonic() > deadline:
                return True
            self.supervisor.poll(POLL_S)
        return False

    def turn(self) -> None:
        """Collect the finished rounds and start the next ones; waits at most `POLL_S`."""
        self._scaling.check_target()
        self._rounds.start_next()
        self.supervisor.poll(POLL_S)
        self._health.report_due()
        self._session.progress.tick()

    def save_after(self, error: Exception) -> None:
        """Write a checkpoint of a run that `error` ends, unless that is that a part does not give its state.

        After `TrainingDivergedError` the learner is worth less than the last checkpoint.
        """
        log.error("the run ends by %r", error, exc_info=error)
        trained = self._restored and self._session.folder.trained
        if not trained or isinstance(error, NoStateError | TrainingDivergedError):
            return
        self.supervisor.tolerate_failures()
        self._session.interrupt.request()
        try:
            self.shutdown.stop_play()
            self.checkpoints.save_final()
        except Exception as another:
            log.error("not saved: %s", another)
        self.shutdown.kill_hanging_actors()
