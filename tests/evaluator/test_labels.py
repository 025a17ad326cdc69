from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from evaluator.labels import Labels, draw_positions, load_labels, make_labels, save_labels
from reversi.errors import CorruptFileError, UsageError
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.games.symmetry import canonical
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import Solver

GAME = GAMES["reversi6"]


@pytest.fixture(scope="module")
def labels() -> Labels:
    return make_labels(GAME, range(5, 11), 50, seed=3)


def test_positions_are_distinct_and_spread_over_the_numbers_of_empty_squares(labels: Labels) -> None:
    assert dict(zip(*np.unique(labels.empties, return_counts=True), strict=True)) == {
        5: 9,
        6: 9,
        7: 8,
        8: 8,
        9: 8,
        10: 8,
    }
    images = {canonical(GAME.id, own, opp)[:2] for own, opp in zip(labels.own, labels.opp, strict=True)}
    assert len(images) == len(labels) == 50
    np.testing.assert_array_equal(np.bitwise_count(labels.own | labels.opp), 36 - labels.empties)


def test_every_legal_move_has_its_score(labels: Labels) -> None:
    solver = Solver(GAME, table_bits=14)
    for b in range(0, 50, 5):
        position = Position(GAME, int(labels.own[b]), int(labels.opp[b]))
        scores = {int(a): int(labels.scores[b, a]) for a in np.flatnonzero(labels.scores[b] != NO_SCORE)}
        assert scores == solver.solve_moves(position.own, position.opp).moves
        assert len(position.legal_actions()) == len(scores) >= 2


def test_the_seed_alone_decides(labels: Labels) -> None:
    told: list[tuple[int, int, str]] = []
    again = make_labels(GAME, range(5, 11), 50, 3, threads=2, progress=lambda *report: told.append(report))
    assert again.hash == labels.hash
    assert labels.hash.startswith("d0960fa8e5e1")
    assert [told[0][1:], told[-1]] == [(50, "drawn"), (50, 50, "solved")]
    assert make_labels(GAME.name, range(5, 11), 50, seed=4).hash != labels.hash


def test_both_sides_win_some(labels: Labels) -> None:
    best = labels.scores.max(1)
    assert 5 <= (best > 0).sum() <= 45


def test_saved_and_loaded_they_are_the_same(labels: Labels, tmp_path: Path) -> None:
    save_labels(labels, tmp_path / "labels")
    loaded = load_labels(tmp_path / "labels")
    assert (loaded.game, loaded.seed, loaded.hash) == ("reversi6", 3, labels.hash)
    np.testing.assert_array_equal(loaded.scores, labels.scores)


def test_a_damaged_file_is_refused(labels: Labels, tmp_path: Path) -> None:
    path = tmp_path / "labels"
    save_labels(labels, path)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptFileError, match="checksum"):
        load_labels(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptFileError, match="cannot be read"):
        load_labels(path)


@pytest.mark.parametrize("field", ["own", "empties", "scores"])
def test_labels_that_contradict_themselves_are_refused(labels: Labels, tmp_path: Path, field: str) -> None:
    array = getattr(labels, field).copy()
    if field == "scores":
        array[0, np.flatnonzero(array[0] != NO_SCORE)[0]] = NO_SCORE
    else:
        array[0] = labels.opp[0] if field == "own" else 1
    save_labels(dataclasses.replace(labels, **{field: array}), tmp_path / "labels")
    with pytest.raises(CorruptFileError, match="a score for every legal move"):
        load_labels(tmp_path / "labels")


def test_what_cannot_be_made_is_said() -> None:
    for empties, got in ((range(30, 41), "30-40"), (range(1, 4), "1-3")):
        with pytest.raises(UsageError, match=f"expected from 2 to 32 empty squares in reversi6, got {got}"):
            make_labels(GAME, empties, 10, seed=0)
    with pytest.raises(UsageError, match="expected 500 distinct positions of reversi4, but found only"):
        make_labels(GAMES["reversi4"], range(11, 12), 500, seed=0)


def test_every_position_has_a_choice_even_near_the_end() -> None:
    made = make_labels(GAME, range(2, 5), 30, seed=1)
    assert ((made.scores != NO_SCORE).sum(1) >= 2).all()


def test_positions_that_have_become_too_rare_are_not_waited_for() -> None:
    """Of some 2,150 positions the last ones would take 500,000 games; a request for many more is refused early."""
    with pytest.raises(
        UsageError, match=r"expected 100000 distinct positions of reversi4, but found only \d+ in \d+ games"
    ) as error:
        draw_positions(GAMES["reversi4"], range(2, 4), 100_000, 0, 1)
    assert int(str(error.value).partition(" games")[0].split()[-1]) < 100_000


def test_numbers_of_empty_squares_with_too_few_positions_are_named() -> None:
    """Before the first move and after it there is a single position up to symmetry."""
    with pytest.raises(UsageError, match=r" games: too few with 11, 12 empty squares$"):
        make_labels(GAMES["reversi4"], range(9, 13), 8, seed=0)
