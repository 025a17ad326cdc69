"""Openings are distinct up to symmetry, unfinished and seeded; a bad file is refused with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.openings import fewest_plies, load_openings, random_openings
from reversi.errors import ConfigError, UsageError
from reversi.games.position import Position
from reversi.games.rules import GAMES, NO_ACTION, UNFINISHED, Game, outcome
from reversi.games.symmetry import canonical


def images(openings: object, game_id: int) -> set[tuple[int, int]]:
    own, opp = openings.own, openings.opp  # type: ignore[attr-defined]
    return {tuple(map(int, canonical(game_id, a, b)[:2])) for a, b in zip(own, opp, strict=True)}  # type: ignore[misc]


@pytest.mark.parametrize(("name", "count", "plies"), [("reversi6", 200, 6), ("reversi8", 200, 6), ("reversi4", 200, 7)])
def test_random_openings_are_distinct_up_to_symmetry_and_unfinished(name: str, count: int, plies: int) -> None:
    game = GAMES[name]
    openings = random_openings(game, count, plies, 1)
    assert len(openings) == count
    assert len(images(openings, game.id)) == count
    assert all(outcome(game.id, a, b) == UNFINISHED for a, b in zip(openings.own, openings.opp, strict=True))
    discs = [int(a | b).bit_count() for a, b in zip(openings.own, openings.opp, strict=True)]
    assert max(discs) == plies + 4
    assert openings.black_to_move.tolist() == [plies % 2 == 0] * count


def test_the_seed_decides_which() -> None:
    game = GAMES["reversi6"]
    one, again, other = (random_openings(game, 50, 6, seed) for seed in (1, 1, 2))
    assert (one.own == again.own).all()
    assert (one.own != other.own).any()
    assert (random_openings(game, 50, 6, (1, 7)).own != random_openings(game, 50, 6, (1, 8)).own).any()


@pytest.mark.parametrize(
    ("name", "count", "digest"), [("reversi6", 200, "ad376a0d652353ef"), ("reversi8", 500, "2f8de4a86b292755")]
)
def test_the_openings_of_a_seed_never_change(name: str, count: int, digest: str) -> None:
    """Results that were published can be played again from the same ones."""
    assert random_openings(GAMES[name], count, None, 1).digest.startswith(digest)


@pytest.mark.parametrize(("plies", "positions"), [(1, 1), (2, 3), (3, 14), (4, 60), (5, 322)])
def test_every_position_up_to_symmetry_is_found_and_one_more_is_refused(plies: int, positions: int) -> None:
    game = GAMES["reversi8"]
    assert len(images(random_openings(game, positions, plies, 1), game.id)) == positions
    assert len(images(random_openings(game, positions + 9, plies, 1, least=positions), game.id)) == positions
    with pytest.raises(ConfigError, match=f"expected {positions + 1} distinct .* found only {positions};"):
        random_openings(game, positions + 1, plies, 1)


def test_where_a_game_has_too_few_to_choose_from_the_least_count() -> None:
    game = GAMES["tictactoe"]
    with pytest.raises(ConfigError, match="expected 1000 distinct openings in tictactoe"):
        random_openings(game, 1000, None, 1)
    assert 50 <= len(random_openings(game, 1000, None, 1, least=50)) < 1000


def test_the_positions_are_those_that_a_whole_tree_reaches() -> None:
    def reached(position: Position, plies: int) -> set[tuple[int, int]]:
        if plies == 0:
            own, opp, _ = canonical(position.game.id, np.uint64(position.own), np.uint64(position.opp))
            return {(int(own), int(opp))}
        return set().union(*(reached(position.play(action), plies - 1) for action in position.legal_actions()))

    expected = reached(Position.start("reversi6"), 4)
    assert images(random_openings(GAMES["reversi6"], len(expected), 4, 3), GAMES["reversi6"].id) == expected


def test_a_file_of_openings_is_read_with_comments_and_colours(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("# three openings\n\nf5d6c3  # tiger\nF5 F6\nf5d6c4d3\n", encoding="utf-8")
    openings = load_openings(path, GAMES["reversi8"])
    expected = [
        Position.start("reversi8").play("f5").play("d6").play("c3"),
        Position.start("reversi8").play("f5").play("f6"),
        Position.start("reversi8").play("f5").play("d6").play("c4").play("d3"),
    ]
    assert openings.own.tolist() == [p.own for p in expected]
    assert openings.opp.tolist() == [p.opp for p in expected]
    assert openings.black_to_move.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("f5d6\n\nf5d3\n", 3, "expected a legal move at ply 2, got 'd3'"),
        ("f5d6\nf5z9\n", 2, "expected a move like d3"),
        ("f5d6\n# a comment\nc4e3\n", 3, "that of line 1 up to symmetry"),
        ("f5f6e6f4e3c5c4d3 g5\nf5d6c5f4e3f6g5e6e7\n", 2, "finished game"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "openings.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says) as error:
        load_openings(path, GAMES["reversi8"])
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert "\n" not in str(error.value)


def test_a_file_without_openings_or_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, says in (
        ("empty.txt", "got none"),
        ("missing.txt", "it does not exist"),
        ("binary", "not text"),
        (".", "directory"),
    ):
        with pytest.raises(UsageError, match=says):
            load_openings(tmp_path / name, GAMES["reversi8"])


@pytest.mark.parametrize(
    ("name", "count", "plies"), [("reversi6", 200, 5), ("reversi8", 200, 5), ("reversi4", 20, 4), ("reversi6", 1, 0)]
)
def test_the_fewest_plies_with_openings_to_spare_are_taken(name: str, count: int, plies: int) -> None:
    game = GAMES[name]
    assert fewest_plies(game, count) == plies
    openings = random_openings(game, count, None, 3)
    discs = [bin(int(own) | int(opp)).count("1") for own, opp in zip(openings.own, openings.opp, strict=True)]
    assert set(discs) == {4 + plies}


def test_a_game_with_too_few_openings_says_so() -> None:
    with pytest.raises(ConfigError, match="expected 500 distinct openings in tictactoe"):
        fewest_plies(GAMES["tictactoe"], 500)


def test_openings_that_have_become_too_rare_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """6x6 has about 3,900 openings of 7 plies; without patience only a hopeless request is refused."""
    game = GAMES["reversi6"]
    monkeypatch.setattr("evaluator.openings.PATIENCE", 10**9)
    with pytest.raises(ConfigError, match="expected 100000 distinct openings of 7 plies"):
        random_openings(game, 100_000, 7, 0)


def after(game: Game, actions: NDArray[np.int8]) -> Position:
    position = Position.start(game)
    for action in actions[actions != NO_ACTION].tolist():
        position = position.play(action)
    return position


def test_the_actions_of_an_opening_lead_to_it(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("f5d6c3\nF5 F6\nf5f6e6f4e3c5c4\nd3c3e6d2d1e1b3c1 b4\n", encoding="utf-8")
    game = GAMES["reversi8"]
    for openings in (random_openings(game, 50, 12, 1), random_openings(game, 5, 3, 1), load_openings(path, game)):
        for b, actions in enumerate(openings.actions):
            expected = Position(game, int(openings.own[b]), int(openings.opp[b]), bool(openings.black_to_move[b]))
            assert after(game, actions) == expected
    assert [(row != NO_ACTION).sum() for row in load_openings(path, game).actions] == [3, 2, 7, 10]


def test_openings_are_taken_by_number_with_all_they_have() -> None:
    openings = random_openings(GAMES["reversi6"], 20, 5, 1)
    taken = openings.take(np.array([7, 0, 19]))
    assert taken.own.tolist() == openings.own[[7, 0, 19]].tolist()
    assert taken.opp.tolist() == openings.opp[[7, 0, 19]].tolist()
    assert taken.actions.tolist() == openings.actions[[7, 0, 19]].tolist()
    assert len(taken) == len(taken.black_to_move) == 3
