"""`reversi launch`: what is checked, and what is submitted, for a new run and for one that goes on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reversi.errors import ConfigError, ReversiError, RunError, UsageError
from scripts.commands import launch
from scripts.commands.launch import order_of
from scripts.config.compose import compose, to_yaml
from scripts.launch.code_package import CONFIG
from scripts.ray import jobs
from tests.scripts.conftest import Reversi

CODE = Path(__file__).parents[3]

SAVED = ("cluster=ray", "run.dir=/shared", "run.name=night", "+cluster.env_vars.A=b")


class Head:
    """A cluster's head that takes jobs, and looks at what is sent while it is there."""

    address = "http://head:8265"

    def __init__(self, others: list[str]) -> None:
        self.sent: dict[str, Any] = {}
        self.package: set[str] = set()
        self._others = others

    def all(self) -> list[Any]:
        return [SimpleNamespace(folder=folder) for folder in self._others]

    def submit(self, entrypoint: tuple[str, ...], **more: Any) -> Any:
        self.sent = {"command": entrypoint, **more}
        folder = more["runtime_env"].get("working_dir")
        self.package = {str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file()} if folder else set()
        return SimpleNamespace(id="job", run=more["run"], folder=more["folder"])


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Head:
    made = Head([])
    monkeypatch.setattr(jobs, "Jobs", lambda address, token_file: made)
    return made


@pytest.fixture
def run_here(tmp_path: Path) -> Path:
    """Return the folder of a run on a disk that this machine sees too."""
    folder = tmp_path / "night"
    folder.mkdir()
    (folder / "config.yaml").write_text(to_yaml(compose([*SAVED])))
    return folder


def test_a_job_carries_the_name_that_was_chosen_here(head: Head, reversi: Reversi) -> None:
    assert reversi("launch", "run.dir=/shared", "run.minutes=3", "+cluster.env_vars.A=b").code == 0
    assert head.sent["folder"] == f"/shared/{head.sent['run']}"
    assert head.sent["command"][-3:] == ("cluster=ray", "tracking.port=8766", f"run.name={head.sent['run']}")
    assert head.sent["runtime_env"] == {"env_vars": {"A": "b", "RAY_JOB_STOP_WAIT_TIME_S": "120"}}


def test_a_run_that_goes_on_is_sent_like_a_new_one(
    head: Head, run_here: Path, reversi: Reversi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CODE)
    changes = ("run.minutes=9", "cluster.working_dir=./.", "++cluster.env_vars.A=c", "+cluster.actors.cpu.labels.x=y")
    assert reversi("launch", f"resume={run_here}", *changes).code == 0
    assert head.sent["command"][3:] == ("train", f"resume={run_here}", *changes)
    assert (head.sent["run"], head.sent["folder"]) == ("night", str(run_here))
    assert head.sent["runtime_env"]["env_vars"]["A"] == "c"
    assert {"scripts/cli.py", "conf/train.yaml", "pyproject.toml", "reversi/games/rules.py"} <= head.package
    assert not [name for name in head.package if name.startswith((".", "tests/", "docs/")) or "__pycache__" in name]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["no.such.key=1"], "unknown key 'no.such.key'"),
        (["run.minutes=abc"], "run.minutes must be a number, got 'abc'"),
        (["gate.games=7"], "gate.games must be even"),
        (["network.channels=64"], "a run that goes on keeps its network.channels="),
        (["cluster.env_vars.WANDB_API_KEY=x"], "cluster.env_vars.WANDB_API_KEY must be nothing secret"),
        (["registry.url=models"], "registry.url must be an absolute path"),
        (["cluster.working_dir={conf}"], "cluster.working_dir must be a folder with this code, got "),
        (["cluster.working_dir=/nowhere"], "scripts/cli.py is not in it"),
        ([f"cluster.working_dir={CODE}", "cluster.excludes=[scripts]"], "scripts/cli.py is not sent (cluster.excludes"),
    ],
)
@pytest.mark.parametrize("new", [True, False], ids=["new", "resumed"])
def test_a_run_that_goes_on_is_checked_like_a_new_one(
    new: bool, overrides: list[str], words: str, head: Head, run_here: Path, reversi: Reversi
) -> None:
    if new and "goes on" in words:
        return
    given = [item.format(conf=run_here) for item in overrides]
    if new and "env_vars" in given[0]:
        given = [f"+{given[0]}"]
    answer = reversi("launch", *(SAVED[1:3] if new else [f"resume={run_here}"]), *given)
    assert (answer.code, answer.out, head.sent) == (2, "", {}), answer
    assert words in answer.err


def test_the_configuration_of_a_run_on_the_head_is_read_there() -> None:
    asked = []

    def on_head(folder: str) -> str:
        asked.append(folder)
        return to_yaml(compose([*SAVED]))

    order = order_of(["resume=/shared/night", "run.minutes=9"], None, on_head)
    assert (asked, order.run, order.folder) == (["/shared/night"], "night", "/shared/night")
    assert order.overrides == ("resume=/shared/night", "run.minutes=9")
    assert order.cluster.env_vars == {"A": "b"}
    with pytest.raises(ConfigError, match=r"gate\.games must be even"):
        order_of(["resume=/shared/night", "gate.games=7"], None, on_head)


@pytest.mark.parametrize(("answer", "error"), [('"run: {}"', None), ("null", RunError)])
def test_the_head_is_asked_for_a_configuration(answer: str, error: type[ReversiError] | None) -> None:
    asked: list[Any] = []

    def run_command(command: Any, **more: Any) -> str:
        asked.append((command, more))
        return answer

    head: Any = SimpleNamespace(run_command=run_command)
    if error is None:
        assert jobs.saved_config(head, "/shared/night") == "run: {}"
        assert asked[0][0][-1] == "/shared/night/config.yaml"
    else:
        with pytest.raises(error, match="expected a run's folder, on this machine or on the head, got '/shared/night'"):
            jobs.saved_config(head, "/shared/night")


def test_experiments_of_ones_own_are_sent_along(head: Head, tmp_path: Path, reversi: Reversi) -> None:
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    (tmp_path / "own" / "experiment" / "mine.yaml").write_text("# @package _global_\nrun: {minutes: 3}\n")
    job = ("launch", "experiment=mine", "run.dir=/shared", "run.name=2026")
    assert reversi(*job).code == 2
    assert reversi(*job, "--config-dir", tmp_path / "nowhere").code == 2
    assert reversi(*job, f"hydra.searchpath=[{tmp_path}/own]").code == 2
    assert head.sent == {}
    assert reversi(*job, "--config-dir", tmp_path / "own").code == 0
    command = head.sent["command"]
    assert command[3:] == (
        *("train", f"--config-dir={CONFIG}", "experiment=mine", "run.dir=/shared", "cluster=ray"),
        *("tracking.port=8766", "run.name=2026"),
    )
    assert head.package == {f"{CONFIG}/experiment/mine.yaml"}
    assert head.sent["run"] == "2026"


def test_two_launches_in_one_second_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    order = order_of(["run.dir=/shared"])
    head: Any = Head([order.folder, f"{order.folder}-2"])
    launch._submit(head, order)
    assert head.sent["folder"] == f"{order.folder}-3"
    assert head.sent["command"][-1] == f"run.name={order.run}-3"
    launch._submit(head, order_of(["run.dir=/shared", f"run.name={order.run}"]))
    assert head.sent["folder"] == order.folder, "a name that was given is kept"


def test_passwords_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"registry\.url: a password on a job's command line"):
        order_of(["registry.url=s3://me:secret@host/x"])
