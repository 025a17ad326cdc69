"""Alerts reach a webhook once for each trouble, and never cost the run anything."""

from __future__ import annotations

import json
import shutil
import threading
from collections import namedtuple
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from reversi.errors import ConfigError, TrainingDivergedError
from scripts.config.tracking import AlertsConfig
from scripts.launch.train import train
from scripts.run.tracking.alerts import AlertsTracker, alerted
from tests.scripts.launch.tiny_job import TINY

Sent = list[dict[str, str]]
Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def webhook() -> Iterator[tuple[str, Sent]]:
    """The address of a webhook, and what it was sent."""
    sent: Sent = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *values: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", sent
    server.shutdown()
    server.server_close()


def tracker(folder: Path, webhook: str | None) -> AlertsTracker:
    settings = AlertsConfig(webhook=webhook, candidates_without_promotion=3, actors_missing_s=60, disk_gb=1.0)
    return AlertsTracker(folder, settings)


def verdict(candidate: int, champion: int) -> dict[str, float]:
    return {"gate/wins": 1, "gate/candidate_version": candidate, "gate/champion_version": champion}


def test_candidates_without_a_promotion_are_said_once(webhook: tuple[str, Sent], tmp_path: Path) -> None:
    alerts = tracker(tmp_path / "night", webhook[0])
    for candidate, champion in ((1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 6), (7, 6), (8, 6), (9, 6)):
        alerts.write(0, 0.0, verdict(candidate, champion))
    alerts.ended(None)
    said = {"run": "night", "alert": "no-promotion", "text": "night: no promotion for 3 candidates"}
    assert webhook[1] == [said, said]


def test_actors_that_are_missing_for_long_are_said(webhook: tuple[str, Sent], tmp_path: Path) -> None:
    alerts = tracker(tmp_path / "night", webhook[0])
    for elapsed_s, alive in ((0, 4), (10, 3), (40, 4), (50, 3), (100, 3), (111, 3), (120, 3), (130, 4)):
        alerts.write(0, elapsed_s, {"health/actors/wanted": 4, "health/actors/alive": alive})
    alerts.ended(None)
    assert [each["text"] for each in webhook[1]] == ["night: 1 of 4 actors are missing"]


def test_a_disk_that_fills_up_is_said(
    webhook: tuple[str, Sent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts = tracker(tmp_path, webhook[0])
    for free in (5e9, 0.4e9, 0.3e9):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: Disk(1e12, 0, free))
        alerts.write(0, 0.0, {"run/games": 1})
    alerts.ended(None)
    assert [each["alert"] for each in webhook[1]] == ["disk"]
    assert "0.4 GB are left" in webhook[1][0]["text"]


def test_a_run_that_finishes_or_fails_says_so(webhook: tuple[str, Sent], tmp_path: Path) -> None:
    job = (*TINY[:-1], "cluster=serial", "run.minutes=null", f"run.dir={tmp_path}", "run.summary_games=0")
    alerts = ("tracking=[jsonl,alerts]", f"tracking.alerts.webhook={webhook[0]}", "tracking.alerts.disk_gb=0")
    assert train([*job, *alerts, "run.name=good", "run.games=40"]).finished
    with pytest.raises(TrainingDivergedError):
        train([*job, *alerts, "run.name=bad", "run.games=4000", "learner.learning_rate=1e30"])
    assert [(each["run"], each["alert"]) for each in webhook[1]] == [("good", "finished"), ("bad", "diverged")]
    assert "loss" in webhook[1][1]["text"]


def test_a_webhook_that_is_not_there_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    alerts = tracker(tmp_path, "http://user:secret@127.0.0.1:1/")
    with pytest.raises(TrainingDivergedError), alerted([alerts]):
        raise TrainingDivergedError("the loss is NaN at step 3")
    assert "the alert diverged (the loss is NaN at step 3) was not sent" in caplog.text
    assert "secret" not in caplog.text


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"tracking\.alerts\.webhook must be null or an address"):
        AlertsConfig(webhook="ftp://x", candidates_without_promotion=1, actors_missing_s=1, disk_gb=1)
