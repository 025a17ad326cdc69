"""Alerts: a message to a webhook, and to wandb where it is on, when something happens that somebody should know.

    {"run": "night", "alert": "no-promotion", "text": "no promotion for 20 candidates"}

is sent as JSON by POST, which ntfy, Slack (its field `text`) and most chats take.  Each kind is sent once, and again
if it was over in between.  A process that is killed sends nothing: for that, alert on `reversi_state` of Prometheus.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from reversi.errors import TrainingDivergedError, first_line
from reversi.urls import masked
from scripts.config.tracking import AlertsConfig
from scripts.run.exit_record import read_exit_record
from scripts.run.tracking.metrics import Tracker

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
"""Longest time in seconds that a message waits for the webhook."""

GB = 1e9


class AlertsTracker:
    """Looks at the rows of metrics, and sends; a webhook that does not answer costs a warning."""

    def __init__(self, folder: Path, settings: AlertsConfig) -> None:
        self._folder, self._settings = folder, settings
        self._sent: set[str] = set()
        self._rejected = 0
        self._lost_since: float | None = None
        self._sender = ThreadPoolExecutor(1, "alerts")

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Look at one row."""
        if "gate/wins" in metrics and metrics.get("gate/candidate_version", -1) >= 0:
            promoted = metrics["gate/candidate_version"] == metrics.get("gate/champion_version")
            self._rejected = 0 if promoted else self._rejected + 1
            most = self._settings.candidates_without_promotion
            self._say("no-promotion", self._rejected >= most, f"no promotion for {self._rejected} candidates")
        if "health/actors/wanted" in metrics:
            wanted = metrics["health/actors/wanted"]
            missing = wanted - metrics["health/actors/alive"]
            self._lost_since = None if missing <= 0 else elapsed_s if self._lost_since is None else self._lost_since
            since = self._lost_since
            lasts = since is not None and elapsed_s - since >= self._settings.actors_missing_s
            self._say("actors-lost", lasts, f"{missing:.0f} of {wanted:.0f} actors are missing")
        if "run/games" in metrics:
            free = shutil.disk_usage(self._folder).free / GB
            self._say("disk", free < self._settings.disk_gb, f"{free:.1f} GB are left on the disk of {self._folder}")

    def close(self) -> None:
        """Do nothing: the end of the run is still to be said."""

    def ended(self, error: BaseException | None) -> None:
        """Say how the session has ended, and wait until everything is sent."""
        record = read_exit_record(self._folder)
        if isinstance(error, TrainingDivergedError):
            self._say("diverged", True, first_line(error))
        elif record is not None and record.how != "stopped":
            kind = "finished" if record.how == "finished" else "died"
            self._say(kind, True, record.summary)
        self._sender.shutdown()

    def _say(self, kind: str, holds: bool, text: str) -> None:
        """Send an alert when it begins to hold."""
        if holds and kind not in self._sent:
            self._sent.add(kind)
            self._sender.submit(self._send, kind, text)
        elif not holds:
            self._sent.discard(kind)

    def _send(self, kind: str, text: str) -> None:
        name = self._folder.name
        wandb = sys.modules.get("wandb")
        try:
            if wandb is not None and wandb.run is not None:
                wandb.run.alert(title=f"{name}: {kind}", text=text)
            if self._settings.webhook is not None:
                body = json.dumps({"run": name, "alert": kind, "text": f"{name}: {text}"}).encode()
                headers = {"Content-Type": "application/json"}
                request = urllib.request.Request(self._settings.webhook, body, headers, method="POST")
                urllib.request.urlopen(request, timeout=TIMEOUT_S).close()
        except Exception as error:  # of wandb, of the network, of a server: none may end a run
            log.warning("the alert %s (%s) was not sent: %s", kind, text, masked(first_line(error)))


@contextmanager
def alerted(trackers: Sequence[Tracker]) -> Iterator[None]:
    """Say at the end of a session how it ended, where there are alerts."""
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        for tracker in trackers:
            if isinstance(tracker, AlertsTracker):
                tracker.ended(error)
