"""Inputs without end for one border, in a process of its own: memory is bounded, each input has a time limit.

A process that crashes or hangs is noticed, its input named, and another process goes on behind it.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from ctypes import Array
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.border import Border
from tests.fuzz.mutate import mutated

LIMIT_S = 2.0
"""Processor time that an input may take; inputs are at most 256 KiB."""

STUCK_S = 120.0
"""Time without a new input after which a process is taken to hang where no signal reaches it."""

ROOM = 1 << 30
"""Bytes of address space that a reader may take beyond what its process had when it began."""

MOST_CRASHES = 5
"""Processes that one border may cost."""


class TookTooLongError(BaseException):
    """An input is past its limit."""


@dataclass
class Found:
    """What the inputs of one border did."""

    inputs: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    defects: list[tuple[int, str]] = field(default_factory=list)
    """Numbers of inputs, and what they did."""
    seconds: float = 0.0
    slowest_ms: float = 0.0
    grown_mb: float = 0.0
    """Growth of the process's peak of resident memory from before the first input."""


def try_one(border: Border, seeds: Any, read: Any, seed: int, index: int) -> str:
    """Give the reader input number `index`; return "" if it was accepted, the refusal's name if not.

    Anything else that the reader raises goes through.
    """
    rng = random.Random(f"{seed} {border.name} {index}")
    data = mutated(rng, border.form, rng.choice(seeds), border.words)
    try:
        read(data)
    except border.refusals as error:
        return type(error).__name__
    return ""


def try_many(border: Border, seed: int, first: int, last: int, at: Array[Any], limit_s: float) -> Found:
    """Try the inputs `first` to `last - 1`; `at[0]` tells others which one is under way."""
    found = Found()
    signal.signal(signal.SIGPROF, _too_long)
    with tempfile.TemporaryDirectory() as folder:
        seeds, read = border.open(Path(folder))
        for data in seeds:  # sound input is read first: what is compiled or loaded then is no input's fault
            read(data)
        before_mb = _peak_mb()
        _bound_memory()
        begin = time.perf_counter()
        for index in range(first, last):
            at[0] = index
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, limit_s)
            try:
                refusal = try_one(border, seeds, read, seed, index)
                signal.setitimer(signal.ITIMER_PROF, 0)
            except (Exception, TookTooLongError) as error:
                signal.setitimer(signal.ITIMER_PROF, 0)
                found.defects.append((index, _place(error)))
            else:
                if refusal:
                    found.refused[refusal] += 1
                else:
                    found.accepted += 1
            found.inputs += 1
            found.slowest_ms = max(found.slowest_ms, 1000 * (time.process_time() - start))
        found.seconds = time.perf_counter() - begin
        found.grown_mb = _peak_mb() - before_mb
    return found


def fuzz(border: Border, inputs: int, seed: int, limit_s: float = LIMIT_S) -> Found:
    """Try so many inputs in processes of their own, another one after each crash.

    Of a process that crashed only its last input is told, as a defect.
    """
    context = multiprocessing.get_context("spawn")
    total, first = Found(), 0
    while first < inputs:
        at = context.Array("q", [-1], lock=False)
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(border, seed, first, inputs, at, limit_s, theirs))
        process.start()
        theirs.close()
        part, why = _outcome(process, ours, at)
        if part is not None:
            add(total, part)
            break
        last = max(at[0], first)
        total.defects.append((last, f"the process {why}"))
        total.inputs += last + 1 - first
        first = last + 1
        if len(total.defects) >= MOST_CRASHES:
            break
    return total


def _child(border: Border, seed: int, first: int, last: int, at: Array[Any], limit_s: float, results: Any) -> None:
    results.send(try_many(border, seed, first, last, at, limit_s))


def _outcome(process: Any, results: Any, at: Array[Any]) -> tuple[Found | None, str]:
    """Wait for a process; return what it found, or how it ended without a word."""
    last, since = at[0], time.monotonic()
    while not results.poll(0.5):
        if not process.is_alive():
            process.join()
            return None, f"ended with exit code {process.exitcode}"
        if at[0] != last:
            last, since = at[0], time.monotonic()
        elif last >= 0 and time.monotonic() - since > STUCK_S:
            process.kill()
            process.join()
            return None, f"hung for {STUCK_S:.0f} s"
    try:
        found: Found = results.recv()
    except EOFError:
        process.join()
        return None, f"ended with exit code {process.exitcode}"
    process.join()
    return found, ""


def add(total: Found, part: Found) -> None:
    """Count `part` into `total`."""
    total.inputs += part.inputs
    total.accepted += part.accepted
    total.refused += part.refused
    total.defects += part.defects
    total.seconds += part.seconds
    total.slowest_ms = max(total.slowest_ms, part.slowest_ms)
    total.grown_mb = max(total.grown_mb, part.grown_mb)


def _place(error: BaseException) -> str:
    """Return an error with the place that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename and "/tests/" not in frame.filename]
    place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{place}: {str(error)[:120]!r}"


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TookTooLongError("past the time limit")


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bytes_ = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
