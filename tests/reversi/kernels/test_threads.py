"""Ranges of rows: every row once, on as many threads as were asked for, errors raised."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from reversi.kernels.threads import Threads


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 1, 2, 7, 64])
def test_every_row_is_worked_on_once(count: int, rows: int) -> None:
    seen = np.zeros(rows, int)

    def work(start: int, stop: int) -> None:
        seen[start:stop] += 1

    Threads(count).each(work, rows)
    assert (seen == 1).all()


@pytest.mark.parametrize("count", [3, 8])
def test_the_parts_run_at_the_same_time(count: int) -> None:
    """With fewer rows than threads too."""
    meet, met = threading.Barrier(3, timeout=100), []

    def work(start: int, stop: int) -> None:
        meet.wait()
        met.append(threading.get_ident())

    Threads(count).each(work, 3)
    assert len(set(met)) == 3


def test_an_error_in_a_part_is_raised() -> None:
    def work(start: int, stop: int) -> None:
        if start:
            raise ValueError("part")

    with pytest.raises(ValueError, match="part"):
        Threads(2).each(work, 2)
