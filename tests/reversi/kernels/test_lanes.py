"""Each operator of `Lanes` against Python's integers, through one small intrinsic."""

from typing import Any

import numpy as np
import pytest
from numba import types
from numba.extending import intrinsic

from reversi.kernels.kernel import kernel
from reversi.kernels.lanes import LANES, row_of, spread

TABLE = [[1, 2, 4, 8], [2**63, 0, 2**64 - 1, 5]]
FORMULAS = [
    lambda lanes, row: lanes & row,
    lambda lanes, row: lanes | row,
    lambda lanes, row: lanes - row,
    lambda lanes, row: ~lanes & row,
    lambda lanes, row: -lanes,
    lambda lanes, row: lanes << lanes.constant([0, 1, 8, 63]),
    lambda lanes, row: lanes >> lanes.constant([0, 1, 8, 63]),
    lambda lanes, row: (lanes & row).is_set() << lanes.constant([0, 1, 2, 3]),
    lambda lanes, row: (lanes & row).leading_zeros() << lanes.constant([0, 8, 16, 24]),
]


class Plain:
    """What `Lanes` stands for, with Python integers."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = [number % 2**64 for number in numbers]

    def constant(self, numbers: list[int]) -> "Plain":
        return Plain(numbers)

    def _with(self, other: "Plain", operate: Any) -> "Plain":
        return Plain([operate(a, b) for a, b in zip(self.numbers, other.numbers, strict=True)])

    def __and__(self, other: "Plain") -> "Plain":
        return self._with(other, int.__and__)

    def __or__(self, other: "Plain") -> "Plain":
        return self._with(other, int.__or__)

    def __sub__(self, other: "Plain") -> "Plain":
        return self._with(other, int.__sub__)

    def __lshift__(self, other: "Plain") -> "Plain":
        return self._with(other, int.__lshift__)

    def __rshift__(self, other: "Plain") -> "Plain":
        return self._with(other, int.__rshift__)

    def __invert__(self) -> "Plain":
        return Plain([~number for number in self.numbers])

    def __neg__(self) -> "Plain":
        return Plain([-number for number in self.numbers])

    def is_set(self) -> "Plain":
        return Plain([int(number != 0) for number in self.numbers])

    def leading_zeros(self) -> "Plain":
        return Plain([64 - number.bit_length() for number in self.numbers])

    def union(self) -> int:
        return int(np.bitwise_or.reduce(np.array(self.numbers, np.uint64)))


def _all_formulas(_: Any, formula: Any, number: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes, row = spread(builder, args[1]), row_of(builder, TABLE, args[2])
        result = FORMULAS[0](lanes, row).union()
        for k, each in enumerate(FORMULAS):
            chosen = builder.icmp_signed("==", args[0], args[0].type(k))
            result = builder.select(chosen, each(lanes, row).union(), result)
        return result

    return types.uint64(types.int64, types.uint64, types.int64), emit


all_formulas = intrinsic(_all_formulas)


@kernel
def evaluate(formula: int, number: np.uint64, index: int) -> np.uint64:
    return all_formulas(formula, number, index)


@pytest.mark.parametrize("formula", range(len(FORMULAS)))
def test_an_operator_equals_python_integers(formula):
    for number in [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF]:
        for index, row in enumerate(TABLE):
            expected = FORMULAS[formula](Plain([number] * LANES), Plain(row)).union()
            assert evaluate(formula, np.uint64(number), index) == expected
