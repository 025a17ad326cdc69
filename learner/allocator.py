"""Freed memory stays with the process: a training step frees and wants again the same few dozen megabytes."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Names of glibc's settings in `malloc.h`."""

_LARGEST_KEPT = 32 << 20
"""Bytes of one block that still comes from the heap; glibc takes no more."""

_FREE_KEPT = 1 << 30
"""Free bytes at the heap's end that are not given back; a step of a large network frees less."""


def keep_freed_memory() -> None:
    """Stop glibc from giving freed tensors back to the kernel, for the whole process; elsewhere do nothing.

    By default large tensors are mapped, zeroed page by page and unmapped again, more or less of them from process to
    process: 1,200 to 5,900 page faults and up to 10 of 51 ms a step for 4 blocks x 32 channels on 6x6, batch 512, one
    thread.  With this a step has next to none.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT)
        mallopt(_M_TRIM_THRESHOLD, _FREE_KEPT)
