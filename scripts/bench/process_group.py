"""Processes that work at the same time and are measured over one common interval.

Each process prepares itself, then repeats its work whenever the group is asked for its rates: from a little before the
interval until a little after it, so that all of them work during the whole interval.  Between two intervals they wait
and use no CPU time, so that two groups can be measured in turns.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import TracebackType

from reversi.errors import ReversiError

Work = Callable[[], dict[str, int]]
"""Does a piece of work and returns counts of what it did, by name."""

Build = Callable[[], Work]
"""Prepares a process and returns its work; a module's function, or a partial of one, since it is pickled."""

LEAD_S = 0.1
"""Seconds from the request to the start of the interval; every process is working by then."""


class ProcessGroup:
    """Processes ready to work; a context manager that ends them."""

    def __init__(self, builds: Sequence[Build]) -> None:
        """Start a process for each of `builds` and wait until all are ready and have done one piece of work."""
        context = multiprocessing.get_context("spawn")
        self._members = []
        for build in builds:
            ours, theirs = context.Pipe()
            process = context.Process(target=_member, args=(theirs, build), daemon=True)
            process.start()
            theirs.close()
            self._members.append((process, ours))
        try:
            for _, connection in self._members:
                _answer(connection)
        except BaseException:
            self.close()
            raise

    def rates(self, seconds: float) -> list[dict[str, float]]:
        """Let all processes work at once; return for each what it did per second of the same `seconds`."""
        start_s = time.monotonic() + LEAD_S
        for _, connection in self._members:
            connection.send((start_s, start_s + seconds))
        pieces = [_answer(connection) for _, connection in self._members]
        return [_within(each, start_s, start_s + seconds) for each in pieces]

    def close(self) -> None:
        """End the processes."""
        for process, connection in self._members:
            connection.close()
            process.terminate()
        for process, _ in self._members:
            process.join()

    def __enter__(self) -> ProcessGroup:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes."""
        self.close()


Piece = tuple[float, float, dict[str, int]]
"""A piece of work: its start, its end, its counts."""


def _answer(connection: Connection) -> list[Piece]:
    """Return the answer of a process; an expected error in it is raised here."""
    try:
        answer: list[Piece] | ReversiError = connection.recv()
    except (EOFError, ConnectionError) as error:
        raise ReversiError("a measuring process died; any message of it is above") from error
    if isinstance(answer, ReversiError):
        raise answer
    return answer


def _within(pieces: list[Piece], start_s: float, end_s: float) -> dict[str, float]:
    """Return units per second from `start_s` to `end_s`; a piece that overlaps an end counts in proportion."""
    per_s: dict[str, float] = {}
    for began_s, ended_s, done in pieces:
        share = max(0.0, min(ended_s, end_s) - max(began_s, start_s)) / (ended_s - began_s)
        for name, units in done.items():
            per_s[name] = per_s.get(name, 0.0) + units * share / (end_s - start_s)
    return per_s


def _member(connection: Connection, build: Build) -> None:
    """Run one process: prepare, say so, then work in every interval, until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the group's owner ends us
    try:
        work = build()
        work()
        connection.send([])
        while True:
            _, end_s = connection.recv()
            pieces: list[Piece] = []
            now_s = time.monotonic()
            while now_s < end_s:
                began_s, done = now_s, work()
                now_s = time.monotonic()
                pieces.append((began_s, now_s, done))
            connection.send(pieces)
    except EOFError:
        return
    except ReversiError as error:
        connection.send(error)
