"""The wires of a deployed cluster, run by a shell."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
from pathlib import Path

import psutil
import yaml

from tests.runs.training.processes import wait_for

DEPLOY = Path(__file__).parents[3] / "deploy"


def keepers(head: str) -> list[psutil.Process]:
    """Return what watches over a worker of the cluster with this head."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if f"--address={head}:6379" in words and any(word.endswith("keep-worker.sh") for word in words):
                found.append(process)
    return found


def test_ray_is_started_again_on_a_worker_and_a_second_up_takes_the_place_of_the_first(tmp_path: Path) -> None:
    head, told = f"10.255.{os.getpid() % 251}.{secrets.randbelow(255)}", tmp_path / "told"
    ray = tmp_path / ".venv" / "bin" / "ray"
    ray.parent.mkdir(parents=True)
    ray.write_text(f'#!/bin/sh\necho "$@" >> {told}\n')  # ends at once, as a Ray does whose node was given up
    ray.chmod(0o755)
    (tmp_path / ".ray").mkdir()
    (tmp_path / "deploy").symlink_to(DEPLOY)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "RAY_HEAD_IP": head}
    commands = yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text())["worker_start_ray_commands"]
    assert any("keep-worke[r].sh" in line for line in commands)

    def up() -> None:
        for line in commands:
            here = line.replace("/opt/reversi", str(tmp_path)).replace("ulimit -n 65536", "ulimit -n")
            mine = here.replace("keep-worke[r].sh", f"addres[s]={head}")  # those of a cluster on this machine live on
            subprocess.run(["bash", "-c", mine], env=environment, check=True, timeout=30)

    def starts() -> int:
        return told.read_text().count(f"start --address={head}:6379 --object-store-memory=")

    try:
        up()
        wait_for(lambda: told.exists() and starts() == 2)
        (first,) = keepers(head)
        up()
        wait_for(lambda: starts() >= 3)
        (second,) = keepers(head)
        assert second != first
        assert told.read_text().splitlines()[0] == "stop"
    finally:
        for process in keepers(head):
            process.kill()
