"""An actor's records on their way to a replay actor, without Ray: what is bounded, what waits, what is settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from actors import remote
from actors.remote import MAX_PUSHES, RemoteRecords, RemoteWorker
from tests.actors.workers import SEARCHING
from tests.configs import search_config


@dataclass
class Answer:
    room: bool


class Replay:
    """A replay actor that stores when it is asked for its answer, and notes every call."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.full = False
        self.add = self._method("add")
        self.room = self._method("room")

    def _method(self, name: str) -> Any:
        replay = self

        class Method:
            def remote(self, *arguments: object) -> tuple[str, object]:
                replay.calls.append(name)
                return name, arguments

        return Method()

    def answer(self, reference: Any) -> Any:
        if isinstance(reference, list):
            return [self.answer(each) for each in reference]
        name, _ = reference
        self.calls.append(f"{name} answered")
        return Answer(room=not self.full) if name == "add" else None


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Replay:
    made = Replay()
    monkeypatch.setattr(remote.ray, "get", made.answer)
    return made


def test_so_many_deliveries_are_under_way_and_no_more(replay: Replay) -> None:
    records = RemoteRecords(replay)
    for number in range(5):
        records.push(b"games")
        assert replay.calls.count("add") - replay.calls.count("add answered") == min(number + 1, MAX_PUSHES)
    assert "room" not in replay.calls, "there was room all along"


def test_a_full_replay_is_waited_for(replay: Replay) -> None:
    records = RemoteRecords(replay)
    replay.full = True
    for _ in range(MAX_PUSHES):
        records.push(b"games")
    assert replay.calls == ["add"] * MAX_PUSHES, "a little ahead of the learner is no reason to wait"
    records.push(b"games")
    assert replay.calls[-2:] == ["room", "room answered"]


def test_settled_is_what_was_stored_whether_there_is_room_or_not(replay: Replay) -> None:
    records = RemoteRecords(replay)
    replay.full = True
    for _ in range(MAX_PUSHES):
        records.push(b"games")
    records.settle()
    assert replay.calls.count("add answered") == MAX_PUSHES
    assert "room" not in replay.calls
    records.settle()
    assert replay.calls.count("add answered") == MAX_PUSHES


def test_a_worker_begins_with_saved_games_or_under_a_name_of_its_own(replay: Replay) -> None:
    def worker(number: int, saved: bytes | None) -> RemoteWorker:
        return RemoteWorker(
            index=0,
            game="reversi4",
            config=SEARCHING,
            search=search_config(simulations=4),
            seed=5,
            weights=None,
            records=RemoteRecords(replay),
            incarnation=lambda: number,
            saved=lambda: saved,
        )

    first = worker(7, None)
    assert first.producer == "actor-0-7"
    assert worker(8, first.state()).producer == "actor-0-7"
    assert worker(8, None).producer == "actor-0-8"
