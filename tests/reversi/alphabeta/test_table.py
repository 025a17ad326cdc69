"""The transposition table of alpha-beta: what it returns, and what it replaces."""

from __future__ import annotations

import numpy as np

from reversi.alphabeta.table import find_value, make_value_table, store_value
from reversi.solver.table import ABSENT


def store(table, generation, position, depth, lower=-5, upper=7, best=19):
    own, opp = (np.uint64(mask) for mask in position)
    store_value(table, generation, own, opp, depth, lower, upper, best)


def find(table, oldest, position):
    """Return depth, bounds and best move, or None."""
    at = find_value(table, oldest, *(np.uint64(mask) for mask in position))
    return None if at == ABSENT else tuple(int(table[at][name]) for name in ("depth", "lower", "upper", "best"))


def test_what_was_stored_is_found_from_its_generation_on():
    table = make_value_table(4)
    store(table, 3, (5, 9), 6, -640, 64 * 64)
    assert find(table, 3, (5, 9)) == (6, -640, 4096, 19)
    assert find(table, 2, (5, 9)) is not None
    assert find(table, 4, (5, 9)) is None
    assert find(table, 1, (9, 5)) is None


def test_a_search_keeps_its_deeper_result_and_a_later_one_replaces_it():
    table = make_value_table(4)
    store(table, 1, (5, 9), 6)
    store(table, 1, (5, 9), 4)
    assert find(table, 1, (5, 9))[0] == 6
    store(table, 2, (5, 9), 4)
    assert find(table, 1, (5, 9))[0] == 4


def test_the_older_of_two_goes_first_and_then_the_shallower():
    table = make_value_table(1)
    store(table, 1, (1, 2), 9)
    store(table, 2, (3, 4), 3)
    store(table, 2, (5, 6), 2)
    assert [find(table, 1, position) is not None for position in ((1, 2), (3, 4), (5, 6))] == [False, True, True]
    store(table, 2, (7, 8), 5)
    assert [find(table, 1, position) is not None for position in ((3, 4), (5, 6), (7, 8))] == [True, False, True]
