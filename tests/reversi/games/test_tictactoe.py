"""Tic-tac-toe, all of it."""

import numpy as np

from reversi.games.rules import GAMES, UNFINISHED, action_of_square, legal_moves, outcome, play
from tests.reversi.games import oracle

GAME = GAMES["tictactoe"]


def test_every_position_and_every_game():
    """5,478 positions; 255,168 games: 131,184 won by the first, 77,904 by the second, 46,080 drawn."""
    results: dict[tuple[int, int], dict[int, int]] = {}

    def games_below(own: int, opp: int) -> dict[int, int]:
        """How many games end with each margin for the side to move; checks the position against the oracle."""
        if (own, opp) in results:
            return results[own, opp]
        masks = np.uint64(own), np.uint64(opp)
        board = oracle.board_of(GAME, own, opp)
        legal, result = int(legal_moves(GAME.id, *masks)), outcome(GAME.id, *masks)
        expected = oracle.margin(GAME, board)
        assert legal == sum(1 << (8 * row + col) for row, col in oracle.moves(GAME, board))
        assert result == (UNFINISHED if expected is None else expected)
        totals = {-1: 0, 0: 0, 1: 0}
        if result != UNFINISHED:
            totals[result] = 1
        for square in range(64):
            if legal >> square & 1:
                after = play(GAME.id, *masks, action_of_square(GAME.id, square))
                for margin, count in games_below(*map(int, after)).items():
                    totals[-margin] += count
        results[own, opp] = totals
        return totals

    assert games_below(0, 0) == {1: 131184, -1: 77904, 0: 46080}
    assert len(results) == 5478
