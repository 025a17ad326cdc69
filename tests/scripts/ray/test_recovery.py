"""What roles begin with at a resume and after a death, without Ray: saved states, numbers, the registry."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from reversi.errors import UnreachableError
from reversi.model.folder import Folder
from reversi.model.registry import Registry
from scripts.ray import recovery
from scripts.ray.recovery import (
    REGISTRY_RETRY_S,
    Held,
    OnDriverNode,
    incarnation,
    newest_version,
    restarted,
    saved_games,
    saved_state,
)
from scripts.run.folder import RunFolder
from tests.evaluator.gates import weights
from tests.scripts.ray.driver_scene import Clock, Scene

DRIVER = "a" * 56


@dataclass
class Context:
    """What Ray says of an actor's process."""

    node: str = DRIVER
    was_current_actor_reconstructed: bool = False

    def get_node_id(self) -> str:
        return self.node


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    made = Context()
    monkeypatch.setattr(recovery.ray, "get_runtime_context", lambda: made)
    return made


def test_a_role_begins_with_its_part_of_the_newest_whole_checkpoint(tmp_path: Path, context: Context) -> None:
    folder = RunFolder.create(str(tmp_path), "run")
    gate, actor, other = (saved_state(folder.path, name) for name in ("gate", "actor-0", "actor-1"))
    assert gate() is None
    for number in (1, 2):
        folder.save_checkpoint(number, {"gate.safetensors": b"gate %d" % number, "actor-0.safetensors": b"games"})
    assert (gate(), actor(), other()) == (b"gate 2", b"games", None)
    os.truncate(folder.checkpoints()[-1] / "gate.safetensors", 3)
    assert gate() == b"gate 1"


def test_an_actor_begins_new_games_under_a_new_name_after_a_death(tmp_path: Path, context: Context) -> None:
    folder = RunFolder.create(str(tmp_path), "run")
    folder.save_checkpoint(1, {"actor-0.safetensors": b"games"})
    games = saved_games(folder.path, "actor-0")
    assert (restarted(), games(), incarnation(7)) == (False, b"games", 7)
    context.was_current_actor_reconstructed = True
    assert (restarted(), games()) == (True, None)
    numbers = {incarnation(7) for _ in range(100)}
    assert len(numbers) == 100
    assert min(numbers) >= 1 << 62, "no start of the run has such numbers"


def test_on_another_node_the_folder_is_read_by_a_task_on_the_drivers(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    class Task:
        def __init__(self, function: Callable[..., str]) -> None:
            self.function = function

        def options(self, scheduling_strategy: object) -> Task:
            asked.append(scheduling_strategy)
            return self

        def remote(self, *arguments: object) -> str:
            return self.function(*arguments)

    read = OnDriverNode(lambda: "state")
    monkeypatch.setattr(recovery.ray, "remote", lambda **_: Task)
    monkeypatch.setattr(recovery.ray, "get", lambda answer: answer)
    assert read() == "state"
    assert asked == []
    context.node = "b" * 56
    assert read() == "state"
    (there,) = asked
    assert there.node_id == DRIVER  # type: ignore[attr-defined]
    assert not there.soft  # type: ignore[attr-defined]


def test_what_is_held_arrives_as_it_is() -> None:
    assert pickle.loads(pickle.dumps({"sink": Held((1, b"two"))})) == {"sink": (1, b"two")}


def test_the_newest_version_is_read_once_the_registry_can_be_reached(
    tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = str(tmp_path / "registry")
    assert newest_version(registry)() == -1
    Registry(registry).publish(weights(5), "first", None)
    waited: list[float] = []
    with monkeypatch.context() as network:

        def away(*_: object) -> None:
            raise UnreachableError("no answer")

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 2:
                network.undo()

        network.setattr(Folder, "read", away)
        network.setattr(Folder, "names", away, raising=False)
        network.setattr(time, "sleep", sleep)
        assert newest_version(registry)() == 5
    assert waited == [REGISTRY_RETRY_S] * 2


def test_damaged_checkpoints_that_were_passed_over_are_gone_before_a_role_reads_one(tmp_path: Path) -> None:
    """Each role reads its own file alone: from a damaged checkpoint some would take a newer part than the others."""
    scene = Scene(tmp_path, Clock()).begin()
    assert scene.driver.checkpoints.save()
    scene.session.folder.save_checkpoint(2, {"run.json": b"{}", "learner.safetensors": b"newer"})
    scene.session.remove_passed_over()
    assert [path.name for path in scene.session.folder.checkpoints()] == ["000001"]
