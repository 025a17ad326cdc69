"""The driver of a run on Ray: it decides when actors play, when the run is saved and how it ends.

Every role has one call in flight at a time; `scripts/ray/supervisor.py` collects the answers and handles
deaths.  The driver never waits for one role while others could work, and never longer for a slow actor than for the
others.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import psutil

from reversi.errors import RunError, TrainingDivergedError
from scripts.config.cluster import RayClusterConfig
from scripts.ray.cluster import object_store_mb
from scripts.ray.roles import Parts, Role, end_process
from scripts.ray.supervisor import LOST, MEASURE_EVERY_S, POLL_S, START_S, STOP_S, WATCH_EVERY_S, Supervisor
from scripts.run.control import TargetWatcher
from scripts.run.health import MemoryReport
from scripts.run.sitting import Sitting

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
"""Seconds between two checks of the target that `reversi scale` sets."""

LATE_S = 5.0
"""An actor is late after this many seconds without an answer, and after twice the usual time of a round.  Checkpoints
and the end of the run do not wait for a late actor."""

RELEASED_S = 2.0
"""No actor is late within this many seconds of a release of the waits for room in the replay: it may have waited."""

HUNG_S = 10.0
"""No checkpoint is started while the learner, the gate or the replay has been silent for this many seconds."""

STATE_TIMEOUT_S = 60.0
"""Longest time in seconds for the roles to return their states, also after a signal to stop.  The replay's is the
largest: 612 MB of 6 million positions took 5.6 to 7 s."""

ACTOR_STATES_S = 5.0
"""The same for actors between two rounds."""


class NoStateError(RunError):
    """A part that a checkpoint needs did not give its state."""


class Driver:
    """Runs the training loop of a run on Ray."""

    def __init__(self, sitting: Sitting, parts: Parts, watcher: TargetWatcher) -> None:
        """Start every role with its part of the sitting's checkpoint."""
        self._sitting, self._parts, self._watcher = sitting, parts, watcher
        self._supervisor = Supervisor(sitting, parts)
        self._looked = self._felt = self._weighed = self._released = float("-inf")
        self._restored = False
        parts.actors.grow()
        for role in parts.all:
            if role is not parts.weights and not (role.group is not None and parts.stateless):
                role.saved = sitting.checkpoint.get(f"{role.name}.safetensors")
            self._supervisor.start(role)

    def wait_until_up(self) -> bool:
        """Wait until the processes have started, which takes Ray some seconds; the run's clock starts with the games.

        Learner, gate, replay and one actor are enough, as any node of the other actors may be lost.  After
        `cluster.start_timeout_s` the clock starts without them: a run always ends.  Returns False if a signal stopped
        the run before.
        """
        parts, cluster = self._parts, self._sitting.job.cluster
        needed = (parts.replay, parts.learner, parts.gate)
        self._restored = self._supervisor.until_idle(needed)
        deadline = time.monotonic() + (cluster.start_timeout_s if isinstance(cluster, RayClusterConfig) else START_S)
        while not self._sitting.interrupt.requested:
            self._ask()
            actors_up = any(role.up or role.idle for role in parts.actors.members)
            if (actors_up and all(role.up or role.idle for role in needed)) or time.monotonic() > deadline:
                return True
            self._supervisor.hear(POLL_S)
        return False

    def turn(self) -> None:
        """Collect the finished rounds and start the next ones; waits at most `POLL_S`."""
        self._scale()
        self._ask()
        self._supervisor.hear(POLL_S)
        progress, now = self._sitting.progress, time.monotonic()
        if now - self._felt >= WATCH_EVERY_S:
            self._felt = now
            progress.health(self._supervisor.health())
        if now - self._weighed >= MEASURE_EVERY_S:
            self._weighed = now
            rss_mb = psutil.Process().memory_info().rss / (1 << 20)
            progress.memory(MemoryReport(driver_mb=rss_mb, object_store_mb=object_store_mb()))
        progress.tick()

    def stop_play(self) -> None:
        """Let the current rounds end, with the replay's waits released, and start no more.

        Actors that have not answered after `STOP_S` are left out: one that hangs must not prevent the checkpoint.
        """
        deadline = time.monotonic() + STOP_S
        self._answer(self._parts.replay, "stop")
        self._released = time.monotonic()
        while time.monotonic() < deadline and (self._parts.learner.calls or self._playing()):
            self._supervisor.hear(POLL_S)

    def save(self) -> bool:
        """Write a checkpoint and continue; False if a role that must be part of it is down or does not answer."""
        files = self._states()
        if not isinstance(files, dict):
            return False
        place = self._sitting.save(files)
        self._parts.learner.handle.saved.remote(place)
        return True

    def save_at_last(self, judged: bool = False) -> None:
        """Write the final checkpoint or raise NoStateError, as everything since the last one would be lost.

        A role that died or is busy is waited for, after a signal for at most `STATE_TIMEOUT_S`: a second signal ends
        the run at once.
        """
        began = time.monotonic()
        while not isinstance(files := self._states(), dict):
            patience_s = STATE_TIMEOUT_S if self._sitting.interrupt.requested else START_S
            if files.given_up or time.monotonic() - began > patience_s:
                raise NoStateError(f"the {files.name} did not answer to 'state'")
            self._supervisor.hear(POLL_S)
        self._sitting.save(files, at_end=True, judged=judged)

    def save_despite(self, error: Exception) -> None:
        """Write a checkpoint of a run that `error` ends, unless that is that a part does not give its state.

        After `TrainingDivergedError` the learner is worth less than the last checkpoint.
        """
        log.error("the run ends by %r", error, exc_info=error)
        trained = self._restored and self._sitting.folder.trained
        if not trained or isinstance(error, NoStateError | TrainingDivergedError):
            return
        self._supervisor.ending = True
        self._sitting.interrupt.request()
        try:
            self.stop_play()
            self.save_at_last()
        except Exception as another:
            log.error("not saved: %s", another)
        self.leave_behind()

    def offer_last(self) -> None:
        """Offer the learner's last averaged weights, once per run, and wait until the gate has them.

        From then on they are part of the gate's state: a stopped run continues their match, and no candidate is judged
        twice.
        """
        while not self._sitting.last_offered and not self._sitting.interrupt.requested:
            if self._parts.learner.idle and self._parts.gate.idle:
                report = self._answer(self._parts.learner, "offer_candidate")
                if report is not LOST and self._answer(self._parts.gate, "poll") is not LOST:
                    self._sitting.offered(report)
            else:
                self._supervisor.hear(POLL_S)

    def finish_gate(self) -> None:
        """Play the gate's matches to their end."""
        gate = self._parts.gate
        while not self._sitting.interrupt.requested:
            if gate.idle:
                busy = self._answer(gate, "poll")
                if busy is False:
                    return
                if busy is True:
                    self._supervisor.ask(gate)
            self._supervisor.hear(POLL_S)
            self._sitting.progress.tick()

    def leave_behind(self) -> None:
        """End the processes of actors that have not answered: one that hangs would delay the shutdown of Ray."""
        for role in self._parts.actors.members:
            if role.handle is not None and role.calls:
                end_process(role)

    def _ask(self, play: bool = True) -> None:
        """Start the next round of every idle role while the run continues, of actors only if `play`; remove those that
        are leaving."""
        parts, now, goes_on = self._parts, time.monotonic(), self._sitting.goes_on
        for role in parts.actors.members:
            if role.idle and role.leaving:
                self._let_go(role)
            elif role.idle and play and goes_on and self._sitting.plays_on:
                self._supervisor.ask(role)
        if parts.learner.idle and goes_on:
            self._supervisor.ask(parts.learner)
        if parts.gate.idle:
            self._supervisor.ask(parts.gate)
        for role in (parts.replay, parts.weights):
            if role.idle and now - role.asked >= WATCH_EVERY_S:
                self._supervisor.ask(role)

    def _scale(self) -> None:
        """Check the target number of actors from time to time; start new actors, or mark others as leaving."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        if (target := self._watcher.changed()) is None:
            return
        self._parts.actors.target |= target
        for role in self._parts.actors.grow():
            log.info("%s joins", role.name)
            self._supervisor.start(role)
        for role in self._parts.actors.shrink():
            log.info("%s is asked to leave", role.name)
            if not role.up:
                self._gone(role)

    def _let_go(self, role: Role) -> None:
        """Remove an actor once everything that it delivered is stored."""
        self._supervisor.call(role, role.handle.settled.remote(), lambda _: self._gone(role))

    def _gone(self, role: Role) -> None:
        abandoned = role.games if role.up or role.saved is not None else 0
        self._parts.actors.remove(role)
        self._supervisor.drop(role)
        log.info("%s has left; its %d games in progress are abandoned", role.name, abandoned)

    def _playing(self) -> list[Role]:
        """Return the actors whose round is in progress and not late."""
        patience_s, now = max(LATE_S, 2 * self._parts.actors.usual_s), time.monotonic()
        excused_s = self._released + RELEASED_S
        return [
            role
            for role in self._parts.actors.members
            if role.up and role.calls and not role.leaving and now <= max(role.asked + patience_s, excused_s)
        ]

    def _states(self) -> dict[str, bytes] | Role:
        """Return every part's state by file name, or the role that did not return its state.

        The actors are read first, between two rounds, and the replay last, so that it holds everything they delivered.
        While they finish their rounds the learner continues, as otherwise an actor that waits for room would wait for
        ever.  An actor that is down, still starting or late is left out and begins new games after a resume.  Over
        Redis this holds for all actors: they are not part of a checkpoint, and the server keeps what they deliver.
        """
        learner, gate, replay = self._parts.learner, self._parts.gate, self._parts.replay
        now = time.monotonic()
        for role in (learner, gate, replay):
            if role.handle is None or (role.calls and now - role.asked > HUNG_S):
                return role
        files = {} if self._parts.stateless else self._actor_states()
        trained = self._answers((gate, "state"), (learner, "state"))
        if isinstance(trained, Role):
            return trained
        held = self._answers((replay, "state"), (replay, "report"))
        if isinstance(held, Role):
            return held
        if self._supervisor.settled(held[1]):
            files = {}
        names = (f"{role.name}.safetensors" for role in (gate, learner, replay))
        return files | dict(zip(names, (*trained, held[0]), strict=True))

    def _actor_states(self) -> dict[str, bytes]:
        """Return the states of the actors between two rounds, after waiting for current rounds that are not late.

        A round that has delivered its games can only be waiting for room in the replay; that wait is released.
        """
        pool, replay = self._parts.actors, self._parts.replay
        self._released = time.monotonic()
        while self._sitting.goes_on and self._playing():
            replay.handle.release.remote()
            self._ask(play=False)
            self._supervisor.hear(POLL_S)
            self._sitting.progress.tick()
        ready = [role for role in pool.members if role.free and not role.leaving]
        states = self._supervisor.answers([(role, role.handle.state.remote()) for role in ready], ACTOR_STATES_S)
        files = {role.name: state for role, state in zip(ready, states, strict=True) if state is not LOST}
        files |= {role.name: role.saved for role in pool.members if role.saved is not None}
        if late := [role.name for role in pool.members if role.up and not role.leaving and role.name not in files]:
            log.warning("checkpoint without %s: silent for too long", ", ".join(late))
        return {f"{name}.safetensors": data for name, data in files.items()}

    def _answers(self, *calls: tuple[Role, str]) -> list[Any] | Role:
        """Call several roles at the same time; return their answers, or the first role that gave none."""
        for role, _ in calls:
            if role.handle is None:
                return role
        asked = [(role, getattr(role.handle, call).remote()) for role, call in calls]
        answers = self._supervisor.answers(asked, STATE_TIMEOUT_S, stop_s=STATE_TIMEOUT_S)
        for (role, _), answer in zip(calls, answers, strict=True):
            if answer is LOST:
                log.warning("no checkpoint now: the %s did not hand out its state", role.name)
                return role
        return answers

    def _answer(self, role: Role, call: str) -> Any:
        """Return a role's answer to one call, or LOST."""
        if role.handle is None:
            self._supervisor.hear(POLL_S)
            return LOST
        [answer] = self._supervisor.answers([(role, getattr(role.handle, call).remote())], START_S)
        return answer
