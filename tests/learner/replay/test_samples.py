"""Samples: every trained ply once, from the mover's view, equal to a slow replay through `Position`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learner.replay.samples import samples_of
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.record import EXPLORED, OPENING, SEARCHED, UNSEARCHED
from tests.random_games import random_records


@pytest.mark.parametrize("name", GAMES)
def test_samples_equal_a_slow_replay(name: str) -> None:
    records = random_records(name, 6, seed=5, opening=3)
    samples = samples_of(records)
    p = row = 0
    for g in range(len(records)):
        position = Position.start(name)
        end_black, end_white = int(records.final_own[g]), int(records.final_opp[g])
        for _ in range(records.plies[g]):
            if records.ply_kind[p] != OPENING:
                black = position.black_to_move
                assert (samples.own[row], samples.opp[row]) == (position.own, position.opp)
                assert samples.margin[row] == (records.margin[g] if black else -records.margin[g])
                assert samples.result[row] == np.sign(samples.margin[row])
                assert samples.final_own[row] == (end_black if black else end_white)
                assert samples.final_opp[row] == (end_white if black else end_black)
                assert samples.policy[row].tolist() == records.policy[p].tolist()
                assert samples.policy_weight[row] == (records.ply_kind[p] == SEARCHED)
                assert samples.value[row] == records.value[p]
                row += 1
            position = position.play(int(records.actions[p]))
            p += 1
    assert row == len(samples) == int((records.ply_kind != OPENING).sum())


def test_an_explored_ply_trains_what_an_unsearched_one_does() -> None:
    records = random_records("reversi6", 6, seed=5, opening=3)
    chosen = (records.ply_kind == SEARCHED) & (np.arange(records.positions) % 3 == 0)
    assert chosen.sum() > 20
    policy = np.where(chosen[:, None], 0, records.policy).astype(np.uint8)
    explored, unsearched = (
        samples_of(replace(records, policy=policy, ply_kind=np.where(chosen, kind, records.ply_kind).astype(np.uint8)))
        for kind in (EXPLORED, UNSEARCHED)
    )
    assert len(explored) == int((records.ply_kind != OPENING).sum())
    for name, column in explored.columns().items():
        np.testing.assert_array_equal(column, getattr(unsearched, name))


def test_a_game_of_openings_alone_gives_no_sample() -> None:
    assert len(samples_of(random_records("reversi4", 3, seed=0, opening=40))) == 0


def test_no_games_give_no_samples() -> None:
    records = random_records("reversi4", 1, seed=0)
    assert len(samples_of(records.select(np.zeros(1, bool)))) == 0


def test_a_position_of_8x8_costs_102_bytes() -> None:
    samples = samples_of(random_records("reversi8", 1, seed=0))
    assert samples.nbytes == 102 * len(samples)
