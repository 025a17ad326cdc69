"""Calls in flight to the processes of a run's roles, and their answers as they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import ray
from ray.exceptions import RayError

from scripts.ray.roles import Role


class CallKind(Enum):
    """What a call is for, on which the meaning of its answer, or of its failure, depends."""

    ROUND = auto()
    """A round of the role's work; its answer shows that the role is up."""
    RESTORE = auto()
    """Restoring a saved state after a start."""
    REQUEST = auto()
    """Anything else, such as asking for a state."""


@dataclass(eq=False)
class Call:
    """A call in flight."""

    role: Role
    kind: CallKind
    on_answer: Callable[[Any], None]
    """Receives the answer."""
    handle: Any
    """The process that was called; the role may have another one by now, or none."""
    began: float
    """When it was made, or when its process was killed for not answering (monotonic clock)."""

    @property
    def is_current(self) -> bool:
        """Whether its process is still that of the role."""
        return self.handle is self.role.handle


@dataclass(frozen=True)
class Answer:
    """The end of a call: a value, or the error by which the call failed."""

    call: Call
    value: Any = None
    error: RayError | None = None


class PendingCalls:
    """The calls in flight, by the references to their answers."""

    def __init__(self) -> None:
        self._calls: dict[Any, Call] = {}

    def __contains__(self, reference: Any) -> bool:
        return reference in self._calls

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls.values())

    def add(self, role: Role, reference: Any, on_answer: Callable[[Any], None], kind: CallKind) -> None:
        """Track a call just made to the process of `role`."""
        role.calls += 1
        role.last_call_at = time.monotonic()
        self._calls[reference] = Call(role, kind, on_answer, role.handle, role.last_call_at)

    def forget(self, role: Role) -> None:
        """Stop tracking the calls of a role: their answers no longer matter."""
        self._calls = {reference: call for reference, call in self._calls.items() if call.role is not role}

    def collect(self, timeout_s: float) -> Iterator[Answer]:
        """Yield the answers that arrive within `timeout_s`, at once if there are some.

        Answers of processes that their role no longer has are skipped; the handling of one answer may make others such.
        """
        if not self._calls:
            time.sleep(timeout_s)
            return
        done, rest = ray.wait(list(self._calls), num_returns=1, timeout=timeout_s)
        if done and rest:
            done += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for reference in done:
            call = self._calls.pop(reference, None)
            if call is None or not call.is_current:
                continue
            call.role.calls -= 1
            yield _answer_to(call, reference)


def _answer_to(call: Call, reference: Any) -> Answer:
    try:
        return Answer(call, value=ray.get(reference))
    except RayError as error:
        return Answer(call, error=error)
