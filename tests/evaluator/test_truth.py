"""How right answers are, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.labels import Labels
from evaluator.truth import Answers, ask, calibration, difference_of, truth_by_empties, truth_of
from reversi.games.rules import game_named
from reversi.players import make_player
from reversi.players.model import model_player, playing_config
from reversi.solver.search import NO_SCORE
from tests.reversi.model.samples import weights

X = NO_SCORE
SCORES = np.full((4, 17), X, np.int8)
SCORES[0, :3] = 6, 6, -2
SCORES[1, :3] = 2, 8, 0
SCORES[2, 4:6] = -4, -10
SCORES[3, 5:7] = 0, -2


def labels() -> Labels:
    masks = np.arange(1, 5, dtype=np.uint64)
    return Labels("reversi4", 0, masks, masks << np.uint64(8), np.array([3, 3, 5, 5], np.int8), SCORES)


def test_moves_by_hand() -> None:
    truth = truth_of(labels(), Answers(np.array([1, 0, 5, 6], np.int32)))
    # kept margins: 6 of 6 only; results kept: won, won, lost (lost anyway), and not the draw that became a loss
    assert (truth.positions, truth.margin_kept, truth.outcome_kept) == (4, 0.25, 0.75)
    assert truth.regret_discs == (0 + 6 + 6 + 2) / 4
    assert truth.policy_best is truth.value_error is None
    # sums of squares: 3 * 0.25 ** 2 + 0.75 ** 2 of the results, 3.5 ** 2 + 2 * 2.5 ** 2 + 1.5 ** 2 of the discs
    assert truth.outcome_kept_error == pytest.approx((0.75 / 3 / 4) ** 0.5)
    assert truth.regret_error_discs == pytest.approx((27 / 3 / 4) ** 0.5)


def test_a_single_position_has_no_standard_error() -> None:
    one = truth_of(labels(), Answers(np.array([1, 0, 5, 6], np.int32)), np.arange(4) == 1)
    assert (one.regret_discs, one.outcome_kept_error, one.regret_error_discs) == (6, None, None)


def test_differences_are_paired() -> None:
    """Both players lose the same six discs at the second position, which adds nothing to the error."""
    one, other = (Answers(np.array(actions, np.int32)) for actions in ([1, 0, 5, 6], [0, 0, 5, 5]))
    found = difference_of(labels(), one, other)
    assert (found.outcome_kept, found.regret_discs) == (-0.25, 0.5)
    assert found.outcome_kept_error == pytest.approx((0.75 / 3 / 4) ** 0.5)
    assert found.regret_error_discs == pytest.approx((3 / 3 / 4) ** 0.5)
    alone = truth_of(labels(), one).regret_error_discs
    assert alone is not None
    assert found.regret_error_discs < alone


def test_policy_and_value_by_hand() -> None:
    prior = np.zeros((4, 17), np.float32)
    prior[0, :3] = 0.5, 0.3, 0.2  # best .8, result kept .8
    prior[1, :3] = 0.6, 0.3, 0.1  # best .3, result kept .9
    prior[2, 4:6] = 0.25, 0.75  # best .25, result kept 1
    prior[3, 5:7] = 0.5, 0.5  # best .5, result kept .5
    value = np.array([0.9, 0.5, -0.7, 0.95], np.float32)
    truth = truth_of(labels(), Answers(np.array([0, 1, 4, 5], np.int32), prior, value))
    assert truth.margin_kept == truth.outcome_kept == 1
    assert truth.regret_discs == 0
    assert truth.policy_best == pytest.approx((0.8 + 0.3 + 0.25 + 0.5) / 4)
    assert truth.policy_outcome == pytest.approx((0.8 + 0.9 + 1 + 0.5) / 4)
    assert truth.value_error == pytest.approx((0.1 + 0.5 + 0.3 + 0.95) / 4)
    # bins: -.7 alone (-1 actual); .5 alone (1); .9 and .95 together: predicted .925, actual (1 + 0) / 2
    assert truth.calibration_error == pytest.approx((0.3 + 0.5 + 2 * 0.425) / 4)
    parts = calibration(value, np.array([1, 1, -1, 0]))
    assert [(part.positions, round(part.predicted, 3), part.actual) for part in parts] == [
        (1, -0.7, -1.0),
        (1, 0.5, 1.0),
        (2, 0.925, 0.5),
    ]


def test_policies_count_where_the_network_was_asked() -> None:
    prior = np.zeros((4, 17), np.float32)
    prior[0, :3] = 0.5, 0.3, 0.2
    actions = np.array([0, 1, 4, 5], np.int32)
    assert truth_of(labels(), Answers(actions, prior)).policy_best == pytest.approx(0.8)
    assert truth_of(labels(), Answers(actions, np.zeros_like(prior))).policy_best is None


def test_rows_by_empties_are_the_parts() -> None:
    answers = Answers(np.array([1, 0, 5, 6], np.int32))
    parts = truth_by_empties(labels(), answers)
    assert {empties: (part.positions, part.outcome_kept, part.regret_discs) for empties, part in parts.items()} == {
        3: (2, 1.0, 3.0),
        5: (2, 0.5, 4.0),
    }


def test_a_solved_set_judges_real_players() -> None:
    from evaluator.labels import make_labels

    game = game_named("reversi4")
    made = make_labels(game, range(4, 8), 40, seed=1)
    exact = truth_of(made, ask(make_player("alphabeta:10", game, seed=1), made))
    assert (exact.margin_kept, exact.outcome_kept, exact.regret_discs) == (1.0, 1.0, 0.0)
    assert truth_of(made, ask(make_player("random", game, seed=1), made)).outcome_kept < 0.9
    model = truth_of(made, ask(model_player("policy", game, weights("reversi4"), playing_config(0)), made))
    assert 0 < model.policy_best <= model.policy_outcome < 1
    assert 0 < model.value_error < 2
