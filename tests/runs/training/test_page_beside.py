"""A run with `tracking.port` serves its page while it trains, and no longer."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from scripts.config.cluster import ADDRESS_VARIABLE
from scripts.run.processes import children
from scripts.run.status import read_status
from scripts.run.watch.beside import ADDRESS
from tests.runs.training.processes import command, wait_for

JOB = ("cluster=serial", "run.name=seen", "run.minutes=30", "tracking=jsonl", "tracking.port=0")


def begun(folder: Path) -> tuple[subprocess.Popen[bytes], str, list[psutil.Process]]:
    """Start a run; return it, the address of its page once that answers, and the page's process."""
    driver = subprocess.Popen(command(folder, *JOB), stdout=subprocess.DEVNULL)
    wait_for(lambda: (folder / "seen" / ADDRESS).exists() and _runs(folder) == ["seen"])
    page = read_status(folder / "seen").page
    assert page is not None
    return driver, page, [process for process, title in children(driver.pid) if " watch " in title]


def _runs(folder: Path) -> list[str] | None:
    try:
        with urllib.request.urlopen((folder / "seen" / ADDRESS).read_text().strip() + "api/runs", timeout=60) as answer:
            runs: list[str] = json.load(answer)
            return runs
    except (urllib.error.URLError, ConnectionError):
        return None


def test_the_page_goes_with_its_run_even_if_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "http://127.0.0.1:1")  # as on a cluster's nodes: the page is of this machine
    driver, page, (server,) = begun(tmp_path)
    assert page.startswith("http://127.0.0.1:")
    assert (tmp_path / "seen" / ADDRESS).stat().st_mode & 0o777 == 0o600
    driver.kill()
    driver.wait()
    server.wait(60)
    assert read_status(tmp_path / "seen").page is None, "the file is still there, but no run trains"


def test_a_run_that_is_stopped_ends_its_page(tmp_path: Path) -> None:
    driver, _, (server,) = begun(tmp_path)
    driver.terminate()
    driver.wait()
    assert not server.is_running()
    assert not (tmp_path / "seen" / ADDRESS).exists()
