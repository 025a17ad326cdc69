"""The rules of every game: facts, the tricky positions, and the oracle on thousands of boards."""

from pathlib import Path

import numpy as np
import pytest

from reversi.errors import UsageError
from reversi.games.position import Position
from reversi.games.rules import (
    GAMES,
    UNFINISHED,
    action_of_square,
    game_named,
    legal_actions_mask,
    legal_masks,
    legal_moves,
    list_actions,
    outcome,
    outcomes,
    pass_of,
    play,
    play_batch,
    reversi_of_size,
    square_of_action,
    wipeouts,
)
from tests.reversi.games import oracle

ALL = pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
TRICKY = [
    [column.strip() for column in line.split("|")]
    for line in (Path(__file__).parent / "tricky_positions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reversi4", "-----OX--XO----- X"),
        ("reversi6", "--------------OX----XO-------------- X"),
        ("reversi8", "---------------------------OX------XO--------------------------- X"),
        ("tictactoe", "--------- X"),
    ],
)
def test_the_start_has_white_on_the_falling_diagonal_and_black_to_move(name, text):
    assert str(Position.start(name)) == text


@ALL
def test_a_game_knows_its_numbers(game):
    assert list(GAMES)[game.id] == game.name
    assert (game.squares, game.actions, game.pass_action) == (game.size**2, game.size**2 + 1, game.size**2)
    assert game.board_mask.bit_count() == game.squares
    for action in range(game.squares):
        square = square_of_action(game.id, action)
        assert square == 8 * (action // game.size) + action % game.size
        assert game.board_mask >> square & 1
        assert action_of_square(game.id, square) == action
    assert square_of_action(game.id, game.pass_action) == 64
    assert action_of_square(game.id, 64) == pass_of(game.id) == game.pass_action
    assert sum(action_of_square(game.id, square) == -1 for square in range(64)) == 64 - game.squares


def test_a_game_that_is_not_there_is_a_usage_error_with_the_choices():
    with pytest.raises(UsageError, match=r"reversi4, reversi6, reversi8, tictactoe, got 'chess'"):
        game_named("chess")
    with pytest.raises(UsageError, match="4, 6 or 8, got 7"):
        reversi_of_size(7)
    assert reversi_of_size(6) is game_named("reversi6")


@pytest.mark.parametrize("columns", TRICKY, ids=lambda columns: f"{columns[1]}: {columns[0]}")
def test_tricky_positions(columns):
    text, legal, margin = columns[1:4]
    position = Position.parse(text)
    assert position.legal_moves() == ([] if legal == "over" else legal.split())
    assert position.is_over == (legal == "over")
    assert position.black_margin == int(margin)
    if len(columns) > 4:
        move, after = columns[4:]
        assert str(position.play(move)) == after


def test_the_tricky_positions_cover_what_perft_does_not():
    shown = "".join(columns[0] for columns in TRICKY)
    for word in ("pass", "two passes", "wiped out", "wipes out", "full board", "right edge", "left edge", "corner"):
        assert shown.count(word) >= 3, word


@ALL
def test_kernels_equal_the_oracle_on_scattered_boards(game):
    own, opp = oracle.scattered(game, 1000, seed=game.id)
    over = 0
    for b in range(len(own)):
        over += _check_against_oracle(game, own[b], opp[b])
    assert 20 < over < 980


@ALL
def test_kernels_equal_the_oracle_along_random_games_to_their_end(game):
    rng = np.random.default_rng(game.id)
    for _ in range(25):
        own, opp, plies = np.uint64(game.start_own), np.uint64(game.start_opp), 0
        while not _check_against_oracle(game, own, opp):
            legal = int(legal_moves(game.id, own, opp))
            squares = [square for square in range(64) if legal >> square & 1]
            action = action_of_square(game.id, rng.choice(squares)) if squares else game.pass_action
            own, opp = map(np.uint64, play(game.id, own, opp, action))
            plies += 1
        assert plies <= game.max_plies


def _check_against_oracle(game, own, opp):
    """Compare legal moves, their list, outcome and the result of every move; return whether the game is over."""
    board = oracle.board_of(game, own, opp)
    moves, margin = oracle.moves(game, board), oracle.margin(game, board)
    assert legal_moves(game.id, own, opp) == sum(1 << (8 * row + col) for row, col in moves)
    assert outcome(game.id, own, opp) == (UNFINISHED if margin is None else margin)
    if margin is None:
        actions = np.empty(game.actions, np.int64)
        count = list_actions(game.id, own, opp, actions)
        assert actions[:count].tolist() == (sorted(row * game.size + col for row, col in moves) or [game.pass_action])
        for square in moves or [None]:
            action = game.pass_action if square is None else square[0] * game.size + square[1]
            assert play(game.id, own, opp, action) == oracle.masks_of(oracle.played(game, board, square))
    return margin is not None


@ALL
def test_wipeouts_are_the_moves_that_leave_the_other_side_without_a_disc(game):
    rng, found = np.random.default_rng(game.id), 0
    squares = [8 * row + col for row in range(game.size) for col in range(game.size)]
    for _ in range(3000):
        rng.shuffle(squares)
        few, many = rng.integers(0, 5), rng.integers(0, game.squares // 2)
        own, opp = (sum(1 << square for square in some) for some in (squares[few : few + many], squares[:few]))
        position = Position(game, own, opp)
        wiping = [int(action) for action in position.legal_actions() if not position.play(action).own]
        expected = sum(1 << square_of_action(game.id, action) for action in wiping) if game.name != "tictactoe" else 0
        assert wipeouts(game.id, np.uint64(own), np.uint64(opp)) == expected
        found += expected > 0
    assert found > 200 or game.name == "tictactoe"


@ALL
@pytest.mark.parametrize("count", [0, 1, 2, 257])
def test_batches_equal_the_scalars(game, count):
    own, opp = oracle.scattered(game, count, seed=count)
    masks = np.full(count, 7, np.uint64)
    flags = np.full((count, game.actions), 7, np.uint8)
    truth = np.zeros((count, game.actions), np.bool_)
    ends = np.full(count, 7, np.int16)
    legal_masks(game.id, own, opp, masks)
    legal_actions_mask(game.id, own, opp, flags)
    legal_actions_mask(game.id, own, opp, truth)
    outcomes(game.id, own, opp, ends)
    assert [legal_moves(game.id, *pair) for pair in zip(own, opp, strict=True)] == masks.tolist()
    assert [outcome(game.id, *pair) for pair in zip(own, opp, strict=True)] == ends.tolist()
    assert np.array_equal(flags, truth)
    for b in range(count):
        position = Position(game, int(own[b]), int(opp[b]))
        assert np.flatnonzero(flags[b]).tolist() == position.legal_actions()


@ALL
def test_playing_a_batch_equals_playing_each(game):
    own, opp = oracle.scattered(game, 400, seed=9)
    pairs = [(o, p) for o, p in zip(own, opp, strict=True) if outcome(game.id, o, p) == UNFINISHED]
    own, opp = (np.array(each, np.uint64) for each in zip(*pairs, strict=True))
    flags = np.zeros((len(own), game.actions), np.uint8)
    legal_actions_mask(game.id, own, opp, flags)
    actions = flags.argmax(axis=1).astype(np.int32)
    expected = [play(game.id, *pair, action) for pair, action in zip(pairs, actions, strict=True)]
    play_batch(game.id, own, opp, actions)
    assert list(zip(own.tolist(), opp.tolist(), strict=True)) == expected
    play_batch(game.id, own[:0], opp[:0], actions[:0])
