"""A run on Ray and Redis for forty seconds: its processes, where they listen, what its metrics say of memory, whether
that is flat.

Hours are for `tests/faults/soak` and docs/reliability.md; what grows by 5 % within half a minute is found here.
"""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from scripts.run.processes import children
from tests.faults.soak.verdict import GAIN, judge, measured
from tests.runs.training.processes import command, wait_for
from tests.scripts.launch.tiny_job import metrics

ON_REDIS = ("cluster=local", "replay=redis", "tracking=jsonl", "run.name=soak", "run.summary_games=0")
STEADY = ("replay.capacity_positions=20000", "replay.window_start=1000")
"""A ring that is full within seconds."""
IDLE = "ray::IDLE"
"""What is in the command lines of workers that Ray starts in advance, of which no run uses any."""


def listening(driver: int) -> Iterator[tuple[str, str]]:
    """Yield (process, address) of every socket on which a process of the run listens or takes datagrams."""
    for each in (psutil.Process(driver), *(child for child, _ in children(driver))):
        try:
            held = each.net_connections("inet")
        except psutil.Error:  # it has ended meanwhile
            continue
        yield from ((each.name(), each_held.laddr.ip) for each_held in held if not each_held.raddr)


def is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def test_a_run_on_one_machine_listens_on_loopback_alone_and_its_memory_is_flat(tmp_path: Path) -> None:
    run = tmp_path / "soak"
    start = command(tmp_path, *ON_REDIS, *STEADY, "run.minutes=0.7")
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: (run / "metrics.jsonl").exists() and metrics(run, "health/actors"))
        sockets = list(listening(process.pid))
        idle = [title for _, title in children(process.pid) if IDLE in title]
        _, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    assert idle == []
    assert {"raylet", "gcs_server"} <= {name for name, _ in sockets}
    assert [(name, address) for name, address in sockets if not is_loopback(address)] == []

    found = {series.part: judge(series) for series in measured(run)}
    assert set(found) == {
        "whole run", "learner", "gate", "replay", "weights", "actors", "driver", "object store", "redis"
    }  # fmt: skip
    assert {finding.verdict for finding in found.values()} == {"too short"}
    for finding in found.values():
        assert finding.low_mb_per_h is not None
        gained_mb = (finding.low_mb_per_h - finding.filling_mb_per_h) * finding.minutes / 60
        assert gained_mb <= GAIN * finding.first_mb, finding
    assert found["object store"].most_mb < 50
    assert 1 < found["redis"].most_mb < 30
    assert all(found[role].most_mb > 100 for role in ("learner", "gate", "replay", "weights", "actors", "driver"))
