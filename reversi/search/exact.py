"""What needs no network: the utility of a finished game."""

from __future__ import annotations

import numpy as np

from reversi.games.rules import squares_of
from reversi.kernel import bare_kernel
from reversi.search.rule import Rule


@bare_kernel
def utility(game_id: int, rule: Rule, margin: int) -> np.float32:
    """Return what a result is worth to a side that ends with `margin` more discs than the other, in [-1, 1].

    The result, 1, 0 or -1, and in place of `margin_weight` of it the margin in shares of the board: KataGo's score
    utility (arXiv 1902.10565) without its centre and its curve.
    """
    won = np.float32(int(margin > 0) - int(margin < 0))
    share = np.float32(margin) / np.float32(squares_of(game_id))
    return np.float32(won + rule.margin_weight * (share - won))
