"""The raw indices of a position: which entry of the tables the discs on each instance select.

A row of the board is a byte of each mask, and contributes to every instance a number that depends on that byte alone.
So the indices of all instances are the sum of one vector per row and side, read from a table of 256 vectors a row: no
bit is extracted, and any CPU with vector instructions does it.  On the 54 instances of the default patterns of 8x8 an
evaluation takes 59 ns so, where the extraction of bits (`pext`) and two look-ups an instance took 125 ns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from reversi.games.rules import Game
from reversi.kernels.kernel import bare_kernel

LARGEST_SHORT = 10
"""Most squares of a pattern whose indices fit in 16 bits."""

MAX_INSTANCES = 256
"""Length of the arrays of `stack_indices`."""

_ROWS, _BYTES = 8, 256
_VECTOR_BYTES = 64


class PatternIndex(NamedTuple):
    """What a kernel needs to index a position; L is the number of instances rounded up to whole vectors."""

    rows: NDArray[Any]  # uint16 or uint32[8 * 256, L]  what the own discs of a row add to each instance's index
    offset: NDArray[np.int32]  # [I]  the first raw index of each instance's pattern


Indices = Any
"""A pointer to uint32, read and written as `indices[i]`; exists in kernels only."""


def index_of(instances: Sequence[Sequence[int]], offsets: Sequence[int], game: Game, dtype: Any) -> PatternIndex:
    """Return the index of `instances`, each the actions of its squares in the order of their powers of three."""
    lanes = _VECTOR_BYTES // np.dtype(dtype).itemsize
    assert len(instances) <= MAX_INSTANCES, f"expected at most {MAX_INSTANCES} instances, got {len(instances)}"
    rows = np.zeros((_ROWS, _BYTES, -(-len(instances) // lanes) * lanes), dtype)
    numbers = np.arange(_BYTES)
    for i, squares in enumerate(instances):
        for power, square in enumerate(squares):
            row, col = divmod(square, game.size)
            rows[row, :, i] += ((numbers >> col & 1) * 3**power).astype(dtype)
    return PatternIndex(rows.reshape(_ROWS * _BYTES, -1), np.array(offsets, np.int32))


@bare_kernel
def raw_indices(index: PatternIndex, own: np.uint64, opp: np.uint64, out: Indices) -> int:
    """Write the raw index of every instance to `out[0..I - 1]` and return I.

    own, opp  discs of the side to move and of the other side
    Cost: 16 vector loads and additions for every 32 instances (16 if a pattern has more than ten squares).
    """
    for start in range(0, index.rows.shape[1], _VECTOR_BYTES // index.rows.itemsize):
        _sum_rows(index.rows, start, own, opp, out)
    count = index.offset.shape[0]
    for i in range(count):
        out[i] += np.uint32(index.offset[i])
    return int(count)


def _stack_indices(_: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        return cgutils.alloca_once(builder, ir.IntType(32), size=MAX_INSTANCES)

    return types.CPointer(types.uint32)(), emit


def _sum_of_rows(_: Any, rows: Any, start: Any, own: Any, opp: Any, out: Any) -> Any:
    width = rows.dtype.bitwidth
    lanes = _VECTOR_BYTES * 8 // width
    vector, wide = ir.VectorType(ir.IntType(width), lanes), ir.VectorType(ir.IntType(32), lanes)
    i64 = ir.IntType(64)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        length = builder.extract_value(array.shape, 1)
        sums = []
        for mask in (args[2], args[3]):
            total = ir.Constant(vector, None)
            for row in range(_ROWS):
                byte = builder.and_(builder.lshr(mask, ir.Constant(i64, 8 * row)), ir.Constant(i64, _BYTES - 1))
                at = builder.mul(builder.add(byte, ir.Constant(i64, _BYTES * row)), length)
                pointer = builder.gep(array.data, [builder.add(at, args[1])])
                value = builder.load(builder.bitcast(pointer, vector.as_pointer()))
                value.align = width // 8
                total = builder.add(total, value)
            sums.append(total)
        total = builder.add(sums[0], builder.add(sums[1], sums[1]))
        if width < 32:
            total = builder.zext(total, wide)
        store = builder.store(total, builder.bitcast(builder.gep(args[4], [args[1]]), wide.as_pointer()))
        store.align = 4
        return context.get_dummy_value()

    return types.void(rows, types.int64, types.uint64, types.uint64, out), emit


stack_indices: Callable[[], Indices] = intrinsic(_stack_indices)
"""Return `MAX_INSTANCES` uninitialised numbers in the caller's stack frame, valid until the kernel returns."""

_sum_rows: Callable[[Any, int, np.uint64, np.uint64, Indices], None] = intrinsic(_sum_of_rows)
"""Write to `out` from `start` on the sums of one vector of instances."""
