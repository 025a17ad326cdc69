"""A registry is one run's: another one is refused before it trains, and cannot publish there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reversi.errors import ConfigError, RunError
from reversi.model.info import Owner
from reversi.model.registry import Registry
from tests.reversi.model.samples import weights

FIRST = weights("reversi4", 0)

A, B = Owner(run="aaaa", name="first"), Owner(run="bbbb", name="second")


def test_the_registry_of_a_run_with_models_is_refused_to_another(tmp_path: Path) -> None:
    first, second = (Registry(tmp_path, create=True, owner=owner) for owner in (A, B))
    first.claim(may_have_models=False)
    first.publish(FIRST, "first", None)
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"is the registry of the run 'first'; set it to another place"):
            second.claim(may_have_models=True)
    first.claim(may_have_models=True)


def test_of_two_that_begin_at_one_time_one_cannot_publish(tmp_path: Path) -> None:
    first, second = (Registry(tmp_path, create=True, owner=owner) for owner in (A, B))
    first.claim(may_have_models=False)
    second.claim(may_have_models=False)
    with pytest.raises(RunError, match="is now the registry of 'second'; set"):
        first.publish(FIRST, "first", None)
    second.publish(FIRST, "first", None)
    assert Registry(tmp_path).latest().version == 0


def test_models_without_an_owner_are_a_resumed_runs_alone(tmp_path: Path) -> None:
    Registry(tmp_path, create=True).publish(FIRST, "first", None)
    run = Registry(tmp_path, owner=A)
    with pytest.raises(ConfigError, match="is a registry with models"):
        run.claim(may_have_models=False)
    run.claim(may_have_models=True)
    assert json.loads((tmp_path / "owner.json").read_text()) == {"run": "aaaa", "name": "first"}


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"run": "aaaa"}', "[" * 9999])
def test_an_owner_that_cannot_be_read_is_none(text: str, tmp_path: Path) -> None:
    registry = Registry(tmp_path, create=True, owner=A)
    (tmp_path / "owner.json").write_text(text)
    registry.publish(FIRST, "first", None)
    with pytest.raises(ConfigError, match="is a registry with models"):
        registry.claim(may_have_models=False)
    registry.claim(may_have_models=True)


def test_a_renamed_run_keeps_its_registry(tmp_path: Path) -> None:
    Registry(tmp_path, create=True, owner=A).claim(may_have_models=False)
    renamed = Registry(tmp_path, owner=Owner(run=A.run, name="other"))
    renamed.publish(FIRST, "first", None)
    renamed.claim(may_have_models=True)
    assert json.loads((tmp_path / "owner.json").read_text()) == {"run": "aaaa", "name": "first"}
