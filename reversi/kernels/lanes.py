"""Vectors of four 64-bit lanes, in which `bitboard` computes four directions at once.

numba does not vectorise such short loops (its SLP vectoriser is off).  So a formula over `Lanes` runs once, when a
kernel that uses it is compiled: its operators emit LLVM vector instructions, which LLVM maps to the CPU's (AVX2,
AVX-512, NEON or scalar registers).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

LANES = 4

_I64 = ir.IntType(64)
_VECTOR = ir.VectorType(_I64, LANES)
_ALL = 2**64 - 1


class Lanes:
    """A vector of four uint64 in the code being compiled; each operator emits one vector instruction."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def constant(self, numbers: Sequence[int] | int) -> Lanes:
        """Return a constant: one number per lane, or one number for all."""
        each = [numbers] * LANES if isinstance(numbers, int) else numbers
        return Lanes(self.builder, _constant(each))

    def __and__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.or_(self.value, other.value))

    def __sub__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.sub(self.value, other.value))

    def __lshift__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.shl(self.value, other.value))

    def __rshift__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.lshr(self.value, other.value))

    def __invert__(self) -> Lanes:
        return Lanes(self.builder, self.builder.xor(self.value, _constant([_ALL] * LANES)))

    def __neg__(self) -> Lanes:
        return self.constant(0) - self

    def is_set(self) -> Lanes:
        """Return 1 in the nonzero lanes and 0 in the others."""
        flags = self.builder.icmp_unsigned("!=", self.value, self.constant(0).value)
        return Lanes(self.builder, self.builder.zext(flags, _VECTOR))

    def leading_zeros(self) -> Lanes:
        """Return the number of leading zeros of each lane; 64 for 0."""
        signature = ir.FunctionType(_VECTOR, [_VECTOR, ir.IntType(1)])
        function = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.ctlz.v{LANES}i64")
        return Lanes(self.builder, self.builder.call(function, [self.value, cgutils.false_bit]))

    def union(self) -> Any:
        """Return the bitwise or of the lanes, as an LLVM i64."""
        signature = ir.FunctionType(_I64, [_VECTOR])
        function = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.vector.reduce.or.v{LANES}i64")
        return self.builder.call(function, [self.value])


def _constant(numbers: Sequence[int]) -> Any:
    return ir.Constant(_VECTOR, [ir.Constant(_I64, number & _ALL) for number in numbers])


def spread(builder: Any, number: Any) -> Lanes:
    """Return an LLVM i64 copied into every lane."""
    undefined, zero = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    first = builder.insert_element(undefined, number, zero)
    picks = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [zero] * LANES)
    return Lanes(builder, builder.shuffle_vector(first, undefined, picks))


def row_of(builder: Any, table: Sequence[Sequence[int]], index: Any) -> Lanes:
    """Return row `index` (an LLVM i64, not checked) of a constant table of four columns: one aligned vector load."""
    array = ir.Constant(ir.ArrayType(_VECTOR, len(table)), [_constant(row) for row in table])
    constant = cgutils.global_constant(builder.module, "lanes_table", array)
    constant.align = 8 * LANES
    return Lanes(builder, builder.load(builder.gep(constant, [ir.Constant(_I64, 0), index], inbounds=True)))
