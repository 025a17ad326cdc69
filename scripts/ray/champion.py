"""Sends the champion to a restarted weights actor."""

from __future__ import annotations

import logging
import time

from reversi.errors import NoGatedModelError, UnreachableError, UnwritableError
from scripts.ray.roles import Role
from scripts.run.session import Session

log = logging.getLogger(__name__)

RETRY_S = 10.0
"""Seconds between two attempts to read the champion from the registry."""


class ChampionSender:
    """Sends the weights actor the champion, which the gate announces only once, when the registry has it."""

    def __init__(self, session: Session, weights: Role) -> None:
        self._session, self._weights = session, weights
        self._due_at: float | None = None

    def request(self) -> None:
        """Send it with the next `send_due`."""
        self._due_at = time.monotonic()

    def send_due(self) -> None:
        """Send the champion if that was requested; where the registry cannot be reached it is tried again later."""
        if self._due_at is None or time.monotonic() < self._due_at:
            return
        self._due_at = None
        try:
            registry = self._session.open_registry()
            self._weights.handle.promoted.remote(registry.load(registry.gated()).to_bytes())
        except NoGatedModelError:
            return
        except (UnreachableError, UnwritableError) as error:
            log.warning("the champion is not sent, tried again until it is: %s", error)
            self._due_at = time.monotonic() + RETRY_S
