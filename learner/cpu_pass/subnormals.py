"""Subnormal numbers count as zero in training: a CPU may take a hundred times as long for one of them.

Moments of parameters that get no gradient any more decay towards zero without reaching it, and Muon multiplies them
with each other.  On a Xeon with AMX, a step of the default 6x6 network took 34 ms at the beginning and 124 ms after
8,000 steps; with subnormals as zero it takes 34 ms there, too (docs/experiments.md 47).  The processor keeps this
setting for each thread; a new thread has that of the one that made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
