"""The games that the actors delivered, compared with those that the replay has taken: what a death of it cost."""

from __future__ import annotations

import logging

from learner.replay.transport import ReplayReport
from scripts.run.sitting import Sitting

log = logging.getLogger(__name__)


class ReplayAccount:
    """Keeps the replay's reports, and tells the log of the games that it lost."""

    def __init__(self, sitting: Sitting, keeps_all: bool) -> None:
        """`keeps_all`: nothing that was delivered is lost, since it is on a Redis server."""
        self._sitting, self._keeps_all = sitting, keeps_all
        self.held: ReplayReport | None = None
        """The replay's last report."""
        self._unaccounted: int | None = None
        self._bereft = False

    def hear(self, report: ReplayReport) -> None:
        """Take a report; a drop in its games shows a restart before the new process is measured."""
        if self.held is None:
            self.settle(report)
        elif report.games_total < self.held.games_total:
            self._bereft = True
        self.held = report

    def died(self) -> None:
        """Note that the replay has died."""
        self._bereft = True

    def settle(self, report: ReplayReport) -> None:
        """Compare, for a checkpoint, the games that the actors delivered with those that the replay has taken.

        Both numbers are exact then, as nothing is in flight: if the replay has died since the last checkpoint, the
        difference is what its death cost.  Over Redis nothing is lost, but entries may still be unread.
        """
        before = self._unaccounted
        self._unaccounted = self._sitting.progress.games - report.games_total - report.rejected_games
        if self._bereft and not self._keeps_all and before is not None and self._unaccounted > before:
            log.error("the replay lost %d games with its death", self._unaccounted - before)
        self._bereft = False
