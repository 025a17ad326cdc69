"""Arrays in a kernel's stack frame, for kernels that are called too often to allocate an array.

A recursive search needs a list of moves in every frame.  A numpy array would be allocated, reference-counted and passed
as seven words; this is a pointer, one word.  Indices are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ROOM = 64
"""Length of a stack array: the squares of the largest board."""

Int64Pointer = Any
"""A pointer to int64, read and written as `pointer[i]`; exists in kernels only."""


def _stack_array(_: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        return cgutils.alloca_once(builder, ir.IntType(64), size=ROOM)

    return types.CPointer(types.int64)(), emit


def _pointer_to(_: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(types.int64)(array), emit


stack_array: Callable[[], Int64Pointer] = intrinsic(_stack_array)
"""Return `ROOM` uninitialised numbers in the caller's stack frame, valid until the kernel returns."""

pointer_to: Callable[[Any], Int64Pointer] = intrinsic(_pointer_to)
"""Return a pointer to the data of an int64 array, which must outlive it."""
