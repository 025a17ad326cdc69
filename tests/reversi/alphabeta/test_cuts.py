"""Widths of selective cut-offs: what tables without opinions, good ones and a constant imply."""

from __future__ import annotations

import numpy as np

from reversi.alphabeta.cuts import DEEPEST, widths_of
from reversi.alphabeta.search import CUT_DEPTH, shallow_depth
from reversi.games.rules import game_named
from tests.reversi.alphabeta.negamax import tables_for


def test_a_shallow_search_is_about_half_as_deep_and_of_the_same_parity() -> None:
    depths = [int(shallow_depth(depth)) for depth in range(3, 13)]
    assert depths == [1, 2, 3, 2, 3, 4, 5, 4, 5, 6]


def test_widths_are_positive_for_every_phase_and_grow_with_the_tables_opinions() -> None:
    game, tables = game_named("reversi8"), tables_for("reversi8")
    widths = widths_of(game, tables)
    assert widths.shape == (len(tables.bias), DEEPEST + 1)
    assert (widths[:, CUT_DEPTH:] > 0).all()
    milder = widths_of(game, tables._replace(tables=tables.tables // 4, bias=tables.bias // 4))
    assert milder[:, CUT_DEPTH:].mean() < widths[:, CUT_DEPTH:].mean() / 2
    np.testing.assert_array_equal(widths, widths_of(game, tables))


def test_tables_that_never_err_have_no_cut_offs_and_neither_has_a_board_that_is_too_small() -> None:
    tables = tables_for("reversi8")
    assert widths_of(game_named("reversi8"), tables._replace(tables=0 * tables.tables, bias=0 * tables.bias)).size == 0
    assert widths_of(game_named("reversi4"), tables_for("reversi4")).size == 0
