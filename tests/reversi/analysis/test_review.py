"""What a move lost is graded by what the analyses know, with the same marks for the command and the page."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reversi.analysis.analyzer import Analysis, MoveAnalysis
from reversi.analysis.review import Loss, loss_of, marks_of, review, sums_of
from reversi.games.notation import action_name, parse_action
from reversi.games.position import Position
from reversi.games.rules import GAMES
from tests.reversi.analysis.gradings import GRADINGS, Before, Grading

GAME = GAMES["reversi6"]
START = Position.start(GAME)


def analysis(moves: Before, certain: Sequence[str] = ()) -> Analysis:
    found = tuple(
        MoveAnalysis(parse_action(GAME, name), value, visits=1, score=score, certain=name in certain)
        for name, value, score in moves
    )
    return Analysis(found, 1, 0.0)


@pytest.mark.parametrize("grading", GRADINGS)
def test_a_loss_is_graded_by_what_is_known(grading: Grading) -> None:
    before = analysis(grading.before, grading.certain)
    after = None if grading.after is None else analysis(grading.after)
    loss = loss_of(START, parse_action(GAME, "c2"), before, after)
    if grading.result is None:
        assert loss is None
        return
    assert loss is not None
    assert (loss.result, loss.discs) == (grading.result, grading.discs)
    assert (None if loss.best is None else action_name(GAME, loss.best)) == grading.best
    assert (loss.mark.sign if loss.mark else "") == grading.mark


def test_a_position_whose_best_move_has_no_value_counts_with_its_own() -> None:
    """As the bare network gives it: without a visit no move has a value."""
    best, played = MoveAnalysis(parse_action(GAME, "b3")), MoveAnalysis(parse_action(GAME, "c2"))
    before, after = Analysis((best, played), 1, 0.0, value=0.5), Analysis((best,), 1, 0.0, value=0.25)
    assert loss_of(START, played.action, before, after) == Loss(0.75, None, best.action)


def test_what_is_not_known_is_not_summed() -> None:
    moves = [parse_action(GAME, name) for name in ("c2", "d2", "e2")]
    positions = [START]
    for move in moves:
        positions.append(positions[-1].play(move))
    exact = analysis([("b4", 1, 4), ("e2", -1, -6)])
    reviewed = review(positions, moves, {1: analysis([("d2", 0.5, None)]), 2: exact})
    black, white = sums_of(reviewed, black=True), sums_of(reviewed, black=False)
    assert [move.loss is None for move in reviewed] == [True, False, False]
    assert (black.moves, black.judged, black.exact, black.discs) == (2, 1, 1, 10)
    assert (white.moves, white.judged, white.exact, white.discs) == (1, 1, 0, 0)
    assert (black.marks, white.marks) == ({"??": 1, "?": 0, "?!": 0}, {"??": 0, "?": 0, "?!": 0})


def test_tic_tac_toe_has_no_discs_to_lose() -> None:
    assert [mark.sign for mark in marks_of(GAME)] == ["??", "?", "?!"]
    assert [mark.sign for mark in marks_of(GAMES["tictactoe"])] == ["??", "?"]
