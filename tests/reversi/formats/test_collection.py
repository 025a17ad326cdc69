"""Lists of moves become games: what is sound replays as the rules say, what is not is named by game and ply."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reversi.formats.collection import END_OF_MOVES, Collection, MoveLists, replayed
from reversi.formats.transcripts import Transcripts
from reversi.games.notation import PASS
from reversi.games.position import Position
from reversi.games.rules import GAMES, game_named
from reversi.games.symmetry import action_table, transform_masks
from reversi.record import SEARCHED, UNSEARCHED, check
from tests.reversi.formats.wthor_files import random_game, transcript


def collection(texts: list[str], board: str = "reversi8") -> Collection:
    return replayed(Transcripts(texts).lists(game_named(board)), "games.txt")


@pytest.mark.parametrize("board", list(GAMES))
def test_games_replay_as_position_plays_them(board: str) -> None:
    played = [random_game(seed, board) for seed in range(40)]
    found = collection(["".join(move for move in moves if move != PASS) for moves, _ in played], board)
    assert found.is_good.all()
    assert [found.problem(index) for index in range(40)] == [None] * 40
    passes = 0
    for index, (moves, end) in enumerate(played):
        assert found.moves(index) == moves
        assert found.positions(index)[-1] == end
        assert found.margin[index] == end.black_margin
        assert (found.final_own[index], found.final_opp[index]) == (end.black, end.white)
        passes += moves.count(PASS)
    assert passes > 0 or board == "tictactoe"


def test_records_hold_every_move_as_the_only_one_visited() -> None:
    found = collection([transcript(seed, "reversi4") for seed in range(30)], "reversi4")
    rows = np.array([3, 0, 17, 29])
    records = found.records(rows)
    assert not check(records).any()
    assert len(records) == 4
    is_pass = records.actions == 16
    assert is_pass.any()
    assert (records.ply_kind == np.where(is_pass, UNSEARCHED, SEARCHED)).all()
    assert (records.policy.argmax(axis=1)[~is_pass] == records.actions[~is_pass]).all()
    assert (records.policy.sum(axis=1) == np.where(is_pass, 0, 255)).all()
    assert not records.value.any()
    assert np.array_equal(records.actions[: records.plies[0]], found.actions[3, : found.plies[3]])
    assert len(found.records(rows[:0])) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f5d6c3d3", "ply 5: expected a move, the game stops before its end"),
        ("f5d6d6", "ply 3: expected a legal move, got 'd6'"),
        ("f5a1", "ply 2: expected a legal move, got 'a1'"),
        ("f5pass", "ply 2: expected a legal move, got 'pass'"),
        ("f5d6??", "ply 3: expected a move like d3, got '??'"),
        ("f5 D6 x9 and much more", "ply 3: expected a move like d3, got 'x9 and m'"),
        ("f5d9", "ply 2: expected a move like d3, got 'd9'"),
        ("f5d", "ply 2: expected a move like d3, got 'd'"),
        ("", "ply 1: expected a move like d3, got ''"),
        (transcript(1) + "a1", "expected no move after the end, got 'a1'"),
    ],
)
def test_what_is_wrong_is_named_by_file_game_and_ply(text: str, problem: str) -> None:
    found = collection([transcript(1), text])
    assert found.is_good.tolist() == [True, False]
    said = found.problem(1)
    assert said is not None
    assert said.startswith("games.txt, game 2, ply ")
    assert said.endswith(problem)


def test_a_game_with_a_fault_is_followed_up_to_it() -> None:
    found = collection(["f5d6d6c3"])
    assert found.positions(0)[-1] == Position.start("reversi8").play("f5").play("d6")


def test_any_bytes_as_moves_are_refuted_and_never_played_over_the_end() -> None:
    draw = np.random.default_rng(0)
    for game in GAMES.values():
        moves = draw.integers(0, 256, (300, 200)).astype(np.uint8)
        moves[:150] %= game.actions
        found = replayed(MoveLists.from_start(game, moves), "noise")
        assert not found.is_good.any()
        assert all(found.problem(index) for index in range(300))
        assert (found.plies <= game.max_plies).all()


def test_the_same_game_has_the_same_fingerprint_and_another_game_another() -> None:
    texts = [transcript(seed) for seed in range(200)]
    once, again = collection(texts).fingerprints(), collection(texts[::-1]).fingerprints()
    assert np.array_equal(once, again[::-1])
    assert len(set(once)) == 200
    assert abs((once < np.uint64(2**62)).mean() - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / 200)


@pytest.mark.parametrize("board", list(GAMES))
def test_a_games_images_have_its_fingerprint(board: str) -> None:
    found = collection([transcript(seed, board) for seed in range(20)], board)
    for symmetry in range(8):
        moves = np.full_like(found.actions, END_OF_MOVES)
        played = np.arange(moves.shape[1]) < found.plies[:, None]
        moves[played] = action_table(found.game)[symmetry][found.actions[played]]
        masks = found.lists.start_own, found.lists.start_opp
        own, opp = (transform_masks(found.game.id, mask, symmetry) for mask in masks)
        lists = dataclasses.replace(found.lists, moves=moves, start_own=own, start_opp=opp)
        image = replayed(lists, "image")
        assert image.is_good.all()
        assert np.array_equal(image.fingerprints(), found.fingerprints())
