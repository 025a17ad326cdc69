"""`@kernel`: how a function becomes machine code, decided once.

numba's `njit` with an on-disk cache, released GIL and C division, wrapped so that strict mypy keeps the signature.
Kernels are module-level functions that take the game as a small integer: a kernel built by a factory that closes over
other kernels misses numba's disk cache in every process (numba documentation, "Notes on Caching").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` on first call: nopython, cached on disk, GIL released, division as in C."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
