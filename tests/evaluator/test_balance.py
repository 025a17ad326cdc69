"""Near-balanced openings are within the bound, distinct, the same for the same seed, and too few are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.balance import PLIES, Judge, balanced_openings, most_even
from evaluator.openings import random_openings
from reversi.errors import ConfigError
from reversi.games.rules import GAMES, play
from reversi.games.symmetry import canonical
from reversi.players import model_player, playing_config
from scripts.bench.setup import Settings, random_weights

GAME = GAMES["reversi6"]
Masks = NDArray[np.uint64]


def by_discs(own: Masks, opp: Masks) -> NDArray[np.float32]:
    """Judge a position by the difference of discs: slow and obvious, and many positions of a kind."""
    counts = [(a.bit_count() - b.bit_count()) / 10 for a, b in zip(own.tolist(), opp.tolist(), strict=True)]
    return np.array(counts, np.float32)


def test_all_are_within_the_bound_distinct_and_reached_by_their_plies() -> None:
    openings = balanced_openings(GAME, 60, 6, 1, by_discs, 0.2)
    assert len(openings) == 60
    assert np.abs(by_discs(openings.own, openings.opp)).max() <= 0.2 + 1e-6
    images = {tuple(map(int, canonical(GAME.id, *masks)[:2])) for masks in zip(openings.own, openings.opp, strict=True)}
    assert len(images) == 60
    assert openings.actions.shape == (60, 6)
    for own, opp, actions in zip(openings.own, openings.opp, openings.actions, strict=True):
        here, there = np.uint64(GAME.start_own), np.uint64(GAME.start_opp)
        for action in actions:
            here, there = map(np.uint64, play(GAME.id, here, there, int(action)))
        assert (here, there) == (own, opp)


def test_the_most_even_are_those_nearest_to_0_in_their_order() -> None:
    drawn = random_openings(GAME, 100, 6, 1)
    kept = most_even(drawn, 30, by_discs(drawn.own, drawn.opp))
    positions = list(zip(drawn.own.tolist(), drawn.opp.tolist(), strict=True))
    numbers = [positions.index(each) for each in zip(kept.own.tolist(), kept.opp.tolist(), strict=True)]
    assert numbers == sorted(numbers)
    distance = np.abs(by_discs(drawn.own, drawn.opp))
    rest = np.delete(distance, numbers)
    assert len(kept) == 30
    assert distance[numbers].max() <= rest.min()
    assert distance[numbers].max() < rest.max()
    assert (kept.actions == drawn.actions[numbers]).all()


def test_none_are_none() -> None:
    assert len(balanced_openings(GAME, 0, 6, 1, by_discs, 0.2)) == 0


def test_the_bound_decides() -> None:
    wide = balanced_openings(GAME, 50, 6, 1, by_discs, 1.0)
    values = np.abs(by_discs(wide.own, wide.opp))
    assert (values > 0.1).sum() > 10
    narrow = balanced_openings(GAME, 50, 6, 1, by_discs, 0.0)
    assert not by_discs(narrow.own, narrow.opp).any()


def test_the_seed_decides_and_a_longer_list_begins_with_the_shorter_one() -> None:
    few, many = (balanced_openings(GAME, count, 6, 3, by_discs, 0.2) for count in (10, 70))
    assert many.own[:10].tolist() == few.own.tolist()
    assert balanced_openings(GAME, 10, 6, 3, by_discs, 0.2).opp.tolist() == few.opp.tolist()
    assert balanced_openings(GAME.name, 10, 6, 4, by_discs, 0.2).own.tolist() != few.own.tolist()


def test_each_opening_is_judged_once() -> None:
    judged: list[tuple[int, int]] = []

    def judge(own: Masks, opp: Masks) -> NDArray[np.float32]:
        judged.extend(zip(own.tolist(), opp.tolist(), strict=True))
        return by_discs(own, opp)

    balanced_openings(GAME, 30, 5, 1, judge, 0.1)
    assert len(judged) == len(set(judged)) >= 30


def test_too_few_are_an_error_that_says_how_many_there_are() -> None:
    """5 plies lead to 314 distinct positions on 6x6; with 9 discs on the board nobody is level."""
    with pytest.raises(
        ConfigError, match=r"expected 10 openings of 5 plies in reversi6 with a value within 0 of 0, but"
    ):
        balanced_openings(GAME, 10, 5, 1, by_discs, 0.0)
    with pytest.raises(ConfigError, match="only 314 of 314 tried are; allow a larger bound"):
        balanced_openings(GAME, 400, 5, 1, by_discs, 1.0)


def test_few_are_found_where_there_are_hardly_more() -> None:
    """2 plies lead to 3 distinct positions on 8x8."""
    assert len(balanced_openings(GAMES["reversi8"], 2, 2, 1, by_discs, 1.0)) == 2


def test_a_judge_that_likes_nothing_is_not_asked_for_ever() -> None:
    def judge(own: Masks, opp: Masks) -> NDArray[np.float32]:
        return np.ones(len(own), np.float32)

    with pytest.raises(ConfigError, match=f"expected 3 openings of {PLIES} plies .* only 0 of 3"):
        balanced_openings(GAMES["reversi8"], 3, None, 1, judge, 0.9)


def test_a_model_judges_by_its_search() -> None:
    weights = random_weights(Settings(size=6, blocks=1, channels=8))

    def judge_of(simulations: int) -> Judge:
        player = model_player("judge", GAME, weights, playing_config(simulations))
        return lambda own, opp: player.judge(own, opp).value

    bare, searched = judge_of(0), judge_of(32)
    openings = balanced_openings(GAME, 20, 6, 1, by_discs, 1.0)
    values = bare(openings.own, openings.opp).copy(), searched(openings.own, openings.opp).copy()
    assert np.abs(values).max() <= 1
    assert np.abs(values[0] - values[1]).max() > 1e-4
    picked = balanced_openings(GAME, 10, 6, 1, searched, float(np.median(np.abs(values[1]))))
    assert np.abs(searched(picked.own, picked.opp)).max() <= np.median(np.abs(values[1]))
