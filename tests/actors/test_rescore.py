"""Rescoring: late plies have the value and the moves of perfect play, by another solver; nothing else changes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from actors.selfplay import SelfPlay
from learner.replay.samples import samples_of
from reversi.record import OPENING, SEARCHED, UNSEARCHED, Records, check
from reversi.search.config import SearchConfig
from reversi.solver.last import EVALUATION_COUNT
from reversi.solver.solver import Solver
from tests.actors.games import SEARCH, played, positions_of, selfplay, sign

EMPTIES = 13


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.rescore.NODES_A_PLY", 1 << 40)


def self_played(name: str, empties: int, search: SearchConfig = SEARCH) -> Records:
    player: SelfPlay = selfplay(name, games=16, search=search, rescore_empties=empties)
    return played(player, 500)


@pytest.mark.parametrize(("name", "empties"), [("reversi4", 8), ("reversi6", EMPTIES), ("reversi8", EMPTIES)])
def test_late_plies_have_the_result_of_perfect_play(name: str, empties: int) -> None:
    """On 4x4 half the board is the most, whatever is asked."""
    records = self_played(name, EMPTIES)
    assert not check(records).any()
    squares, first, corrected = int(name[-1]) ** 2, 0, 0
    for g, positions in enumerate(positions_of(records)):
        solver = Solver(positions[0].game)
        kinds = records.ply_kind[first : first + len(positions)]
        for ply, position in enumerate(positions):
            few = squares - (position.own | position.opp).bit_count() <= empties and kinds[ply] != OPENING
            assert few == (ply >= records.exact_from[g])
            if few:
                exact = solver.solve(position.own, position.opp, wdl=True).score
                assert records.value[first + ply] == exact
                corrected += exact != sign(int(records.margin[g])) * (1 - 2 * (ply % 2))
        first += len(positions)
    assert corrected > 0, "players of random weights err"


def test_samples_learn_the_exact_results_and_those_before_the_first_of_them() -> None:
    records = self_played("reversi6", EMPTIES)
    samples, row, first, earlier = samples_of(records), 0, 0, 0
    for g, positions in enumerate(positions_of(records)):
        start = int(records.exact_from[g])
        for ply, position in enumerate(positions):
            if records.ply_kind[first + ply] == OPENING:
                continue
            known = max(ply, start)
            value = int(records.value[first + known]) * (1 if (known - ply) % 2 == 0 else -1)
            assert (samples.own[row], samples.result[row]) == (position.own, value)
            earlier += ply < start
            row += 1
        first += len(positions)
    assert row == len(samples)
    assert earlier > 100


def test_late_policies_are_the_search_s_without_the_moves_that_throw_the_value_away() -> None:
    plain, rescored = self_played("reversi6", 0), self_played("reversi6", EMPTIES)
    first, cut, replaced = 0, 0, 0
    for g, positions in enumerate(positions_of(rescored)):
        solver = Solver(positions[0].game)
        for ply in range(int(rescored.exact_from[g]), len(positions)):
            if rescored.ply_kind[first + ply] != SEARCHED:
                continue
            own, opp = positions[ply].own, positions[ply].opp
            scores = solver.solve_moves(own, opp, wdl=True).moves
            best = np.zeros(37, bool)
            best[[action for action, score in scores.items() if score == max(scores.values())]] = True
            before, after = plain.policy[first + ply].astype(float), rescored.policy[first + ply]
            left = np.where(best, before, 0) if before[best].any() else best.astype(float)
            np.testing.assert_allclose(after, 255 * left / left.max(), atol=0.5)
            cut += bool(before[~best].any())
            replaced += not before[best].any()
        first += len(positions)
    assert cut > 20
    assert replaced > 0


def test_late_plies_without_a_target_get_the_moves_that_keep_the_result() -> None:
    search = dataclasses.replace(SEARCH, full_share=0.25, fast_simulations=4)
    plain, rescored = (self_played("reversi6", empties, search) for empties in (0, EMPTIES))
    np.testing.assert_array_equal(plain.actions, rescored.actions)
    first, given, left = 0, 0, 0
    for g, positions in enumerate(positions_of(rescored)):
        solver = Solver(positions[0].game)
        for ply in range(len(positions)):
            before, after = plain.ply_kind[first + ply], rescored.ply_kind[first + ply]
            exact = ply >= rescored.exact_from[g]
            scores = solver.solve_moves(positions[ply].own, positions[ply].opp, wdl=True).moves if exact else {}
            if len(scores) <= 1 or max(scores.values()) < 0:
                assert after == before
                left += before == UNSEARCHED
            elif before == UNSEARCHED:
                best = [action for action, score in scores.items() if score == max(scores.values())]
                assert after == SEARCHED
                assert np.flatnonzero(rescored.policy[first + ply]).tolist() == sorted(best)
                assert set(rescored.policy[first + ply]) <= {0, 255}
                given += 1
        first += len(positions)
    assert given > 20
    assert left > 20


def test_nothing_else_changes() -> None:
    plain, rescored = self_played("reversi6", 0), self_played("reversi6", EMPTIES)
    assert (plain.exact_from == plain.plies).all()
    assert (rescored.exact_from < rescored.plies).all()
    for field in {field.name for field in dataclasses.fields(Records)} - {"value", "policy", "exact_from"}:
        np.testing.assert_array_equal(getattr(plain, field), getattr(rescored, field))
    starts = np.repeat(rescored.plies.cumsum() - rescored.plies + rescored.exact_from, rescored.plies)
    before = np.arange(rescored.positions) < starts
    np.testing.assert_array_equal(plain.value[before], rescored.value[before])
    np.testing.assert_array_equal(plain.policy[before], rescored.policy[before])


def test_with_a_margin_in_the_utility_values_are_utilities() -> None:
    weight = 0.5
    records = self_played("reversi6", 8, dataclasses.replace(SEARCH, margin_weight=weight))
    assert not check(records).any()
    first, distinct = 0, set()
    for g, positions in enumerate(positions_of(records)):
        solver = Solver(positions[0].game)
        for ply in range(int(records.exact_from[g]), len(positions)):
            margin = solver.solve(positions[ply].own, positions[ply].opp).score
            assert margin is not None
            utility = (1 - weight) * sign(margin) + weight * margin / 36
            assert records.value[first + ply] == pytest.approx(utility, abs=1e-3)
            distinct.add(margin)
        first += len(positions)
    assert len(distinct) > 5


def test_tic_tac_toe_is_not_solved() -> None:
    records = self_played("tictactoe", EMPTIES)
    assert (records.exact_from == records.plies).all()


def test_what_takes_too_long_ends_the_solving_of_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    generous = self_played("reversi6", EMPTIES)
    monkeypatch.setattr("actors.rescore.NODES_A_PLY", 100)
    records = self_played("reversi6", EMPTIES)
    assert not check(records).any()
    np.testing.assert_array_equal(records.actions, generous.actions)
    assert (records.exact_from >= generous.exact_from).all()
    assert (records.exact_from > generous.exact_from).mean() > 0.5
    starts = np.repeat(records.plies.cumsum() - records.plies + records.exact_from, records.plies)
    exact = np.arange(records.positions) >= starts
    np.testing.assert_array_equal(records.value[exact], generous.value[exact])


def test_random_openings_stay_as_they_are() -> None:
    records = played(selfplay("reversi4", games=64, opening_plies=11, rescore_empties=8), 400)
    opening = records.ply_kind == OPENING
    ply = np.arange(records.positions) - np.repeat(records.plies.cumsum() - records.plies, records.plies)
    assert (ply[opening] >= 5).any(), "some openings reach into the last 8 empty squares"
    assert (ply[opening] < np.repeat(records.exact_from, records.plies)[opening]).all()
    assert not records.value[opening].any()
    assert not records.policy[opening].any()


def test_what_the_ordering_of_earlier_plies_took_does_not_count() -> None:
    player = selfplay("reversi6", games=16, rescore_empties=EMPTIES)
    solvers = player._rescorer._solvers._idle
    (_, counts) = solver = solvers.get()
    counts[EVALUATION_COUNT] = 1 << 50
    solvers.put(solver)
    played(player, 500)
    assert counts[EVALUATION_COUNT] < 1 << 50
