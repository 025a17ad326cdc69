"""Prefetching: the same items in the same order, never too many, errors where they belong, and no thread left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from learner.prefetch import prefetched


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("ahead", [0, 1, 2, 5, 100])
def test_items_come_in_their_order_and_the_thread_ends(ahead: int) -> None:
    with prefetched(iter(range(50)), ahead) as items:
        assert list(items) == list(range(50))
    assert "prefetch" not in names()


@pytest.mark.parametrize("ahead", [1, 3])
def test_so_many_are_made_ahead_and_no_more(ahead: int) -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            made.append(item)
            yield item

    with prefetched(items(), ahead) as taken:
        for item in taken:
            deadline = time.monotonic() + 100
            while len(made) < min(item + 1 + ahead, 20) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.005)
            assert len(made) == min(item + 1 + ahead, 20)


def test_an_error_of_the_caller_ends_the_thread_and_is_its_own() -> None:
    def leave() -> None:
        with prefetched(iter(range(9)), 2) as line:
            raise KeyError(next(line))

    with pytest.raises(KeyError, match="0"):
        leave()
    assert "prefetch" not in names()


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_an_error_is_raised_where_its_item_was_asked_for(ahead: int) -> None:
    def items() -> Iterator[int]:
        yield from (1, 2, 3)
        raise ZeroDivisionError("the fourth")

    with prefetched(items(), ahead) as line:
        assert [next(line) for _ in range(3)] == [1, 2, 3]
        with pytest.raises(ZeroDivisionError, match="the fourth"):
            next(line)
    assert "prefetch" not in names()


@pytest.mark.parametrize("ahead", [0, 2])
def test_leaving_early_ends_the_thread(ahead: int) -> None:
    def items() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    with prefetched(items(), ahead) as line:
        assert next(line) == 0
    assert "prefetch" not in names()
