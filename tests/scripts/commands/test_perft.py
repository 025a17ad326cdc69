from __future__ import annotations

import json
import signal

import pytest

from tests.scripts.conftest import Reversi


@pytest.mark.parametrize(
    ("size", "depth", "leaves"), [(8, 0, 1), (8, 6, 8200), (6, 8, 308716), (4, 10, 36540), (4, 14, 59980)]
)
def test_the_leaf_count_comes_last(reversi: Reversi, size: int, depth: int, leaves: int) -> None:
    answer = reversi("perft", "--size", size, depth)
    assert answer.code == 0
    assert answer.out.split()[-1] == str(leaves)


def test_eight_is_the_default_size(reversi: Reversi) -> None:
    assert reversi("perft", 5).out.split()[-1] == "1396"


def test_divide_adds_up(reversi: Reversi) -> None:
    answer = json.loads(reversi("perft", "--size", 6, "--divide", "--json", 6).out)
    assert answer["divide"] == {"c2": 1901, "b3": 1901, "e4": 1901, "d5": 1901}
    assert answer["leaves"] == 7604
    assert answer["depth"] == 6


def test_divide_of_a_forced_pass_has_one_entry(reversi: Reversi) -> None:
    answer = reversi("perft", "--position", "-XOXOOOO-XOOXOOO X", "--divide", 3)
    assert answer.out.splitlines()[0] == "pass 2"
    assert answer.out.split()[-1] == "2"


def test_a_finished_game_is_one_leaf(reversi: Reversi) -> None:
    assert reversi("perft", "--position", "X" * 36 + " O", "--divide", 5).out.split()[-1] == "1"


def test_ctrl_c_belongs_to_python_again_afterwards(reversi: Reversi) -> None:
    before = signal.getsignal(signal.SIGINT)
    reversi("perft", 2)
    assert signal.getsignal(signal.SIGINT) is before
