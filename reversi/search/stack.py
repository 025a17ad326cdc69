"""Numbers in a kernel's own stack frame, for kernels that are called too often to make an array.

A recursive search wants a list of moves in every frame.  An array would be allocated, counted and passed as seven
words; this is a pointer, one word.  Nothing checks an index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ROOM = 64
"""Numbers in a frame: the squares of the largest board."""

Numbers = Any
"""A pointer to int64, read and written as `numbers[i]`; exists in kernels only."""


def _stack_numbers(_: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        return cgutils.alloca_once(builder, ir.IntType(64), size=ROOM)

    return types.CPointer(types.int64)(), emit


def _numbers_of(_: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(types.int64)(array), emit


stack_numbers: Callable[[], Numbers] = intrinsic(_stack_numbers)
"""Room for `ROOM` numbers, not cleared; gone when the kernel returns."""

numbers_of: Callable[[Any], Numbers] = intrinsic(_numbers_of)
"""The content of an int64 array, which must outlive the use."""
