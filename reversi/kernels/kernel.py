"""`@kernel`: the compilation of functions to machine code, kept on disk (`cache.py`).

`@bare_kernel`, `@recursive_kernel` and `@inlined_kernel` are for kernels that are called millions of times with many
arrays.

numba's `njit` with an on-disk cache, released GIL and C division, wrapped so that strict mypy keeps the signature.
Kernels are module-level functions that take the game as a small integer: a kernel built by a factory that closes over
other kernels misses numba's disk cache in every process (numba documentation, "Notes on Caching").
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from reversi.kernels.cache import may_cache

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` on first call: nopython, cached on disk, GIL released, division as in C."""
    return _compiled(function)


def bare_kernel(function: F) -> F:
    """Compile like `kernel`, inlined and without array reference counts: for kernels that only use the arrays given.

    Such a kernel cannot allocate an array (numba rejects it) and must not return one, since its caller would count one
    reference too few.  Any kernel may call it.  Reference counting costs two atomic operations per array and call;
    without it the tree went from 2.4 to 3.6 million PUCT simulations/s, and from 0.6 to 2.7 million with Gumbel.
    Inlining gains another 8 %.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def recursive_kernel(function: F) -> F:
    """Compile like `bare_kernel`, but not as a part of its callers: for kernels that call themselves."""
    return _compiled(function, _nrt=False)


def inlined_kernel(function: F) -> F:
    """Compile like `kernel`, as a part of every caller, bare or not: the way to return arrays."""
    return _compiled(function, inline="always")


def _compiled(function: F, **options: Any) -> F:
    options |= {"nogil": True, "error_model": "numpy"}
    if may_cache(function.__module__):
        with contextlib.suppress(RuntimeError):  # numba cannot write there after all, as on a full disk
            return cast(F, numba.njit(cache=True, **options)(function))
    return cast(F, numba.njit(**options)(function))
