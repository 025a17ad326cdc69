"""Settings of the process and of its threads: freed memory stays in the process, and subnormal numbers count as zero.

Every training step frees and allocates the same few dozen megabytes.  By default large tensors are mapped, zeroed page
by page and unmapped again, how many varies between processes: 1,200 to 5,900 page faults and up to 10 of 51 ms a step
for 4 blocks x 32 channels on 6x6, batch 512, one thread.

A CPU may take a hundred times as long for a subnormal number.  Moments of parameters that get no gradient any more
decay towards zero without reaching it, and Muon multiplies them with each other: on a Xeon with AMX, a step of the
default 6x6 network took 34 ms at the beginning and 124 ms after 8,000 steps; with subnormals as zero it takes 34 ms
there, too (docs/experiments.md 47).  The processor keeps this setting for each thread; a new thread has that of the
one that made it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""glibc's `mallopt` parameters, from `malloc.h`."""

LARGEST_HEAP_BLOCK = 32 << 20
"""Largest block taken from the heap, in bytes; glibc's maximum."""

FREE_HEAP = 1 << 30
"""Free bytes kept at the end of the heap; a step of a large network frees less."""


def keep_freed_memory() -> None:
    """Stop glibc from returning freed tensors to the kernel, for the whole process; do nothing without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGEST_HEAP_BLOCK)
        mallopt(_M_TRIM_THRESHOLD, FREE_HEAP)


def treat_subnormals_as_zero() -> None:
    """Read and write subnormal numbers as zero in the calling thread from now on, where the processor can."""
    torch.set_flush_denormal(True)


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Do so until the end of the block, or of the function that this decorates."""
    treat_subnormals_as_zero()
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
