"""Runs on two nodes of a real Ray cluster: a node is lost while a run starts, and a learner is killed on the other."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from scripts.run.processes import children
from tests.faults.drill.nodes import ROOT, Node, Nodes, ray_nodes
from tests.runs.training.processes import wait_for
from tests.scripts.launch.tiny_job import TINY, metrics
from tests.scripts.run.run_states import header


@contextmanager
def training(nodes: Nodes, *overrides: str) -> Iterator[subprocess.Popen[str]]:
    """Train on a cluster; kill the driver if it is still there afterwards."""
    command = [sys.executable, "-m", "scripts.cli", "train", *overrides]
    with subprocess.Popen(
        command, env=nodes.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                psutil.Process(process.pid).kill()


def learners_on(node: Node) -> list[psutil.Process]:
    """Return the learner's processes on a node."""
    return [child for child, title in children(node.process.pid) if title.startswith("ray::RemoteLearner")]


def steps(run: Path) -> list[float]:
    """Return the learner's steps in the metrics so far."""
    rows = metrics(run, "learner") if (run / "metrics.jsonl").exists() else []
    return [row["learner/step"] for row in rows]


def saved_step(run: Path) -> int:
    """Return the learner's step in the newest checkpoint."""
    return int(header(max((run / "checkpoints").glob("0*")), "learner")["step"])


def test_a_node_lost_while_a_run_starts_costs_its_actor_alone(tmp_path: Path) -> None:
    run = tmp_path / "lost"
    with ray_nodes("--num-cpus=4", "--num-gpus=0", "--include-dashboard=false") as nodes:
        worker = nodes.join("--num-cpus=1", "--num-gpus=0")
        job = (*TINY, *nodes.overrides, "learner.threads=1", "cluster.actors.cpu.count=2", "run.minutes=0.15")
        folder = (f"run.dir={tmp_path}", "run.name=lost", "run.summary_games=0", "run.checkpoint_minutes=0.05")
        with training(nodes, *job, *folder) as process:
            wait_for(lambda: "RemoteWorker" in worker.roles() or process.poll() is not None)
            worker.end()
            out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    assert "champion: version" in out or "no champion yet" in out
    assert list((run / "checkpoints").glob("0*"))
    actors = metrics(run, "health/actors")[-1]
    assert (actors["health/actors/alive"], actors["health/actors/wanted"]) == (1, 2)


def test_a_learner_on_another_node_than_the_runs_folder_restores_itself(tmp_path: Path) -> None:
    """After kill -9 and after a resume: it reads its state in the checkpoint on the driver's node."""
    run = tmp_path / "away"
    with ray_nodes("--num-cpus=4", "--num-gpus=0", "--include-dashboard=false") as nodes:
        worker = nodes.join("--num-cpus=1", "--num-gpus=0", '--resources={"away": 1}')
        placed = ("learner.threads=1", "+cluster.learner.resources.away=1", "cluster.actors.cpu.count=1")
        folder = (f"run.dir={tmp_path}", "run.name=away", "run.summary_games=0", "run.checkpoint_minutes=0.05")
        with training(nodes, *TINY, *nodes.overrides, *placed, *folder, "run.minutes=9") as process:
            wait_for(lambda: len(list((run / "checkpoints").glob("0*"))) == 2 and saved_step(run) > 0, 180)
            saved, known = saved_step(run), len(steps(run))
            (learner,) = learners_on(worker)
            learner.kill()
            wait_for(lambda: "learner works again" in (run / "logs" / "run.log").read_text())
            wait_for(lambda: len(steps(run)) > known + 1)
            assert min(steps(run)[known:]) >= saved, "it goes on from the checkpoint"
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
        assert process.returncode == 130, out + err
        saved, known = saved_step(run), len(steps(run))
        with training(nodes, f"resume={run}") as process:
            wait_for(lambda: len(learners_on(worker)) == 1 and len(steps(run)) > known, 180)
            assert steps(run)[known] >= saved, "and after a resume"
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
        assert process.returncode == 130, out + err
