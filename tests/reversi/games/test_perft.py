"""Counts that other engines agree on."""

import numpy as np
import pytest

from reversi.games.perft import perft
from reversi.games.position import Position

TABLES = {
    "reversi4": [4, 12, 44, 128, 424, 1256, 3624, 9116, 20044, 36540, 50704, 57436, 59564, 59980],
    "reversi6": [4, 12, 56, 244, 1364, 7604, 47740, 308716, 2114912, 14976792],
    "reversi8": [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284, 212258800],
    "tictactoe": [9, 72, 504, 3024, 15120, 56160, 154944, 255168],
}


def leaves(position: Position, depth: int) -> int:
    return perft(position.game.id, np.uint64(position.own), np.uint64(position.opp), depth)


@pytest.mark.parametrize("name", TABLES)
def test_the_table(name):
    start = Position.start(name)
    assert [leaves(start, depth) for depth in range(1, len(TABLES[name]) + 1)] == TABLES[name]


def test_depth_0_is_one_leaf():
    assert leaves(Position.start("reversi8"), 0) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("XX-------------O X", [1, 1, 1]),  # over: one leaf at every depth
        ("--XO------------ X", [1, 1, 1]),  # a pass, then b1, which wipes Black out
    ],
)
def test_a_pass_is_a_ply_and_a_finished_game_is_one_leaf(text, expected):
    assert [leaves(Position.parse(text), depth) for depth in (1, 2, 3)] == expected


def test_the_sum_over_the_moves_is_the_count_one_ply_deeper():
    position = Position.start("reversi8").play("f5").play("d6")
    assert leaves(position, 6) == sum(leaves(position.play(move), 5) for move in position.legal_moves())
