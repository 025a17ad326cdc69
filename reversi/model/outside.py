"""Asking a machine outside: a deadline for every answer, whichever driver asks, and a bound for what it sends.

Drivers have deadlines of their own kinds, or none; so another thread asks, and one that is late is left behind.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import IO, TypeVar
from urllib.parse import unquote

T = TypeVar("T")

ANSWER_S = 20.0
"""Longest silence at the beginning of an answer, in seconds; afterwards it comes at `SLOWEST_BYTES_PER_S` at least."""

SLOWEST_BYTES_PER_S = 1 << 14
"""Slowest connection that is waited for: a model of 2 MB in two minutes."""

CHUNK_BYTES = 1 << 20

_LINK = re.compile(r"""href\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)


class Progress:
    """How many bytes have come or are to be sent, and whether anybody still waits for them."""

    def __init__(self, size: int = 0) -> None:
        self.size, self.abandoned = size, False

    @property
    def allowed_s(self) -> float:
        """Time that so many bytes may take, in seconds."""
        return ANSWER_S + self.size / SLOWEST_BYTES_PER_S


def in_time(ask: Callable[[Progress], T], size: int = 0) -> T:
    """Return what `ask` returns, or raise what it raises; TimeoutError if it is late.

    size  bytes to be sent; `ask` counts in its argument those that come
    """
    progress, answer = Progress(size), Future[T]()

    def run() -> None:
        try:
            answer.set_result(ask(progress))
        except BaseException as error:
            answer.set_exception(error)

    start_s = time.monotonic()
    threading.Thread(target=run, daemon=True, name="outside").start()
    while (left_s := start_s + progress.allowed_s - time.monotonic()) > 0:
        if wait([answer], left_s).done:
            return answer.result()
    progress.abandoned = True
    got = f"{progress.size} bytes" if progress.size > size else "nothing"
    raise TimeoutError(f"expected an answer within {progress.allowed_s:.0f} s, got {got}")


def read_stream(file: IO[bytes], most_bytes: int, progress: Progress) -> bytes:
    """Return the first `most_bytes` of a file; one large read would allocate all of them in advance."""
    parts: list[bytes] = []
    while most_bytes > 0 and not progress.abandoned and (part := file.read(min(most_bytes, CHUNK_BYTES))):
        parts.append(part)
        most_bytes -= len(part)
        progress.size += len(part)
    return b"".join(parts)


def links_of(page: bytes) -> list[str]:
    """Return the sorted last names of the links of a page, as servers list a folder."""
    links = _LINK.findall(page.decode(errors="replace"))
    names = {unquote(re.split("[?#]", link)[0].rstrip("/").rsplit("/", 1)[-1]) for link in links}
    return sorted(names - {"", ".", ".."})
