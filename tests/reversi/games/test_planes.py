"""The planes, square by square."""

import numpy as np
import pytest

from reversi.games.planes import PLANES, write_masks, write_planes
from reversi.games.position import Position
from reversi.games.rules import GAMES
from tests.reversi.games import oracle


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
@pytest.mark.parametrize("count", [0, 1, 200])
def test_planes_are_discs_and_legal_moves_of_both_sides(game, count):
    own, opp = oracle.scattered(game, count, seed=11)
    out = np.full((count, PLANES, game.size, game.size), 7, np.float32)
    write_planes(game.id, own, opp, out)
    for b in range(count):
        board = oracle.board_of(game, own[b], opp[b])
        mine, theirs = oracle.moves(game, board), oracle.moves(game, oracle.seen_by_the_other(board))
        for (row, col), disc in board.items():
            expected = [disc == "own", disc == "opp", (row, col) in mine, (row, col) in theirs]
            assert out[b, :, row, col].tolist() == expected


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
@pytest.mark.parametrize("count", [0, 1, 200])
def test_masks_are_the_planes_bit_by_bit(game, count):
    own, opp = oracle.scattered(game, count, seed=12)
    planes = np.zeros((count, PLANES, game.size, game.size), np.float32)
    write_planes(game.id, own, opp, planes)
    masks = np.zeros((count, PLANES), np.uint64)
    write_masks(game.id, own, opp, masks)
    squares = np.arange(game.size, dtype=np.uint64)
    bits = np.uint64(8) * squares[:, None] + squares
    np.testing.assert_array_equal((masks[:, :, None, None] >> bits) & np.uint64(1), planes)


def test_the_start_of_6x6_as_drawn():
    position = Position.start("reversi6")
    out = np.zeros((1, PLANES, 6, 6), np.float32)
    write_planes(position.game.id, np.array([position.own], np.uint64), np.array([position.opp], np.uint64), out)
    drawn = [["".join("X" if square else "-" for square in row) for row in plane] for plane in out[0]]
    assert drawn == [
        ["------", "------", "---X--", "--X---", "------", "------"],
        ["------", "------", "--X---", "---X--", "------", "------"],
        ["------", "--X---", "-X----", "----X-", "---X--", "------"],
        ["------", "---X--", "----X-", "-X----", "--X---", "------"],
    ]
