"""Checkpoints of a run under Ray: the states of its roles, collected while it trains or at its end."""

from __future__ import annotations

import logging
from typing import Any

from reversi.errors import RunError
from scripts.ray.actor_pool import Parts
from scripts.ray.clock import Clock
from scripts.ray.role import Role
from scripts.ray.rounds import Rounds
from scripts.ray.supervisor import LOST, POLL_S, START_S, Supervisor
from scripts.run.folder import newest_whole
from scripts.run.session import Session

log = logging.getLogger(__name__)

HUNG_S = 10.0
"""No checkpoint is started while the learner, the gate or the replay has not answered for this many seconds."""

STATE_TIMEOUT_S = 60.0
"""Longest time in seconds for the roles to return their states, also after a signal to stop.  The replay's is the
largest: 612 MB of 6 million positions took 5.6 to 7 s."""

ACTOR_STATES_S = 5.0
"""The same for actors between two rounds."""


class NoStateError(RunError):
    """A part that a checkpoint needs did not give its state."""


class Checkpoints:
    """Writes the checkpoints of a run."""

    def __init__(self, session: Session, parts: Parts, supervisor: Supervisor, rounds: Rounds, clock: Clock) -> None:
        self._session, self._parts, self._clock = session, parts, clock
        self._supervisor, self._rounds = supervisor, rounds

    def save(self) -> bool:
        """Write a checkpoint and continue; False if a role that must be part of it is down or does not answer."""
        files = self._states()
        if not isinstance(files, dict):
            return False
        self._session.save(files)
        return True

    def save_final(self, *, judged: bool = False) -> None:
        """Write the final checkpoint or raise NoStateError, as everything since the last one would be lost.

        A role that died or is busy is waited for, after a signal for at most `STATE_TIMEOUT_S`: a second signal ends
        the run at once.
        """
        began = self._clock.monotonic()
        while not isinstance(files := self._states(), dict):
            timeout_s = STATE_TIMEOUT_S if self._session.interrupt.requested else START_S
            if files.given_up or self._clock.monotonic() - began > timeout_s:
                raise NoStateError(f"the {files.name} did not answer to 'state'")
            self._supervisor.poll(POLL_S)
        self._session.save(files, at_end=True, judged=judged)

    def _states(self) -> dict[str, bytes] | Role:
        """Return every part's state by file name, or the role that did not return its state.

        The actors are read first, between two rounds, and the replay last, so that it holds everything they delivered.
        While they finish their rounds the learner continues, as otherwise an actor that waits for room would wait for
        ever.  An actor that is down, still starting or late is left out and begins new games after a resume.  Over
        Redis this holds for all actors: they are not part of a checkpoint, and the server keeps what they deliver.
        """
        learner, gate, replay = self._parts.learner, self._parts.gate, self._parts.replay
        now = self._clock.monotonic()
        for role in (learner, gate, replay):
            if not role.in_contact or (role.busy and now - role.last_call_at > HUNG_S):
                return role
        files = {} if self._parts.stateless else self._actor_states()
        trained = self._gather((gate, "state"), (learner, "state"))
        if isinstance(trained, Role):
            return trained
        held = self._gather((replay, "state"), (replay, "report"))
        if isinstance(held, Role):
            return held
        if self._supervisor.replay_saved(held[1]):
            files = {}
        names = (f"{role.name}.safetensors" for role in (gate, learner, replay))
        return files | dict(zip(names, (*trained, held[0]), strict=True))

    def _actor_states(self) -> dict[str, bytes]:
        """Return the states of the actors between two rounds, after waiting for current rounds that are not late.

        A round that has delivered its games can only be waiting for room in the replay; that wait is released.  Of an
        actor that has not been up since the run was resumed the last checkpoint's state is kept.
        """
        pool, replay = self._parts.actors, self._parts.replay
        self._rounds.note_release()
        while self._session.goes_on and self._rounds.actors_playing():
            self._supervisor.tell(replay, "release")
            self._rounds.start_next(play=False)
            self._supervisor.poll(POLL_S)
            self._session.progress.tick()
        ready = [role for role in pool.members if role.free and not role.leaving]
        states = self._supervisor.gather([(role, "state") for role in ready], ACTOR_STATES_S)
        files = {role.name: state for role, state in zip(ready, states, strict=True) if state is not LOST}
        if late := [role.name for role in pool.members if role.up and not role.leaving and role.name not in files]:
            log.warning("checkpoint without %s: unresponsive for too long", ", ".join(late))
        files = {f"{name}.safetensors": data for name, data in files.items()}
        for role in pool.members:
            if role.resumes:
                files |= newest_whole(self._session.folder.path, f"{role.name}.safetensors")
        return files

    def _gather(self, *calls: tuple[Role, str]) -> list[Any] | Role:
        """Call several roles at the same time; return their answers, or the first role that gave none."""
        answers = self._supervisor.gather(calls, STATE_TIMEOUT_S, stop_s=STATE_TIMEOUT_S)
        for (role, _), answer in zip(calls, answers, strict=True):
            if answer is LOST:
                log.warning("no checkpoint now: the %s did not return its state", role.name)
                return role
        return answers
