"""A job on a cluster as its users live it, on three machines: docs/cluster.md begins with these commands."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from reversi.errors import ConfigError
from reversi.model.registry import Registry
from scripts.run.folder import lock_holder
from tests.documents import blocks
from tests.faults.drill.namespaces import network
from tests.faults.drill.nodes import ROOT, Nodes, ray_nodes
from tests.runs.training.processes import wait_for
from tests.scripts.launch.tiny_job import TINY, elapsed_s, metrics

MINE = blocks(ROOT / "docs" / "cluster.md", "yaml")[0]
"""An experiment of one's own."""


class Terminal:
    """A shell on the head, where the dashboard listens."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def python(self, *arguments: str) -> str:
        """Return what a program prints, which must succeed."""
        assert self._nodes.head.machine is not None
        command = self._nodes.head.machine.command([sys.executable, *arguments])
        environment = self._nodes.environment
        done = subprocess.run(
            command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def reversi(self, *arguments: str) -> str:
        """Return what a command prints."""
        return self.python("-m", "scripts.cli", *arguments)

    def answer(self, *arguments: str) -> Any:
        """Return what a command says to programs."""
        return json.loads(self.reversi(*arguments, "--json"))


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """A head with room for all roles but the actors, a node for two of these and one for one."""
    with ExitStack() as ends:
        try:
            joined = ends.enter_context(network())
        except ConfigError as error:
            pytest.skip(str(error))
        nodes = ends.enter_context(ray_nodes("--num-cpus=3", "--num-gpus=0", network=joined))
        for cpus in (2, 1):
            nodes.join(f"--num-cpus={cpus}", "--num-gpus=0")
        yield nodes


def last(run: Path, prefix: str) -> dict[str, float]:
    """Return the newest row with a metric of that prefix."""
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # not there yet, or half a row
        return (metrics(run, prefix) or [{}])[-1]
    return {}


def actors(run: Path, alive: int, wanted: int) -> bool:
    health = last(run, "health/actors")
    return (health.get("health/actors/alive"), health.get("health/actors/wanted")) == (alive, wanted)


def test_a_job_on_three_machines_from_its_launch_to_its_resume_with_other_code(nodes: Nodes, tmp_path: Path) -> None:
    terminal, run, own = Terminal(nodes), tmp_path / "runs" / "night", tmp_path / "my_conf"
    (own / "experiment").mkdir(parents=True)
    (own / "experiment" / "mine.yaml").write_text(MINE)
    launch = ("launch", "--config-dir", str(own), "experiment=mine", f"run.dir={run.parent}", "run.name=night")
    launch = (*launch, "resume=auto", *TINY, "run.checkpoint_minutes=0.1")

    terminal.reversi(*launch)
    wait_for(lambda: last(run, "run").get("run/games"))
    state = terminal.answer("status", "night")
    assert (state["run"]["state"], state["run"]["game"]) == ("training", "reversi4")
    page = terminal.reversi("watch", "night").removeprefix("night: ").strip()
    read = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
    assert "<title>" in terminal.python("-c", read, page)

    with subprocess.Popen(  # a program outside of the cluster, which reaches the registry
        [sys.executable, "-m", "scripts.cli", "pull", str(run), "-o", str(tmp_path / "champion"), "--follow", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as outside:
        assert outside.stdout is not None
        pulled = json.loads(outside.stdout.readline())
        promoted = run / "registry" / "models" / f"{pulled['version']:06d}" / "card.md"
        assert promoted.exists()
        age_s = (tmp_path / "champion" / "model.json").stat().st_mtime - promoted.stat().st_mtime
        assert age_s < 60, "some seconds, on a machine with nothing else to do"

        terminal.reversi("scale", "night", "3")
        wait_for(lambda: actors(run, 3, 3))
        nodes.joined[1].end()
        wait_for(lambda: actors(run, 2, 3))
        games = last(run, "run")["run/games"]
        wait_for(lambda: last(run, "run")["run/games"] > games)

        driver = lock_holder(run)
        assert driver is not None
        assert driver.pid is not None
        os.kill(driver.pid, signal.SIGUSR1)
        wait_for(lambda: (run / "ended.json").exists() and lock_holder(run) is None)
        assert json.loads((run / "ended.json").read_text())["how"] == "stopped"
        saved_s, games = elapsed_s(run), last(run, "run")["run/games"]
        terminal.reversi(*launch)
        wait_for(lambda: last(run, "run")["run/games"] > games and elapsed_s(run) > saved_s)
        wait_for(lambda: actors(run, 2, 3))

        stopped = terminal.answer("stop", "night")
        assert stopped["said"].startswith("stopped and saved in ")
        newest = Registry(str(run / "registry")).gated()
        lines = [pulled]
        while lines[-1]["version"] < newest.version:
            lines.append(json.loads(outside.stdout.readline()))
        outside.send_signal(signal.SIGINT)

    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "runs"))
    with open(tree / "scripts" / "run" / "summary.py", "a") as file:
        file.write('\nprint("the changed code")\n')
    minutes = f"run.minutes={elapsed_s(run) / 60 + 0.1}"
    told = terminal.reversi("launch", "--follow", f"resume={run}", f"cluster.working_dir={tree}", minutes)
    assert "the changed code" in told
    assert "of the code and the driver" not in (run / "logs" / "run.log").read_text(), "every role runs it"
    assert json.loads((run / "ended.json").read_text())["how"] == "finished"
