"""Prefetching: a thread makes the next items of an iterator while the caller works on the current one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


@contextmanager
def prefetched(items: Iterator[T], ahead: int) -> Iterator[Iterator[T]]:
    """Yield `items` in order while a thread makes up to `ahead` of the next ones; with 0 there is no thread.

    An error in making an item is raised when that item is taken.  Leaving the context waits for the thread, which first
    finishes its current item; items that were not taken are dropped.
    """
    if not ahead:
        yield items
        return
    prefetcher = _Prefetcher(items, ahead)
    try:
        yield prefetcher.results()
    finally:
        prefetcher.close()


class _Prefetcher(Generic[T]):
    def __init__(self, items: Iterator[T], ahead: int) -> None:
        self._items = items
        self._room = Semaphore(ahead)
        self._results: SimpleQueue[tuple[T] | Exception | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._make, name="prefetch")
        self._thread.start()

    def results(self) -> Iterator[T]:
        """Yield the items."""
        while (result := self._results.get()) is not None:
            if isinstance(result, Exception):
                raise result
            self._room.release()
            yield result[0]

    def close(self) -> None:
        """Stop the thread and wait for its end."""
        self._closed = True
        self._room.release()
        self._thread.join()

    def _make(self) -> None:
        try:
            while self._room.acquire() and not self._closed:
                self._results.put((next(self._items),))
        except StopIteration:
            self._results.put(None)
        except Exception as error:  # raised again by `results`
            self._results.put(error)
