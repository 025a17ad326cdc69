from __future__ import annotations

import numpy as np
import pytest

from reversi.solver.table import ABSENT, find, make_table, store


def masks(numbers: range) -> list[tuple[np.uint64, np.uint64]]:
    return [(np.uint64(number), np.uint64(number) << np.uint64(32)) for number in numbers]


def test_what_was_kept_is_found_in_its_round_alone() -> None:
    table = make_table(10)
    own, opp = np.uint64(0x1008), np.uint64(0x0810)
    store(table, 1, own, opp, -3, 12, 44, 1000)
    slot = table[find(table, 1, own, opp)]
    assert (slot["lower"], slot["upper"], slot["best"], slot["effort"]) == (-3, 12, 44, 10)
    assert find(table, 2, own, opp) == ABSENT
    assert find(table, 1, opp, own) == ABSENT


def test_a_position_has_one_slot() -> None:
    table = make_table(10)
    for upper in (20, 10, 5):
        store(table, 1, np.uint64(5), np.uint64(10), 0, upper, 1, 7)
    assert table[find(table, 1, np.uint64(5), np.uint64(10))]["upper"] == 5
    assert np.count_nonzero(table["generation"]) == 1


def test_of_two_neighbours_the_cheaper_one_makes_room() -> None:
    table = make_table(1)
    (dear, cheap, new) = masks(range(1, 4))
    store(table, 1, *dear, 0, 0, -1, 1 << 20)
    store(table, 1, *cheap, 0, 0, -1, 10)
    store(table, 1, *new, 0, 0, -1, 5)
    assert find(table, 1, *dear) != ABSENT
    assert find(table, 1, *cheap) == ABSENT
    assert find(table, 1, *new) != ABSENT


def test_what_earlier_rounds_left_changes_nothing() -> None:
    used, fresh = make_table(1), make_table(1)
    a, b, c, d = masks(range(1, 5))
    for position in (a, b):
        store(used, 1, *position, 0, 0, -1, 1)
    for table in (used, fresh):
        for position in (b, c, d):
            store(table, 2, *position, 0, 0, -1, 1)
    assert [find(used, 2, *position) for position in (b, c, d)] == [find(fresh, 2, *position) for position in (b, c, d)]


@pytest.mark.parametrize("generation", [2**32 - 1, 2**32, 2**32 + 1, 2**62])
def test_a_counter_beyond_32_bits_changes_nothing(generation: int) -> None:
    table, fresh = make_table(1), make_table(1)
    for number, position in enumerate(masks(range(1, 5))):
        store(table, generation - 1, *position, 0, 0, -1, 1 << number)
    for used, when in ((table, generation), (fresh, 1)):
        for number, position in enumerate(masks(range(3, 7))):
            store(used, when, *position, 0, 0, -1, 1 << number)
    found = [find(table, generation, *position) for position in masks(range(1, 7))]
    assert found == [find(fresh, 1, *position) for position in masks(range(1, 7))]
    assert sum(slot != ABSENT for slot in found) == 2


def test_positions_spread_over_the_table() -> None:
    table = make_table(12)
    for own, opp in masks(range(1, 2001)):
        store(table, 1, own, opp, 0, 0, -1, 1)
    # 2000 balls in 2048 bins of two: 7 % do not fit
    assert 0.88 < np.count_nonzero(table["generation"]) / 2000 < 0.98
