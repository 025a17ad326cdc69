"""A follower finds the moves of a game between the positions where a side with a choice of moves is asked."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.engines.follow import Follower
from reversi.errors import EngineError
from reversi.games.position import Position
from reversi.games.rules import GAMES


@pytest.mark.parametrize("name", ["reversi4", "reversi6"])
@pytest.mark.parametrize("black", [True, False])
def test_passes_need_not_be_asked_for(name: str, black: bool) -> None:
    """Nobody asks for a move where only a pass is legal; the moves found lead to the position and its side."""
    game, passed = GAMES[name], 0
    for seed in range(80):
        rng, position, follower = np.random.default_rng(seed), Position.start(game), Follower(game)
        while not position.is_over:
            must_pass = position.legal_actions() == [game.pass_action]
            if position.black_to_move == black and not must_pass:
                found = Position.start(game)
                for action in follower.history_of(position.own, position.opp):
                    found = found.play(action)
                assert (found.own, found.opp, found.black_to_move) == (position.own, position.opp, black)
            passed += position.black_to_move == black and must_pass
            position = position.play(int(rng.choice(position.legal_actions())))
    assert passed > 5


def test_a_position_further_on_is_refused() -> None:
    position = Position.start("reversi6")
    for _ in range(3):
        position = position.play(position.legal_actions()[0])
    with pytest.raises(EngineError, match="expected a position at most 2 moves after one of the same game"):
        Follower(GAMES["reversi6"]).history_of(position.own, position.opp)
