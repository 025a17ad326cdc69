"""A run on a real Ray cluster of two nodes: launched as a job, looked at, stopped, with actors of two kinds."""

from __future__ import annotations

import contextlib
import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reversi import __version__
from tests.faults.drill.nodes import ROOT
from tests.runs.training.processes import wait_for
from tests.runs.training.two_nodes import TwoNodes, two_nodes
from tests.scripts.launch.tiny_job import TINY, metrics
from tests.scripts.run.run_states import header

GROUPS = (
    "learner.threads=1",
    "cluster.replay.cpus=0.5",
    "cluster.gate.cpus=0.5",
    "cluster.actors.cpu.count=1",
    "+cluster.actors.cpu.labels.role=actors",
    "cluster.actors.gpu.count=1",
    "cluster.actors.gpu.cpus=1",
    "cluster.actors.gpu.settings={device: auto, games: 8}",
)
"""One actor on the second node by its label, one by its GPU; the rest on the head."""


def status(cluster: TwoNodes, *what: str) -> Any:
    done = cluster.reversi("status", *what, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(run: Path) -> list[dict[str, float]]:
    return metrics(run, "run") if (run / "metrics.jsonl").exists() else []


def saved_actors(run: Path) -> list[str]:
    """Return the actors in the newest checkpoint that have delivered games."""
    newest = max((run / "checkpoints").glob("0*"), default=None)
    with contextlib.suppress(FileNotFoundError):  # a newer one has come meanwhile
        names = sorted(path.stem for path in newest.glob("actor-*")) if newest else []
        return [name for name in names if header(newest, name)["sequence"]]
    return []


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as nodes:
        yield nodes


def test_a_job_runs_on_both_nodes_is_looked_at_and_saved(cluster: TwoNodes, tmp_path: Path) -> None:
    run, both_actors = tmp_path / "both", ["actor-0", "actor-1"]
    job = (*TINY, f"run.dir={tmp_path}", "run.name=both", "run.minutes=30", "run.checkpoint_minutes=0.05", *GROUPS)
    done = cluster.reversi("launch", "--json", *job)
    assert done.returncode == 0, done.stderr
    launched = json.loads(done.stdout)
    assert launched["folder"] == str(run)

    # an actor in its first round compiles its model, and a stop would not wait for it
    wait_for(lambda: saved_actors(run) == both_actors and any(row["run/games"] for row in rows(run)))
    state = status(cluster, "both")
    assert state["job"]["id"] == launched["job"]
    assert state["run"]["state"] == "training"
    assert state["run"]["game"] == "reversi4"
    assert cluster.roles(cluster.worker) & {"RemoteWorker", "RemoteLearner", "RemoteGate", "AsyncReplay"} == {
        "RemoteWorker"
    }
    assert cluster.roles(cluster.head) >= {"RemoteLearner", "RemoteGate", "AsyncReplay"}
    assert "RemoteWorker" not in cluster.roles(cluster.head)

    watched = cluster.reversi("watch", "both", "--address", cluster.dashboard)
    assert watched.returncode == 0, watched.stderr
    page = watched.stdout.strip().removeprefix("both: ")
    assert page == state["run"]["page"]
    with urllib.request.urlopen(f"{page}metrics", timeout=60) as answer_of_page:
        assert b'reversi_state{run="both",state="training"} 1.0' in answer_of_page.read()

    stopped = cluster.reversi("stop", "both", "--json")
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    answer = json.loads(stopped.stdout)
    assert answer["said"].startswith("stopped and saved in ")
    assert answer["resume"] == f"reversi launch --address {cluster.dashboard} resume={run}"
    assert saved_actors(run) == both_actors, (run / "logs" / "run.log").read_text()
    assert status(cluster, "both")["run"]["ended"]["how"] == "stopped"
    assert cluster.reversi("status", "both").stdout.endswith(f"go on with:  {answer['resume']}\n")
    ended = cluster.reversi("watch", "both", "--address", cluster.dashboard)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: run both has no page now (stopped); its report is in ")
    again = json.loads(cluster.reversi("stop", "both", "--json").stdout)
    assert (again["said"], again["saved"]) == ("was not running: stopped; stopped", True)
    listed = status(cluster)
    assert [(job["id"], job["state"]) for job in listed] == [(launched["job"], "stopped")]
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert cluster.token.encode() not in file.read_bytes(), f"the token is in {file}"


def test_a_job_that_is_followed_ends_the_command_as_it_ends(cluster: TwoNodes) -> None:
    absent = cluster.reversi("launch", "resume=/nowhere/night")  # the head is asked for its configuration
    assert (absent.returncode, absent.stdout) == (1, "")
    assert absent.stderr == "error: expected a run's folder, on this machine or on the head, got '/nowhere/night'\n"
    done = cluster.reversi("launch", "--follow", "run.dir=/proc/nowhere", "run.name=night")
    assert done.returncode == 1, done.stderr
    (error,) = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert error.startswith("error: cannot write the run folder /proc/nowhere/night: ")
    assert "Traceback" not in done.stdout
    stopped = cluster.reversi("stop", "night", "--json")  # its folder is looked for on the head
    assert stopped.stdout, stopped.stderr
    answer = json.loads(stopped.stdout)
    assert (stopped.returncode, answer["saved"], answer["resume"]) == (1, False, None)
    assert answer["said"].startswith("failed: nothing in /proc/nowhere/night; ")


def test_code_that_is_sent_is_what_runs_and_edited_it_is_sent_again(cluster: TwoNodes, tmp_path: Path) -> None:
    """A job of a tree that differs from the installed code, with an experiment of one's own, then edited."""
    tree, own = tmp_path / "tree", tmp_path / "conf"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "runs")
    shutil.copytree(ROOT, tree, ignore=ignored)
    (tree / ".gitignore").write_text(".*\n")
    (own / "experiment").mkdir(parents=True)
    (own / "experiment" / "mine.yaml").write_text("# @package _global_\nrun: {minutes: 7}\n")
    for edit in ("first", "second"):
        entry = "import sys\nprint('edited', '{}', sys.argv[1:])\nsys.exit(7)\n"
        (tree / "scripts" / "cli.py").write_text(entry.format(edit))
        done = cluster.reversi(
            *("launch", "--follow", "--config-dir", str(own), "experiment=mine", f"run.dir={tmp_path}"),
            *(f"run.name={edit}", f"cluster.working_dir={tree}"),
        )
        assert done.returncode == 7, done.stderr
        assert f"edited {edit} ['train', '--config-dir=reversi-config', 'experiment=mine', " in done.stdout


def test_a_question_is_answered_on_the_head_and_is_no_job_of_ours(cluster: TwoNodes) -> None:
    """How `status` reads a run's folder that cannot be seen from where it is typed."""
    program = (
        "from scripts.ray.jobs import Jobs; jobs = Jobs(None, None); "
        "print(jobs.run_command(('python', '-m', 'scripts.cli', '--version'), run='none', runtime_env={})); "
        "print([job.id for job in jobs.all() if job.id.startswith('question')])"
    )
    done = cluster.python("-c", program)
    assert done.stdout.splitlines() == [f"reversi {__version__}", "[]"], done.stderr


def test_without_the_token_nothing_is_told(cluster: TwoNodes, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("0" * 64)
    done = cluster.reversi("status", "--token-file", str(wrong))
    assert done.returncode == 3
    assert done.stderr.startswith(f"error: the cluster at {cluster.dashboard} refuses: ")
    assert done.stdout == ""
