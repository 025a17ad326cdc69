"""The games that the actors delivered, compared with those that the replay has taken: what a death of it cost."""

from __future__ import annotations

import logging

from learner.replay.transport import ReplayReport
from scripts.run.session import Session

log = logging.getLogger(__name__)


class ReplayAccount:
    """Keeps the replay's last report, and logs the games that it lost."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.last_report: ReplayReport | None = None
        """The replay's last report."""
        self._missing = 0
        self._died_since_checkpoint = False

    def on_report(self, report: ReplayReport) -> bool:
        """Take a report; return whether the replay has died since the last one, and lost what was not saved.

        Over Redis it loses nothing, and its process has no name.
        """
        if self.last_report is None:
            self._missing = self._count_missing(report)
        died = self.last_report is not None and report.process != self.last_report.process
        self._died_since_checkpoint |= died
        self.last_report = report
        return died

    def on_checkpoint(self, report: ReplayReport) -> bool:
        """Take the report of a checkpoint, as `on_report` does; log what the replay has lost since the last checkpoint.

        The games that the actors delivered and those that the replay has taken are exact then, as nothing is in flight:
        if the replay has died, the difference is what its death cost.  Games of files are not lost but read again.
        """
        died = self.on_report(report)
        before, self._missing = self._missing, self._count_missing(report)
        if self._died_since_checkpoint and not self._session.reads_files and self._missing > before:
            log.error("the replay lost %d games with its death", self._missing - before)
        self._died_since_checkpoint = False
        return died

    def _count_missing(self, report: ReplayReport) -> int:
        """Return the games that the actors delivered since the run began and `report` has not."""
        return self._session.progress.games - report.games_total - report.rejected_games
