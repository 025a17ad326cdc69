"""The games that the actors delivered, compared with those that the replay has taken: what a death of it cost."""

from __future__ import annotations

import logging

from learner.replay.transport import ReplayReport
from scripts.run.sitting import Sitting

log = logging.getLogger(__name__)


class ReplayAccount:
    """Keeps the replay's reports, and tells the log of the games that it lost."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        self.held: ReplayReport | None = None
        """The replay's last report."""
        self._missing = 0
        self._bereft = False

    def hear(self, report: ReplayReport) -> bool:
        """Take a report; return whether the replay has died since the last one, and lost what was not saved.

        Over Redis it loses nothing, and its process has no name.
        """
        if self.held is None:
            self._missing = self._missing_in(report)
        died = self.held is not None and report.process != self.held.process
        self._bereft |= died
        self.held = report
        return died

    def settle(self, report: ReplayReport) -> bool:
        """Take the report of a checkpoint, as `hear` does; say what the replay has lost since the last checkpoint.

        The games that the actors delivered and those that the replay has taken are exact then, as nothing is in flight:
        if the replay has died, the difference is what its death cost.  Games of files are not lost but read again.
        """
        died = self.hear(report)
        before, self._missing = self._missing, self._missing_in(report)
        if self._bereft and not self._sitting.reads_files and self._missing > before:
            log.error("the replay lost %d games with its death", self._missing - before)
        self._bereft = False
        return died

    def _missing_in(self, report: ReplayReport) -> int:
        """Return the games that the actors delivered since the run began and `report` has not."""
        return self._sitting.progress.games - report.games_total - report.rejected_games
