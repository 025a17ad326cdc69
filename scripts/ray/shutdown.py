"""The end of a run under Ray: play stops, the last candidate gets its match, and hanging actors are killed."""

from __future__ import annotations

import time
from typing import Any

from scripts.ray.lifecycle import START_S
from scripts.ray.roles import Parts, Role, end_process
from scripts.ray.rounds import Rounds
from scripts.ray.supervisor import LOST, POLL_S, STOP_S, Supervisor
from scripts.run.session import Session


class Shutdown:
    """The steps between the last round of training and the last checkpoint."""

    def __init__(self, session: Session, parts: Parts, supervisor: Supervisor, rounds: Rounds) -> None:
        self._session, self._parts, self._supervisor, self._rounds = session, parts, supervisor, rounds

    def stop_play(self) -> None:
        """Let the current rounds end, with the replay's waits released, and start no more.

        Actors that have not answered after `STOP_S` are left out: one that hangs must not prevent the checkpoint.
        """
        deadline = time.monotonic() + STOP_S
        self._request(self._parts.replay, "stop")
        self._rounds.note_release()
        while time.monotonic() < deadline and (self._parts.learner.calls or self._rounds.actors_playing()):
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

    def kill_hanging_actors(self) -> None:
        """End the processes of actors that have not answered: one that hangs would delay the shutdown of Ray."""
        for role in self._parts.actors.members:
            if role.handle is not None and role.calls:
                end_process(role)

    def _request(self, role: Role, method: str) -> Any:
        """Return a role's answer to one call, or LOST."""
        if role.handle is None:
            self._supervisor.poll(POLL_S)
            return LOST
        [answer] = self._supervisor.gather([(role, method)], START_S)
        return answer
