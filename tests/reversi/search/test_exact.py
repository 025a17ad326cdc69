"""What a result is worth."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig
from reversi.search.exact import utility
from reversi.search.rule import rule_of

from .stubs import TableEvaluator, random_positions

REVERSI6 = GAMES["reversi6"]


@pytest.mark.parametrize(
    ("game", "margin", "weight", "expected"),
    [
        ("reversi6", 4, 0.0, 1.0),
        ("reversi6", -2, 0.0, -1.0),
        ("reversi6", 0, 0.5, 0.0),
        ("reversi6", 9, 0.5, 0.5 + 0.5 * 0.25),
        ("reversi8", -16, 0.2, -0.8 - 0.2 * 0.25),
        ("reversi4", 16, 0.3, 1.0),
        ("tictactoe", -1, 0.9, -0.1 - 0.9 / 9),
        ("reversi8", 1, 1.0, 1 / 64),
    ],
)
def test_utility_by_hand(game: str, margin: int, weight: float, expected: float) -> None:
    rule = rule_of(SearchConfig(margin_weight=weight))
    assert utility(GAMES[game].id, rule, margin) == pytest.approx(expected, abs=1e-7)
    assert utility(GAMES[game].id, rule, -margin) == pytest.approx(-expected, abs=1e-7)


def test_near_the_end_won_games_are_won_by_more_if_margins_count() -> None:
    """Few empty squares: the whole rest of the game is in the tree, and the network says nothing."""
    own, opp = random_positions(REVERSI6, 300, 5, plies=28)
    regret = {}
    for weight in (0.0, 0.5):
        config = SearchConfig(simulations=600, margin_weight=weight)
        search = Search(REVERSI6, config, TableEvaluator(REVERSI6), len(own), np.random.default_rng(0))
        regret[weight] = []
        for b, action in enumerate(search.run(own, opp).action):
            position = Position(REVERSI6, int(own[b]), int(opp[b]))
            margins = {move: -_best_margin(position.play(move)) for move in position.legal_actions()}
            if len(set(margins.values())) > 1 and len({np.sign(margin) for margin in margins.values()}) == 1:
                regret[weight].append(max(margins.values()) - margins[int(action)])
    assert len(regret[0.0]) > 50
    assert np.mean(regret[0.0]) > 1.5
    assert np.mean(regret[0.5]) < 0.2


def _best_margin(position: Position) -> int:
    """Return the exact margin for the side to move, by trying everything."""
    if position.is_over:
        return position.margin
    return max(-_best_margin(position.play(action)) for action in position.legal_actions())
