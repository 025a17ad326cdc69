"""Lines of squares: rows of the table by hand and by a slow twin, symmetries, and their sum with and without torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import GAMES, Game, game_named
from reversi.games.symmetry import SYMMETRIES, action_table, transform_masks
from reversi.model.line_patterns import DIRECTIONS, line_count, lines_of, shared_rows, sum_rows, table_rows, write_rows
from reversi.model.line_table import LineRows, LineTable, summed_rows
from tests.reversi.games import oracle

EVERY_GAME = pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
STEPS = [(0, 1), (1, 0), (1, 1), (1, -1)]
"""The way along a row, column, diagonal and anti-diagonal as they are read."""


def planes_of(game: Game, own: NDArray[np.uint64], opp: NDArray[np.uint64]) -> NDArray[np.float32]:
    planes = np.zeros((len(own), PLANES, game.size, game.size), np.float32)
    write_planes(game.id, own, opp, planes)
    return planes


def rows_of(game: Game, own: NDArray[np.uint64], opp: NDArray[np.uint64]) -> NDArray[np.int32]:
    rows = np.full((len(own), game.squares, DIRECTIONS), -1, np.int32)
    write_rows(planes_of(game, own, opp), *lines_of(game.size), rows)
    return rows


def bases(size: int) -> dict[tuple[str, int], int]:
    """Where each class begins, straight lines from the edge inwards and then diagonals from the longest."""
    found, base = {}, 0
    for key, length in [
        *((("straight", distance), size) for distance in range((size + 1) // 2)),
        *((("diagonal", length), length) for length in range(size, 0, -1)),
    ]:
        found[key] = base
        base += 3**length * length
    assert base == table_rows(size)
    return found


Line = tuple[tuple[str, int], tuple[int, ...], int]
"""Class, digits and place of a square in a line."""


def line_through(size: int, board: oracle.Board, square: oracle.Square, direction: int) -> Line:
    step = STEPS[direction]
    row, col = square
    while (row - step[0], col - step[1]) in board:
        row, col = row - step[0], col - step[1]
    squares = []
    while (row, col) in board:
        squares.append((row, col))
        row, col = row + step[0], col + step[1]
    at = square[direction] if direction < 2 else 0
    key = ("straight", min(at, size - 1 - at)) if direction < 2 else ("diagonal", len(squares))
    digits = tuple({"empty": 0, "own": 1, "opp": 2}[board[each]] for each in squares)
    return key, digits, squares.index(square)


def lines_through(game: Game, own: int, opp: int) -> list[list[Line]]:
    """The four lines of every square, slow and obvious."""
    board = oracle.board_of(game, own, opp)
    return [[line_through(game.size, board, square, d) for d in range(DIRECTIONS)] for square in board]


def test_a_row_by_hand() -> None:
    own, opp = np.array([1 << 0 | 1 << 2 | 1 << 8], np.uint64), np.array([1 << 1 | 1 << 9], np.uint64)
    corner, beside, *_ = rows_of(game_named("reversi6"), own, opp)[0].tolist()
    top = 1 + 2 * 3 + 1 * 9  # own, opp, own
    assert corner[0] == top * 6 + 0
    assert beside[0] == top * 6 + 1
    assert corner[1] == (1 + 1 * 3) * 6 + 0, "the left edge, own and own, has the rows of the top one"
    assert beside[1] == 3**6 * 6 + (2 + 2 * 3) * 6 + 0, "the next column is of the next class"
    assert corner[2] == 3 * 3**6 * 6 + (1 + 2 * 3) * 6 + 0, "the long diagonal, own and opp"
    assert corner[3] == table_rows(6) - 3 + 1, "the diagonal of the corner alone is the last class"
    assert beside[3] == table_rows(6) - 3 - 9 * 2 + (2 + 1 * 3) * 2 + 0, "down to the left: opp, own"


@pytest.mark.parametrize(("size", "rows"), [(3, 264), (4, 1_074), (6, 19_137), (8, 283_764)])
def test_the_table_has_a_row_for_every_pattern_and_place(size: int, rows: int) -> None:
    assert table_rows(size) == rows
    assert rows == sum(3**n * n for n in range(1, size + 1)) + (size + 1) // 2 * 3**size * size
    lines = lines_of(size)
    assert sorted(set(lines.line.flat)) == list(range(line_count(size)))


@EVERY_GAME
@pytest.mark.parametrize("count", [0, 1, 100])
def test_rows_are_those_of_a_slow_twin_with_and_without_torch(game: Game, count: int) -> None:
    own, opp = oracle.scattered(game, count, seed=1)
    rows, base = rows_of(game, own, opp), bases(game.size)
    for b in range(count):
        for square, lines in enumerate(lines_through(game, own[b], opp[b])):
            expected = [
                base[key] + sum(digit * 3**j for j, digit in enumerate(digits)) * len(digits) + place
                for key, digits, place in lines
            ]
            assert rows[b, square].tolist() == expected
    planes = planes_of(game, own, opp)
    for precision in (torch.float32, torch.bfloat16):
        found = LineRows(game.size)(torch.from_numpy(planes).to(precision))
        assert found.dtype == torch.int32
        np.testing.assert_array_equal(found.numpy(), rows)
    innermost = np.ascontiguousarray(planes.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
    again = np.zeros_like(rows)
    write_rows(innermost, *lines_of(game.size), again)
    np.testing.assert_array_equal(again, rows)


@EVERY_GAME
@pytest.mark.parametrize("symmetry", range(SYMMETRIES))
def test_a_symmetry_keeps_classes_and_contents_and_may_turn_the_reading(game: Game, symmetry: int) -> None:
    def either_way(line: Line) -> tuple[object, ...]:
        key, digits, place = line
        return key, *min((digits, place), (digits[::-1], len(digits) - 1 - place))

    own, opp = oracle.scattered(game, 20, seed=2)
    there = [transform_masks(game.id, masks, symmetry) for masks in (own, opp)]
    goes = action_table(game)[symmetry]
    for b in range(20):
        before, after = lines_through(game, own[b], opp[b]), lines_through(game, there[0][b], there[1][b])
        for square, lines in enumerate(before):
            assert sorted(map(either_way, lines)) == sorted(map(either_way, after[goes[square]]))


@EVERY_GAME
@pytest.mark.parametrize(
    ("symmetry", "pairs"),
    [
        (4, [(0, 1), (1, 0), (2, 2)]),  # rows become columns, read the same way
        (2, [(0, 0)]),  # the board upside down
        (1, [(1, 1), (2, 3), (3, 2)]),  # left and right changed: diagonals are read downwards, both
    ],
)
def test_lines_that_are_read_the_same_way_share_their_rows(
    game: Game, symmetry: int, pairs: list[tuple[int, int]]
) -> None:
    own, opp = oracle.scattered(game, 50, seed=3)
    there = [transform_masks(game.id, masks, symmetry) for masks in (own, opp)]
    rows, goes = rows_of(game, own, opp), action_table(game)[symmetry, :-1]
    images = rows_of(game, *there)[:, goes]
    for here, other in pairs:
        np.testing.assert_array_equal(images[..., other], rows[..., here])


def test_shared_rows_by_hand() -> None:
    """A line of three: own, opp, empty at its first square is empty, opp, own at its last."""
    first, last = (1 + 2 * 3) * 3 + 0, (2 * 3 + 1 * 9) * 3 + 2
    there = shared_rows(3)
    assert there[first] == there[last]
    assert there[first] != there[first + 2]
    palindrome = (1 + 1 * 9) * 3
    assert there[palindrome] == there[palindrome + 2] != there[palindrome + 1]
    edge, middle = 3**3 * 3 * np.arange(2)
    assert there[edge] != there[middle], "classes share nothing"


@pytest.mark.parametrize(("size", "rows"), [(3, 147), (4, 543), (6, 9_588), (8, 141_942)])
def test_half_of_the_rows_are_learned(size: int, rows: int) -> None:
    shared = shared_rows(size)
    assert len(shared) == table_rows(size)
    assert np.bincount(shared).max() == 2
    assert sorted(set(shared.tolist())) == list(range(rows))
    assert LineTable(size, 1).table.shape == (rows, 1)


@EVERY_GAME
@pytest.mark.parametrize("symmetry", range(SYMMETRIES))
def test_squares_add_up_the_same_shared_rows_on_every_image_of_a_board(game: Game, symmetry: int) -> None:
    own, opp = oracle.scattered(game, 50, seed=5)
    there = [transform_masks(game.id, masks, symmetry) for masks in (own, opp)]
    here, images = (np.sort(shared_rows(game.size)[rows_of(game, *masks)]) for masks in ((own, opp), there))
    np.testing.assert_array_equal(images[:, action_table(game)[symmetry, :-1]], here)


def test_the_table_that_plays_sums_up_to_what_was_learned() -> None:
    game = game_named("reversi6")
    learned, planes = LineTable(6, 4), torch.from_numpy(planes_of(game, *oracle.scattered(game, 20, seed=7)))
    torch.nn.init.normal_(learned.table)
    torch.testing.assert_close(summed_rows(learned.unshared(), learned.rows(planes)), learned(planes))


@EVERY_GAME
@pytest.mark.parametrize("count", [0, 1, 33])
def test_sums_are_of_four_rows_with_and_without_torch(game: Game, count: int) -> None:
    rows = rows_of(game, *oracle.scattered(game, count, seed=4))
    table = np.random.default_rng(0).normal(size=(table_rows(game.size), 5)).astype(np.float32)
    expected = table[rows].sum(2)
    found = summed_rows(torch.from_numpy(table), torch.from_numpy(rows))
    assert found.shape == (count, 5, game.size, game.size)
    assert found.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(found.flatten(2).transpose(1, 2).numpy(), expected, atol=1e-5)
    for strides, order in (((game.squares, 1), (0, 1, 2)), ((1, count), (1, 0, 2))):
        out = np.zeros((count * game.squares, 5), np.float32)
        sum_rows(table, rows, *strides, out)
        np.testing.assert_allclose(out, expected.transpose(order).reshape(out.shape), atol=1e-5)


def test_a_rows_gradient_is_counted_once_for_every_look() -> None:
    game = game_named("reversi4")
    own, opp = oracle.scattered(game, 30, seed=6)
    made = LineTable(4, 3)
    made(torch.from_numpy(planes_of(game, own, opp))).sum().backward()
    assert made.table.grad is not None
    looks = np.bincount(shared_rows(4)[rows_of(game, own, opp)].ravel(), minlength=543)
    np.testing.assert_array_equal(made.table.grad[:, 1].numpy(), looks)
