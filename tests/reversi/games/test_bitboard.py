"""The bit tricks against the oracle's steps, one square at a time."""

import numpy as np
import pytest

from reversi.games.bitboard import flips, lowest_square, mirror_columns, mirror_rows, popcount, reachable, transpose
from reversi.games.rules import GAMES
from reversi.kernels.kernel import kernel
from tests.reversi.games import oracle

REVERSI = [GAMES["reversi4"], GAMES["reversi6"], GAMES["reversi8"]]
MASKS = [0, 1, 1 << 63, 2**64 - 1, 0x0123456789ABCDEF, 0x8000000000000001]


@kernel
def count(mask: np.uint64) -> int:
    return popcount(mask)


@kernel
def lowest(mask: np.uint64) -> int:
    return lowest_square(mask)


@pytest.mark.parametrize("mask", MASKS)
def test_popcount_and_lowest_square(mask):
    assert count(np.uint64(mask)) == mask.bit_count()
    assert lowest(np.uint64(mask)) == ((mask & -mask).bit_length() - 1 if mask else 64)


@pytest.mark.parametrize("game", REVERSI, ids=lambda game: game.name)
def test_flips_and_reachable_equal_the_oracle_on_every_empty_square_of_scattered_boards(game):
    checked = 0
    for own, opp in zip(*oracle.scattered(game, 300, seed=1), strict=True):
        board = oracle.board_of(game, own, opp)
        found = reachable(own, opp)
        for (row, col), disc in board.items():
            if disc == "empty":
                turned = oracle.turned(board, (row, col))
                assert flips(own, opp, 8 * row + col) == sum(1 << (8 * r + c) for r, c in turned)
                assert (found >> (8 * row + col)) & 1 == bool(turned)
                checked += 1
    assert checked > 300 * game.squares // 4


@pytest.mark.parametrize(
    ("move", "image"),
    [
        (mirror_rows, lambda row, col: (7 - row, col)),
        (mirror_columns, lambda row, col: (row, 7 - col)),
        (transpose, lambda row, col: (col, row)),
    ],
    ids=["mirror_rows", "mirror_columns", "transpose"],
)
def test_mirrors_move_every_square_to_its_image(move, image):
    for square in range(64):
        row, col = image(square // 8, square % 8)
        assert move(np.uint64(1 << square)) == 1 << (8 * row + col)
