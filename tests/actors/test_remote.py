"""Weights over Ray, without Ray: who waits for what, what is asked again, and that nothing is asked twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import ObjectLostError, OwnerDiedError, RayActorError

from actors import remote
from actors.remote import RemoteWeights


@dataclass(eq=False)
class Reference:
    """What stands for a value that may not have come yet, or never comes."""

    value: Any
    come: bool = True


@dataclass
class Store:
    """A weights actor: answers what it is told to, and keeps what it was asked."""

    answers: list[Reference]
    asked: list[tuple[str, int]] = field(default_factory=list)

    @property
    def fetch(self) -> Any:
        def answer(channel: str, newer_than: int) -> Reference:
            self.asked.append((channel, newer_than))
            return self.answers[len(self.asked) - 1]

        return SimpleNamespace(remote=answer)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Return how long each wait was to be; a wait without an end ends with what was waited for."""
    timeouts: list[float | None] = []

    def wait(references: list[Reference], timeout: float | None) -> tuple[list[Reference], list[Reference]]:
        timeouts.append(timeout)
        if timeout is None:
            references[0].come = True
        return ([each for each in references if each.come], [each for each in references if not each.come])

    def get(reference: Reference) -> Any:
        assert reference.come, "an actor that could play on waits"
        if isinstance(reference.value, Exception):
            raise reference.value
        return reference.value

    monkeypatch.setattr(remote, "ray", SimpleNamespace(wait=wait, get=get))
    return timeouts


def boxed(archive: Any, come: bool = True) -> Reference:
    return Reference([Reference(archive, come)])


def test_who_has_the_newest_version_is_sent_nothing() -> None:
    store = Store([Reference(None), boxed(b"8")])
    weights = RemoteWeights(store)
    assert [weights.fetch("latest", 7), weights.fetch("latest", 7)] == [None, b"8"]
    assert store.asked == [("latest", 7)] * 2


def test_the_first_weights_are_waited_for_and_later_ones_are_not(waits: list[float | None]) -> None:
    weights = RemoteWeights(Store([boxed(b"0", come=False), boxed(b"1", come=False)]))
    assert weights.fetch("gated", -1) == b"0"
    assert waits == [None, None]
    assert weights.fetch("gated", 0) is None
    assert waits[2:] == [remote.WAIT_S, remote.WAIT_S]


def test_a_question_that_is_not_answered_yet_is_not_asked_again() -> None:
    answer = boxed(b"3")
    answer.come = False
    store = Store([answer])
    weights = RemoteWeights(store)
    assert [weights.fetch("latest", 2) for _ in range(3)] == [None] * 3
    answer.come = True
    assert weights.fetch("latest", 2) == b"3"
    assert len(store.asked) == 1


def test_an_archive_on_its_way_is_taken_when_it_has_come() -> None:
    store = Store([answer := boxed(b"3", come=False)])
    weights = RemoteWeights(store)
    assert [weights.fetch("latest", 2) for _ in range(3)] == [None] * 3
    answer.value[0].come = True
    assert weights.fetch("latest", 2) == b"3"
    assert len(store.asked) == 1


@pytest.mark.parametrize("loss", [ObjectLostError, OwnerDiedError])
def test_what_was_lost_on_its_way_is_asked_for_again(loss: type[ObjectLostError]) -> None:
    store = Store([boxed(loss.__new__(loss)), Reference(None), boxed(b"4")])
    weights = RemoteWeights(store)
    assert [weights.fetch("latest", 3) for _ in range(3)] == [None, None, b"4"]
    assert store.asked == [("latest", 3)] * 3


def test_a_weights_actor_that_never_comes_back_is_an_error_each_time() -> None:
    weights = RemoteWeights(Store([Reference(RayActorError()), Reference(RayActorError())]))
    for _ in range(2):
        with pytest.raises(RayActorError):
            weights.fetch("latest", 3)
