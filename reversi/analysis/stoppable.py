"""`until_stopped`: work in a kernel that a front end can end at any time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.002
"""Interval at which `stop` is checked."""


def until_stopped(work: Callable[[], T], stop: Callable[[], bool], end: Callable[[], None]) -> T:
    """Return the result of `work`, which runs in a thread; `end` is called, again and again, from when `stop` is true,
    and must let it return within milliseconds, as after Ctrl-C."""
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(work()), name="search", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL_S)
            if stop():
                end()
    finally:
        while thread.is_alive():  # work that was just starting misses the first call
            end()
            thread.join(POLL_S)
    return results[0]
