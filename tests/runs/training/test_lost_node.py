"""A node that is lost while a run starts, on a real Ray cluster: the run trains on what is left, saves and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from tests.faults.drill.nodes import ROOT, ray_nodes
from tests.runs.training.processes import wait_for
from tests.scripts.launch.tiny_job import TINY, metrics


def test_a_node_lost_while_a_run_starts_costs_its_actor_alone(tmp_path: Path) -> None:
    run = tmp_path / "lost"
    with ray_nodes("--num-cpus=4", "--num-gpus=0", "--include-dashboard=false") as nodes:
        worker = nodes.join("--num-cpus=1", "--num-gpus=0")
        job = (*TINY, *nodes.overrides, "learner.threads=1", "cluster.actors.cpu.count=2", "run.minutes=0.15")
        folder = (f"run.dir={tmp_path}", "run.name=lost", "run.summary_games=0", "run.checkpoint_minutes=0.05")
        command = [sys.executable, "-m", "scripts.cli", "train", *job, *folder]
        with subprocess.Popen(
            command, env=nodes.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                wait_for(lambda: "RemoteWorker" in worker.roles() or process.poll() is not None)
                worker.end()
                out, err = process.communicate(timeout=120)
            finally:
                if process.poll() is None:
                    psutil.Process(process.pid).kill()
        assert process.returncode == 0, out + err
    assert "champion: version" in out
    assert list((run / "checkpoints").glob("0*"))
    actors = metrics(run, "health/actors")[-1]
    assert (actors["health/actors/alive"], actors["health/actors/wanted"]) == (1, 2)
