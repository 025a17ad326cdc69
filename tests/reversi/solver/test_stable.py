"""Stable discs against a plain count by the same rule, and against what happens to them when games go on."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.solver.stable import stable_bound, stable_discs
from reversi.solver.variant import variant_of

BOARDS = ("reversi4", "reversi6", "reversi8")
AXES = ((0, 1), (1, 0), (1, 1), (1, -1))


def stable(position: Position, discs: int) -> int:
    """What the kernel says of one side's discs."""
    empty = position.game.board_mask & ~(position.own | position.opp)
    return int(stable_discs(variant_of(position.game.id, False), np.uint64(discs), np.uint64(empty)))


def plain_stable(position: Position, discs: int) -> int:
    """The rule square by square: on each axis a full line, the border or a stable neighbour."""
    size, taken = position.game.size, position.own | position.opp
    found: set[tuple[int, int]] = set()

    def ray(square: tuple[int, int], step: tuple[int, int]) -> Iterator[tuple[int, int]]:
        row, col = square[0] + step[0], square[1] + step[1]
        while 0 <= row < size and 0 <= col < size:
            yield row, col
            row, col = row + step[0], col + step[1]

    def held(square: tuple[int, int], axis: tuple[int, int]) -> bool:
        ways = [list(ray(square, axis)), list(ray(square, (-axis[0], -axis[1])))]
        return (
            all(taken >> (8 * row + col) & 1 for way in ways for row, col in way)
            or any(not way for way in ways)
            or any(way[0] in found for way in ways)
        )

    squares = [(row, col) for row in range(size) for col in range(size) if discs >> (8 * row + col) & 1]
    while more := {square for square in squares if all(held(square, axis) for axis in AXES)} - found:
        found |= more
    return sum(1 << (8 * row + col) for row, col in found)


def walk(name: str, rng: random.Random, position: Position | None = None) -> Iterator[Position]:
    """The positions of a random game, from the start or from `position` on."""
    position = position or Position.start(name)
    yield position
    while not position.is_over:
        position = position.play(rng.choice(position.legal_actions()))
        yield position


@pytest.mark.parametrize("name", BOARDS)
def test_they_equal_a_plain_count(name: str) -> None:
    rng, found = random.Random(1), 0
    for _ in range(60):
        for position in walk(name, rng):
            for discs in (position.own, position.opp):
                assert stable(position, discs) == plain_stable(position, discs), str(position)
                found += stable(position, discs).bit_count()
    assert found > 500


@pytest.mark.parametrize("name", BOARDS)
def test_they_keep_their_colour_whatever_is_played(name: str) -> None:
    rng, kept = random.Random(2), 0
    for _ in range(40):
        game = list(walk(name, rng))
        for position in rng.sample(game, 5):
            black, white = stable(position, position.black), stable(position, position.white)
            for _ in range(4):
                *_, last = walk(name, rng, position)
                assert black & ~last.black == 0, str(position)
                assert white & ~last.white == 0, str(position)
                kept += (black | white).bit_count()
    assert kept > 500


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("winner", [False, True])
def test_no_game_ends_above_the_bound(name: str, winner: bool) -> None:
    rng, reached = random.Random(3), 0
    for _ in range(100):
        game = list(walk(name, rng))
        empties = game[-1].game.squares - (game[-1].own | game[-1].opp).bit_count()
        black = game[-1].black_margin
        black += winner * empties * ((black > 0) - (black < 0))
        for position in game:
            variant = variant_of(position.game.id, winner)
            empty = position.game.board_mask & ~(position.own | position.opp)
            bound = stable_bound(variant, np.uint64(position.opp), np.uint64(empty))
            score = black if position.black_to_move else -black
            assert score <= bound, str(position)
            reached += score == bound
    assert reached > 50


def test_nothing_is_stable_at_the_start_and_everything_on_a_full_board() -> None:
    for name in BOARDS:
        start = Position.start(name)
        assert stable(start, start.own) == stable(start, start.opp) == 0
    full = Position.parse("XOXO" * 4 + " X", GAMES["reversi4"])
    assert stable(full, full.own) | stable(full, full.opp) == GAMES["reversi4"].board_mask


def test_discs_from_a_corner_along_the_edge_are_stable_and_those_behind_a_gap_are_not() -> None:
    position = Position.parse("XXXO-XXX" + "XX------" + "XOOO----" + "-" * 40 + " X", GAMES["reversi8"])
    assert stable(position, position.own) == 0b11100111 | 0b11 << 8 | 1 << 16
    assert stable(position, position.opp) == 0
