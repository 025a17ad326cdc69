"""Columns declared once: their checks, their memory and their form for kernels follow from the annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.columns import Column, Columns
from reversi.errors import CorruptFileError
from reversi.kernels.kernel import kernel


@dataclass(frozen=True, kw_only=True)
class Parent(Columns):
    name: str
    count: Annotated[NDArray[np.int32], "R"]


@dataclass(frozen=True, kw_only=True)
class Table(Parent):
    share: Annotated[NDArray[np.float16], "RC"]

    @property
    def share_bits(self) -> NDArray[np.uint16]:
        return self.share.view(np.uint16)


@kernel
def total(table: Table) -> int:
    result = 0
    for row in range(table.count.shape[0]):
        result += table.count[row] * (table.share_bits[row, 0] != 0)
    return result


def table(*counts: int) -> Table:
    share = np.array([[count % 2, 0, 0] for count in counts], np.float16).reshape(-1, 3)
    return Table(name="first" if 1 in counts else "other", count=np.array(counts, np.int32), share=share)


def test_the_columns_are_the_annotated_fields_with_those_of_the_parent_first() -> None:
    expected = {"count": Column(np.dtype(np.int32), "R"), "share": Column(np.dtype(np.float16), "RC")}
    assert list(Table.COLUMNS.items()) == list(expected.items())
    assert list(table(1).columns()) == ["count", "share"]


def test_a_kernel_reads_and_writes_the_same_memory_with_half_precision_as_bits() -> None:
    rows = table(1, 2, 3)
    assert total(rows.arrays()) == 4
    rows.arrays().count[0] = 7
    assert rows.count[0] == 7
    assert np.shares_memory(rows.arrays().share_bits, rows.share)


def test_rows_are_joined_in_order_and_what_is_no_column_is_the_first_ones() -> None:
    joined = Table.concatenate([table(1, 2), table(), table(3)])
    assert (joined.name, joined.count.tolist(), joined.share[:, 0].tolist()) == ("first", [1, 2, 3], [1, 0, 1])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"x": np.zeros(2)}, r"here: expected the columns \['count', 'share'\], got \['count', 'share', 'x'\]"),
        ({"count": np.zeros(2, np.int64)}, r"here: expected count as int32 \(2,\), got int64 \(2,\)"),
        ({"count": np.zeros(3, np.int32)}, r"here: expected count as int32 \(2,\), got int32 \(3,\)"),
        ({"share": np.zeros((2, 4), np.float16)}, r"here: expected share as float16 \(2, 3\), got float16 \(2, 4\)"),
    ],
)
def test_other_arrays_are_refused(changes: dict[str, NDArray[Any]], says: str) -> None:
    Table.expect(table(1, 2).columns(), {"R": 2, "C": 3}, "here")
    with pytest.raises(CorruptFileError, match=f"^{says}$"):
        Table.expect(table(1, 2).columns() | changes, {"R": 2, "C": 3}, "here")
