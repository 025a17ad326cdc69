"""Proof counts every game there is: against a plain recursion, for players that win, lose and break the rules."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import evaluator.proof
from evaluator.proof import Proof, prove
from reversi.errors import IllegalMoveError, UsageError
from reversi.games.bitboard import Masks
from reversi.games.rules import UNFINISHED, Game, game_named, legal_actions_mask, outcome, play
from reversi.players import make_player

TICTACTOE = game_named("tictactoe")


class Lowest:
    """Plays the lowest legal action."""

    name = "lowest"

    def __init__(self, game: Game) -> None:
        self.game = game
        self.asked: list[tuple[int, int]] = []

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        legal = np.zeros((len(own), self.game.actions), np.uint8)
        legal_actions_mask(self.game.id, own, opp, legal)
        self.asked += zip(own.tolist(), opp.tolist(), strict=True)
        return legal.argmax(axis=1).astype(np.int32)


class Broken(Lowest):
    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        return np.zeros(len(own), np.int32)


def slow(game: Game, player: Lowest, moves_first: bool, first_random: bool) -> list[int]:
    """Wins, draws and losses by plain recursion, one game after another."""
    counts = [0, 0, 0]

    def walk(own: np.uint64, opp: np.uint64, ply: int) -> None:
        margin = outcome(game.id, own, opp)
        mine = (ply % 2 == 0) == moves_first
        if margin != UNFINISHED:
            counts[1 - int(np.sign(margin if mine else -margin))] += 1
            return
        masks = np.array([own], np.uint64), np.array([opp], np.uint64)
        legal = np.zeros((1, game.actions), np.uint8)
        legal_actions_mask(game.id, *masks, legal)
        actions = np.flatnonzero(legal[0])
        for action in player.choose(*masks) if mine and not (first_random and ply == 0) else actions:
            walk(*map(np.uint64, play(game.id, own, opp, action)), ply + 1)

    walk(np.uint64(game.start_own), np.uint64(game.start_opp), 0)
    return counts


@pytest.mark.parametrize("first_random", [False, True])
@pytest.mark.parametrize("moves_first", [True, False])
@pytest.mark.parametrize("name", ["tictactoe", "reversi4"])
def test_every_line_is_counted_once(name: str, moves_first: bool, first_random: bool) -> None:
    game = game_named(name)
    player = Lowest(game)
    found = prove(game, player, moves_first=moves_first, first_random=first_random)
    assert len(player.asked) == len(set(player.asked)), "a position is asked about once"
    assert [found.wins, found.draws, found.losses] == slow(game, player, moves_first, first_random)
    assert found.losing_line is not None
    assert lost(game, found, moves_first)


def test_a_search_to_the_end_never_loses_tic_tac_toe() -> None:
    perfect = make_player("alphabeta:9", TICTACTOE, seed=0)
    for moves_first in (True, False):
        found = prove(TICTACTOE, perfect, moves_first=moves_first, first_random=True)
        assert (found.losses, found.losing_line) == (0, None)
        assert found.wins > found.draws > 0
        assert found.lines == found.wins + found.draws


def test_a_player_that_breaks_the_rules_is_named() -> None:
    with pytest.raises(IllegalMoveError, match="expected a legal move of lowest, got 'a1'"):
        prove(TICTACTOE.name, Broken(TICTACTOE), moves_first=True, first_random=False)


def test_a_game_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator.proof, "MOST_POSITIONS", 1000)
    game = game_named("reversi8")
    with pytest.raises(UsageError, match="played out whole, such as tictactoe, got reversi8"):
        prove(game, Lowest(game), moves_first=True, first_random=False)


def lost(game: Game, found: Proof, moves_first: bool) -> bool:
    """Whether the losing line is a legal game that the player loses."""
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    for action in found.losing_line or ():
        assert outcome(game.id, own, opp) == UNFINISHED
        own, opp = map(np.uint64, play(game.id, own, opp, action))
    margin = outcome(game.id, own, opp)
    mine = (len(found.losing_line or ()) % 2 == 0) == moves_first
    return margin != UNFINISHED and (margin < 0 if mine else margin > 0)
