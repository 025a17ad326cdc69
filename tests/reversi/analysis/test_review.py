"""What a move lost is graded by what the analyses know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from reversi.analysis.analyzer import Analysis, MoveAnalysis
from reversi.analysis.review import Loss, ReviewedMove, deciding_move, loss_of, marks_of, review, sums_of
from reversi.games.notation import action_name, parse_action
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.model.margin_errors import Band, MarginErrors
from tests.reversi.analysis.gradings import GAME, GRADINGS, Before, Grading, estimate

START = Position.start(GAME)


def analysis(moves: Before, certain: Sequence[str] = (), margins: Mapping[str, float] = {}) -> Analysis:
    found = tuple(
        MoveAnalysis(parse_action(GAME, name), value, 1, score=score, certain=name in certain, discs=margins.get(name))
        for name, value, score in moves
    )
    return Analysis(found, 1, 0.0)


@pytest.mark.parametrize("grading", GRADINGS)
def test_a_loss_is_graded_by_what_is_known(grading: Grading) -> None:
    before = analysis(grading.before, grading.certain, grading.margins)
    after = None if grading.after is None else analysis(grading.after)
    loss = loss_of(START, parse_action(GAME, "c2"), before, after)
    if grading.result is None:
        assert loss is None
        return
    assert loss is not None
    assert loss.result == grading.result
    assert loss.discs == (None if grading.discs is None else pytest.approx(grading.discs))
    assert loss.exact == (grading.before[0][2] is not None)
    assert (None if loss.best is None else action_name(GAME, loss.best)) == grading.best
    assert (loss.mark.sign if loss.mark else "") == grading.mark


def test_a_position_whose_best_move_has_no_value_counts_with_its_own() -> None:
    """As the bare network gives it: without a visit no move has a value."""
    best, played = MoveAnalysis(parse_action(GAME, "b3")), MoveAnalysis(parse_action(GAME, "c2"))
    before, after = Analysis((best, played), 1, 0.0, value=0.5), Analysis((best,), 1, 0.0, value=0.25)
    assert loss_of(START, played.action, before, after) == Loss(estimate(0.5, 0.25), 0.75, best.action)


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
    assert (white.moves, white.judged, white.exact, white.discs) == (1, 1, 0, 0)  # the best move
    assert (black.marks, white.marks) == ({"??": 1, "?": 0, "?!": 0}, {"??": 0, "?": 0, "?!": 0})


def test_tic_tac_toe_has_no_discs_to_lose() -> None:
    assert [mark.sign for mark in marks_of(GAME)] == ["??", "?", "?!"]
    assert [mark.sign for mark in marks_of(GAMES["tictactoe"])] == ["??", "?"]


DRAWN = Position.parse("XXXX-OXXXX-OXXXOOOOOOOOO--OOOO--OOOO X")
"""a5 ends the game and loses it, b5 would hold the draw."""


def test_the_move_that_made_a_loss_of_a_draw_decided_the_game() -> None:
    exact = (
        MoveAnalysis(parse_action(GAME, name), score=score, certain=True) for name, score in (("b5", 0), ("a5", -3))
    )
    moves = review([DRAWN, DRAWN.play("a5")], [parse_action(GAME, "a5")], {0: Analysis(tuple(exact), 1, 0.0)})
    assert deciding_move(moves, DRAWN.play("a5")) == 0


def test_a_game_that_was_lost_from_the_start_is_decided_by_the_costliest_move() -> None:
    losses = [(-4, 2), (4, 0), (-6, 9), (15, 0), (-15, 4)]
    over = Position.parse("XXXX-OXXXX-OXXXOOOOOOOOO--OOOO--OOOO X").play("a5")
    moves = [
        ReviewedMove(
            Position(GAME, START.own, START.opp, black_to_move=ply % 2 == 0),
            ply,
            Analysis((MoveAnalysis(0, score=margin),), 1, 0.0),
            Loss(lost, 0, 0, exact=True, proven=True),
        )
        for ply, (margin, lost) in enumerate(losses)
    ]
    assert over.black_margin < 0
    assert deciding_move(moves, over) == 2
    assert deciding_move(moves[:2], over) is None, "two discs have no mark"
    assert deciding_move(moves, START) is None, "the game is not over"


ERRORS = MarginErrors(simulations=64, solved=8, bands=(Band(fewest=21, most=24, positions=50, discs=7.0),))


@pytest.mark.parametrize(
    ("discs", "errors", "mark"),
    [
        (13.0, ERRORS, "??"),
        (7.5, ERRORS, "?"),
        (7.0, ERRORS, ""),
        (6.5, ERRORS, ""),
        (6.5, None, "?"),
        (4.0, ERRORS, ""),
    ],
)
def test_a_loss_within_its_error_has_no_mark(discs: float, errors: MarginErrors | None, mark: str) -> None:
    before = analysis([("c2", 0.6, None), ("b3", 0.5, None)], margins={"c2": 9.0, "b3": 9.0 - discs})
    positions, actions = [START, START.play("b3")], [parse_action(GAME, "b3")]
    (move,) = review(positions, actions, {0: before}, errors)
    assert move.loss is not None
    assert (move.loss.discs, move.loss.mark.sign if move.loss.mark else "") == (discs, mark)
    error = None if errors is None else 7.0
    assert (move.error, move.loss.error, move.as_json(1)["discs_error"]) == (error, error, error)


def test_what_is_exact_has_no_error() -> None:
    exact = Analysis((MoveAnalysis(parse_action(GAME, "c2"), 1, score=9, certain=True),), 1, 0.0)
    (move,) = review([START, START.play("c2")], [parse_action(GAME, "c2")], {0: exact}, ERRORS)
    assert move.loss is not None
    assert (move.error, move.loss.error) == (None, None)


def test_a_game_is_not_decided_by_a_loss_within_its_error() -> None:
    """Black held a disc and lost five, but neither is more than the error."""
    over = DRAWN.play("a5")
    for lost, decided in ((5.0, None), (8.0, 0)):
        before = analysis([("c2", 0.1, None), ("b3", -0.2, None)], margins={"c2": 1.0, "b3": 1.0 - lost})
        moves = review([START, START.play("b3")], [parse_action(GAME, "b3")], {0: before}, ERRORS)
        assert deciding_move(moves, over) == decided
