"""wandb mirrors a run: when it is online, which run is which, its champions and matches; no error of it ends a run."""

from __future__ import annotations

import logging
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reversi.errors import ConfigError
from scripts.config.compose import compose, recompose, to_yaml
from scripts.config.job import job_of
from scripts.config.tracking import WandbConfig
from scripts.run.tracking import open_trackers
from scripts.run.tracking.wandb import GATE, WandbTracker, mode_of

SETTINGS = WandbConfig(project=None)

PROMOTED = {
    "gate/candidate_version": 7.0,
    "gate/champion_version": 7.0,
    "gate/opponent_version": 3.0,
    "gate/wins": 230.0,
    "gate/draws": 10.0,
    "gate/losses": 100.0,
    "gate/elo": 140.0,
    "gate/elo_low": 100.0,
    "gate/champion_elo": 640.0,
    "gate/promotions": 3.0,
}


class Run:
    """What wandb returns, with all that it is told."""

    id = "wandb-id"

    def __init__(self, fails: bool = False) -> None:
        self.rows: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}
        self.artifacts: list[tuple[Any, list[str]]] = []
        self.metrics: list[tuple[str, str]] = []
        self.finished = 0
        self._fails = fails

    def define_metric(self, name: str, step_metric: str) -> None:
        self.metrics.append((name, step_metric))

    def log(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        if self._fails:
            raise RuntimeError("the server is gone")

    def log_artifact(self, artifact: Any, aliases: list[str]) -> None:
        self.artifacts.append((artifact, aliases))

    def finish(self) -> None:
        self.finished += 1


class Artifact:
    def __init__(self, name: str, type: str, metadata: dict[str, Any]) -> None:
        self.name, self.type, self.metadata = name, type, metadata
        self.places: list[str] = []

    def add_dir(self, place: str) -> None:
        self.places.append(place)

    def add_reference(self, place: str, checksum: bool) -> None:
        self.places.append(place)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Put a wandb in place that notes what runs it is asked for; nobody is logged in."""
    asked: list[dict[str, Any]] = []

    def init(**named: Any) -> Run:
        run = Run()
        asked.append(named | {"run": run})
        return run

    use(monkeypatch, init)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    return asked


def use(monkeypatch: pytest.MonkeyPatch, init: Any) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_SILENT", "WANDB_PROJECT", "WANDB_BASE_URL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    table = lambda columns, data: {"columns": columns, "data": data}  # noqa: E731
    module = types.SimpleNamespace(init=init, Settings=dict, Artifact=Artifact, Table=table)
    monkeypatch.setitem(sys.modules, "wandb", module)


def test_without_a_login_it_is_offline_and_with_one_online(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    assert mode_of(SETTINGS) == "offline"
    (tmp_path / "netrc").write_text("machine api.wandb.ai login user password secret\n")
    assert mode_of(SETTINGS) == "online"
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example:8080")
    assert mode_of(SETTINGS) == "offline"
    (tmp_path / "netrc").write_text("machine\n")
    assert mode_of(SETTINGS) == "offline", "a netrc that cannot be read is none"
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    assert mode_of(SETTINGS) == "online"
    monkeypatch.setenv("WANDB_MODE", "dryrun")
    assert mode_of(SETTINGS) == "offline"
    assert mode_of(WandbConfig(project=None, mode="online")) == "online", "the configuration comes first"


def test_two_runs_of_one_name_are_two_and_offline_sessions_replace_none(
    tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    """Without an id wandb makes up a new one: the upload of a session then cannot replace that of another."""
    for mode in ("online", "offline"):
        settings = WandbConfig(project=None, mode=mode)
        WandbTracker(tmp_path / "night", {}, settings, "aaaa")
    online, offline = ({key: each[key] for key in ("id", "resume", "group", "name", "mode")} for each in asked)
    assert online == {"id": "aaaa", "resume": "allow", "group": None, "name": "night", "mode": "online"}
    assert offline == {"id": None, "resume": None, "group": "night", "name": "night", "mode": "offline"}
    assert asked[0]["run"].metrics == [("*", "step")]


def test_a_webhook_is_not_uploaded(tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    values = compose(["tracking=[jsonl,wandb,alerts]", "tracking.alerts.webhook=https://hooks.example/hunter22"])
    trackers = open_trackers(job_of(values).tracking, tmp_path / "night", values, "aaaa")
    assert asked[0]["config"]["tracking"]["alerts"]["webhook"] == "https://***"
    assert "hunter22" not in str(asked)
    for tracker in trackers:
        tracker.close()


def test_a_run_that_goes_on_keeps_changes_or_drops_its_wandb_run(tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    (tmp_path / "config.yaml").write_text(to_yaml(compose(["tracking.wandb.mode=online"])))
    for change in ([], ["tracking.wandb.id=other"], ["tracking.wandb=null"]):
        tracking = job_of(recompose(tmp_path / "config.yaml", change)).tracking
        open_trackers(replace(tracking, jsonl=None, tensorboard=None), tmp_path, {}, "aaaa")
    assert [each["id"] for each in asked] == ["aaaa", "other"]


def test_the_settings_and_the_project_of_the_environment_are_heard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    WandbTracker(tmp_path, {}, SETTINGS, "aaaa")
    monkeypatch.setenv("WANDB_PROJECT", "of-the-shell")
    WandbTracker(tmp_path, {}, SETTINGS, "aaaa")
    settings = WandbConfig(project="p", entity="team", group="g", tags=("a", "b"))
    WandbTracker(tmp_path, {}, settings, "aaaa")
    assert [each["project"] for each in asked] == ["reversi-zero", "of-the-shell", "p"]
    assert (asked[2]["entity"], asked[2]["group"], asked[2]["tags"]) == ("team", "g", ["a", "b"])


def test_a_server_that_is_not_there_is_one_line_and_the_session_is_kept_in_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modes: list[str] = []

    def init(**named: Any) -> Run:
        modes.append(named["mode"])
        if named["mode"] == "online":
            raise RuntimeError("timed out\nafter 20 s")
        return Run()

    use(monkeypatch, init)
    tracker = WandbTracker(tmp_path, {}, WandbConfig(project=None, mode="online"), "aaaa")
    tracker.write(1, 0.1, {"a": 1.0})
    tracker.close()
    assert modes == ["online", "offline"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("wandb: the server cannot be used (timed out after 20 s)")


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_wandb_that_cannot_begin_is_off(
    mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def init(**_: Any) -> None:
        raise RuntimeError("no room")

    use(monkeypatch, init)
    with caplog.at_level(logging.WARNING):
        tracker = WandbTracker(tmp_path, {}, WandbConfig(project=None, mode=mode), "aaaa")  # type: ignore[arg-type]
        tracker.write(1, 0.1, {"a": 1.0})
        tracker.close()
    assert caplog.messages == ["wandb is off for the rest of this run: no room"]


def test_wandb_that_fails_later_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(fails=True)
    use(monkeypatch, lambda **_: run)
    with caplog.at_level(logging.WARNING):
        tracker = WandbTracker(tmp_path, {}, SETTINGS, "aaaa")
        for step in range(3):
            tracker.write(step, 0.1, {"a": 1.0})
        tracker.close()
    assert (len(run.rows), run.finished, len(caplog.records)) == (1, 0, 1)


def test_a_promoted_model_is_an_artifact_and_every_match_a_row_of_the_table(
    tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    tracker = WandbTracker(tmp_path, {}, SETTINGS, "aaaa")
    tracker.write(0, 0.0, {**dict.fromkeys(PROMOTED, 0.0), "gate/candidate_version": -1.0})
    tracker.write(50, 60.0, PROMOTED)
    tracker.write(90, 120.0, {**PROMOTED, "gate/candidate_version": 9.0, "gate/opponent_version": 7.0})
    tracker.close()
    run = asked[0]["run"]
    ((artifact, aliases),) = run.artifacts
    assert (artifact.name, artifact.type, aliases) == ("wandb-id-model", "model", ["champion", "v7"])
    assert artifact.places == [f"{tmp_path}/registry/models/000007"]
    assert run.summary == {"champion": 7, "champion_elo": 640.0, "champion_minutes": 1.0, "promotions": 3}
    assert run.rows[-1]["gate"] == {
        "columns": list(GATE),
        "data": [
            [7, 3, 230.0, 10.0, 100.0, 140.0, 100.0, None, True, 1.0],
            [9, 7, 230.0, 10.0, 100.0, 140.0, 100.0, None, False, 2.0],
        ],
    }
    assert run.finished == 1


def test_a_registry_elsewhere_is_referred_to(tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    tracker = WandbTracker(tmp_path, {"registry": {"url": "s3://bucket/night"}}, SETTINGS, "aaaa")
    tracker.write(50, 60.0, PROMOTED)
    ((artifact, _),) = asked[0]["run"].artifacts
    assert artifact.places == ["s3://bucket/night/models/000007"]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("tracking.wandb.mode=never", r"tracking\.wandb\.mode must be one of auto, online, offline, disabled"),
        ("tracking.wandb.tags=one", r"tracking\.wandb\.tags must be a list"),
        ("tracking.wandb.id=a/b", r"tracking\.wandb\.id must be null or at most 128 characters without"),
        ("+tracking.wandb.color=red", r"unknown key 'tracking\.wandb\.color'; valid here: project, entity"),
        ("+tracking.jsonl.color=red", r"unknown key 'tracking\.jsonl\.color'"),
    ],
)
def test_wrong_settings_are_one_line(override: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        job_of(compose([override]))


def test_settings_of_an_older_run_are_read() -> None:
    values = compose([])
    values["tracking"]["wandb"] = {"project": "p"}
    assert job_of(values).tracking.wandb == WandbConfig(project="p")
