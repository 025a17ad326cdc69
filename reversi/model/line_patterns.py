"""Line patterns: the discs on a row, column or diagonal as an index of a row in a learned table.

A line's squares are read in ascending row order, those of a board row in ascending column order.  Own discs are digit
1, the opponent's 2, empty squares 0; digit j has the weight 3**j, and the sum is the line's pattern.  A square sums
four rows of the table, one for each line through it:

    row of the table = base of the line's class + pattern * length of the line + place of the square in the line

Lines that a symmetry of the board maps to each other belong to one class and share their rows: rows and columns at the
same distance from the edge, and diagonals and anti-diagonals of one length.  Their reading directions may differ.

Training also identifies a line with its reversal: `shared_rows` maps both to one parameter row, so that a square's sum
is the same on every symmetric image of a board.  The table used for play has all rows separately, so that no line needs
to be reversed.

Othello programs since Logistello have evaluated edge and diagonal patterns: Buro 1997, "Experiments with Multi-ProbCut
and a new high-quality evaluation function for Othello".  No torch here.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.kernels.kernel import kernel

DIRECTIONS = 4
"""Lines through a square, in this order: row, column, diagonal, anti-diagonal."""


class LinePatterns(NamedTuple):
    """The lines of an N by N board, by square (row * N + column) and direction."""

    line: NDArray[np.int32]  # [N*N, 4]  number of the line, below `line_count`
    step: NDArray[np.int32]  # [N*N, 4]  contribution of a digit 1 on the square to pattern * length of that line
    offset: NDArray[np.int32]  # [N*N, 4]  base of the line's class + place of the square in the line


def line_count(size: int) -> int:
    """Return the number of lines of a board with `size` squares a side, one-square diagonals included."""
    return 6 * size - 2


def table_rows(size: int) -> int:
    """Return R, the rows of the table: 264 for 3x3, 1,074 for 4x4, 19,137 for 6x6, 283,764 for 8x8."""
    return sum(3**length * length for length in _class_lengths(size).values())


@functools.cache
def lines_of(size: int) -> LinePatterns:
    """Return the lines of a board of `size` squares a side."""
    made = LinePatterns(*(np.zeros((size * size, DIRECTIONS), np.int32) for _ in LinePatterns._fields))
    bases: dict[_Class, int] = {}
    base = 0
    for key, length in _class_lengths(size).items():
        bases[key] = base
        base += 3**length * length
    for number, (direction, key, squares) in enumerate(_walks(size)):
        for place, square in enumerate(squares):
            made.line[square, direction] = number
            made.step[square, direction] = 3**place * len(squares)
            made.offset[square, direction] = bases[key] + place
    return made


def line_squares(size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the lines of a board of `size` squares a side, by their numbers.

    squares  int64[lines, N]  squares of every line; shorter lines are padded with squares of step 0
    steps    int32[lines, N]  contribution of a digit 1 on that square, as in `LinePatterns.step`
    """
    shape = line_count(size), size
    squares, steps = np.zeros(shape, np.int64), np.zeros(shape, np.int32)
    for number, (_, _, line) in enumerate(_walks(size)):
        squares[number, : len(line)] = line
        steps[number, : len(line)] = 3 ** np.arange(len(line)) * len(line)
    return squares, steps


@functools.cache
def shared_rows(size: int) -> NDArray[np.int32]:
    """Return int32[R]: the parameter row of each row of the table.

    A pattern and a place in it share one with the reversed pattern and the place counted from the other end, which
    leaves 147 rows for 3x3, 543 for 4x4, 9,588 for 6x6 and 141,942 for 8x8.
    """
    firsts, base = [], 0
    for length in _class_lengths(size).values():
        rows = np.arange(3**length * length)
        patterns, places = np.divmod(rows, length)
        turned = sum(patterns // 3**place % 3 * 3 ** (length - 1 - place) for place in range(length))
        firsts.append(base + np.minimum(rows, turned * length + length - 1 - places))
        base += len(rows)
    _, shared = np.unique(np.concatenate(firsts), return_inverse=True)
    return shared.astype(np.int32)


_Class = tuple[str, int]
"""A class of lines: `straight` and the distance from the edge, or `diagonal` and the length."""


def _class_lengths(size: int) -> dict[_Class, int]:
    """Return the line length of each class, in the order of their rows: 3**length * length rows each."""
    lengths: dict[_Class, int] = {("straight", distance): size for distance in range((size + 1) // 2)}
    lengths |= {("diagonal", length): length for length in range(size, 0, -1)}
    return lengths


def _walks(size: int) -> list[tuple[int, _Class, list[int]]]:
    """Return direction, class and squares of every line, the squares in reading order."""
    side = range(size)
    lines: list[tuple[int, _Class, list[int]]] = []
    for at in side:
        key: _Class = ("straight", min(at, size - 1 - at))
        lines.append((0, key, [size * at + col for col in side]))
        lines.append((1, key, [size * row + at for row in side]))
    for at in range(2 * size - 1):
        diagonal = [size * row + col for row in side for col in side if col - row == at - size + 1]
        anti = [size * row + col for row in side for col in side if col + row == at]
        lines += [(2, ("diagonal", len(diagonal)), diagonal), (3, ("diagonal", len(anti)), anti)]
    return lines


@kernel
def write_rows(
    planes: NDArray[np.float32],
    line: NDArray[np.int32],
    step: NDArray[np.int32],
    offset: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the four rows of the table for every square.

    planes              float32[B, 4, N, N] of `write_planes`, with any strides; only the first two are read, and no
                        square may be set in both
    line, step, offset  of `lines_of(N)`
    out                 int32[B, N*N, 4] written
    """
    size = planes.shape[2]
    patterns = np.zeros(6 * size - 2, np.int32)
    for b in range(planes.shape[0]):
        patterns[:] = 0
        for row in range(size):
            for col in range(size):
                digit = np.int32(planes[b, 0, row, col]) + 2 * np.int32(planes[b, 1, row, col])
                square = size * row + col
                for d in range(DIRECTIONS):
                    patterns[line[square, d]] += digit * step[square, d]
        for square in range(size * size):
            for d in range(DIRECTIONS):
                out[b, square, d] = patterns[line[square, d]] + offset[square, d]


@kernel
def sum_rows(
    table: NDArray[np.float32], rows: NDArray[np.int32], by_position: int, by_square: int, out: NDArray[np.float32]
) -> None:
    """Write the sum of every square's four rows.

    table  float32[R, C]
    rows   int32[B, N*N, 4] of `write_rows`
    out    float32[B*N*N, C] written: square s of position b at b * by_position + s * by_square
    """
    for b in range(rows.shape[0]):
        for square in range(rows.shape[1]):
            row, column, diagonal, anti = rows[b, square]
            total = out[b * by_position + square * by_square]
            for c in range(table.shape[1]):
                total[c] = table[row, c] + table[column, c] + table[diagonal, c] + table[anti, c]
