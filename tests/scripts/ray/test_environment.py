"""The environment that Ray reads its token from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reversi.errors import ConfigError
from scripts.ray.environment import use_token

NAMES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that the test's end restores what `use_token` sets and removes
        monkeypatch.delenv(name)
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_a_token_file_that_is_given_comes_before_the_environments_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, RAY_AUTH_TOKEN="another", RAY_AUTH_MODE="disabled")
    file = tmp_path / "token"
    file.write_text("mine")
    use_token(str(file))
    assert {name: os.environ.get(name) for name in NAMES} == {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": None,  # Ray takes it before the file
        "RAY_AUTH_TOKEN_PATH": str(file),
    }


@pytest.mark.parametrize(
    ("values", "mode"),
    [
        ({}, "disabled"),
        ({"RAY_AUTH_TOKEN": "mine"}, "token"),
        ({"RAY_AUTH_TOKEN_PATH": "/keys/token"}, "token"),
        ({"RAY_AUTH_TOKEN": "mine", "RAY_AUTH_MODE": "disabled"}, "disabled"),
    ],
)
def test_without_a_file_the_environment_decides(
    values: dict[str, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, **values)
    use_token(None)
    assert os.environ["RAY_AUTH_MODE"] == mode
    assert os.environ.get("RAY_AUTH_TOKEN") == values.get("RAY_AUTH_TOKEN")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected the cluster's token in a file, there is none at"):
        use_token(str(tmp_path / "token"))


def test_under_uv_run_workers_have_the_environment_that_there_is() -> None:
    """Ray would let every worker make one with `uv run`, without the working folder's changes and in minutes."""
    from ray._private import ray_constants  # imported after `prepare`, as in a run

    assert not ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV
