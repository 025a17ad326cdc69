"""Transitions: equal to a slow replay through `Position`, and true where the values of all actions are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learner.replay.transitions import TargetConfig, Transitions, transitions_of
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.record import EXPLORED, OPENING, SEARCHED, UNSEARCHED, Records
from tests.learner.jobs import true_value
from tests.random_games import game_record, random_records

ONE_STEP = TargetConfig(n_step=1, discount=1.0, win=False, every_move=False)
Row = tuple[int, int, int, float, int, int, float]


def played(name: str, games: int, seed: int, by: str) -> Records:
    """Random games whose decisions are those of `both` sides, of the `second` alone, or of `some` plies."""
    records = random_records(name, games, seed)
    ply = np.concatenate([np.arange(plies) for plies in records.plies])
    kind = {
        "both": np.full(records.positions, UNSEARCHED),
        "second": np.where(ply % 2 == 1, UNSEARCHED, OPENING),
        "some": np.random.default_rng(seed).choice([OPENING, SEARCHED, EXPLORED, *[UNSEARCHED] * 3], records.positions),
    }[by]
    return replace(records, ply_kind=kind.astype(np.uint8))


def rows(transitions: Transitions) -> list[Row]:
    columns = transitions.columns()
    return list(zip(*(columns[name].tolist() for name in Transitions.COLUMNS), strict=True))


def oracle(records: Records, rule: TargetConfig) -> list[Row]:
    """Every transition, one game, one decision, one rule after the other."""
    found: list[Row] = []
    first = 0
    for g in range(len(records)):
        position, decisions = Position.start(records.game), list[tuple[Position, int]]()
        for p in range(first, first + records.plies[g]):
            action = int(records.actions[p])
            if records.ply_kind[p] == UNSEARCHED and action != position.game.pass_action:
                decisions.append((position, action))
            position = position.play(action)
        first += records.plies[g]
        for i, (before, action) in enumerate(decisions):
            later = [each for each, _ in decisions[i + 1 :]]
            if rule.skip:
                later = [each for each in later if each.black_to_move == before.black_to_move]
            if rule.n_step <= len(later):
                after = later[rule.n_step - 1]
                found.append((before.own, before.opp, action, *led_to(before, after, rule, rule.discount**rule.n_step)))
            else:
                worth = rule.discount ** len(later) * result(before, position, rule)
                found.append((before.own, before.opp, action, worth, 0, 0, 0.0))
            if rule.every_move:
                for other in before.legal_actions():
                    if other != action:
                        found.append((before.own, before.opp, other, *one_step(before, other, rule)))
    return found


def one_step(before: Position, action: int, rule: TargetConfig) -> tuple[float, int, int, float]:
    after = before.play(action)
    if after.is_over:
        return result(before, after, rule), 0, 0, 0.0
    if after.legal_actions() == [after.game.pass_action]:
        after = after.play(after.game.pass_action)
    return led_to(before, after, rule, rule.discount)


def led_to(before: Position, after: Position, rule: TargetConfig, discount: float) -> tuple[float, int, int, float]:
    """(reward, next own, next opp, factor): mine count as they are, the other side's -v, or 1 - v."""
    if rule.share or before.black_to_move == after.black_to_move:
        return 0.0, after.own, after.opp, discount
    return (discount if rule.win else 0.0), after.own, after.opp, -discount


def result(before: Position, end: Position, rule: TargetConfig) -> float:
    margin = end.black_margin if before.black_to_move else -end.black_margin
    return float(margin > 0) if rule.win else float(np.sign(margin))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("by", ["both", "second", "some"])
@pytest.mark.parametrize("n_step", [1, 3, 16])
def test_transitions_equal_a_slow_replay(name: str, by: str, n_step: int) -> None:
    records = played(name, 4 if name == "reversi8" else 12, n_step, by)
    options = [(win, every_move, False, False) for win in (False, True) for every_move in (False, True)]
    for win, every_move, skip, share in [*options, (False, False, True, False), (False, True, False, True)]:
        rule = TargetConfig(n_step=n_step, discount=0.9, win=win, every_move=every_move, skip=skip, share=share)
        got, expected = rows(transitions_of(records, rule)), oracle(records, rule)
        assert len(got) == len(expected)
        for mine, other in zip(got, expected, strict=True):
            assert mine == pytest.approx(other, rel=1e-6)


def test_the_games_of_these_tests_have_passes_and_both_signs() -> None:
    records = played("reversi4", 12, 1, "both")
    assert (records.actions == 16).sum() > 5
    factors = transitions_of(records, ONE_STEP).factor
    assert (factors > 0).sum() > 2
    assert (factors < 0).sum() > 50
    assert (factors == 0).sum() == 12


def test_nobody_learns_a_pass_or_is_judged_by_a_position_that_must_pass() -> None:
    records = played("reversi4", 60, 2, "both")
    for every_move in (False, True):
        transitions = transitions_of(records, ONE_STEP._replace(every_move=every_move))
        assert (transitions.action < 16).all()
        for own, opp in zip(transitions.next_own, transitions.next_opp, strict=True):
            if own | opp:
                position = Position(GAMES["reversi4"], int(own), int(opp))
                assert position.legal_actions()[0] != 16


def test_a_game_of_tic_tac_toe_by_hand() -> None:
    """Cross takes a3's row, circle plays b1, b2: five plies, cross wins."""
    records = game_record("tictactoe", [0, 3, 1, 4, 2], np.random.default_rng(0))
    records = replace(records, ply_kind=np.full(5, UNSEARCHED, np.uint8))
    two = transitions_of(records, TargetConfig(n_step=2, discount=0.5, win=False, every_move=False))
    assert two.action.tolist() == [0, 3, 1, 4, 2]
    assert two.reward.tolist() == [0, 0, 0, -0.5, 1]
    assert two.factor.tolist() == [0.25, 0.25, 0.25, 0, 0]  # two plies on the same side moves
    wins = transitions_of(records, TargetConfig(n_step=1, discount=0.5, win=True, every_move=False))
    assert wins.reward.tolist() == [0.5, 0.5, 0.5, 0.5, 1]
    assert wins.factor.tolist() == [-0.5, -0.5, -0.5, -0.5, 0]


def test_a_return_to_the_end_is_the_result_of_ones_own_side() -> None:
    """Each decision gets its own side's result, a discount for every own decision after it, and no other value."""
    records = played("reversi6", 20, 3, "both")
    transitions = transitions_of(records, TargetConfig(n_step=64, discount=0.5, win=False, every_move=False, skip=True))
    assert not transitions.factor.any()
    last = [game[-1] for game in np.split(transitions.reward, np.cumsum(decisions_of(records))[:-1])]
    assert np.abs(last).tolist() == np.abs(np.sign(records.margin)).tolist()


def decisions_of(records: Records) -> list[int]:
    games = np.split(records.actions, np.cumsum(records.plies)[:-1])
    return [int((game != GAMES[records.game].pass_action).sum()) for game in games]


def test_against_a_random_opponent_the_same_side_moves_in_both() -> None:
    records = played("reversi6", 20, 3, "second")
    transitions = transitions_of(records, ONE_STEP)
    assert set(transitions.factor.tolist()) == {0.0, 1.0}
    ends = transitions.factor == 0
    assert transitions.reward[ends].tolist() == (-np.sign(records.margin)).tolist()
    assert not transitions.reward[~ends].any()


def test_true_action_values_satisfy_every_one_step_transition() -> None:
    records = played("tictactoe", 150, 4, "both")
    transitions = transitions_of(records, ONE_STEP._replace(every_move=True))
    assert len(transitions) > 3000
    for own, opp, action, reward, next_own, next_opp, factor in rows(transitions):
        here, there = Position(GAMES["tictactoe"], own, opp), Position(GAMES["tictactoe"], next_own, next_opp)
        best = true_value(there) if factor else 0.0
        assert -true_value(here.play(action)) == reward + factor * best


def test_games_without_a_decision_give_nothing() -> None:
    records = random_records("reversi4", 3, seed=0, opening=40)
    assert len(transitions_of(records, ONE_STEP)) == 0
    assert len(transitions_of(records.select(np.zeros(3, bool)), ONE_STEP)) == 0


def test_a_transition_costs_41_bytes() -> None:
    transitions = transitions_of(played("reversi8", 1, 0, "both"), ONE_STEP)
    assert transitions.nbytes == 41 * len(transitions)
