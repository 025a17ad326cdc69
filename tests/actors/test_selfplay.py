"""Self-play's records are real games: legal, finished, varied, and the same for the same seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from actors.config import ActorConfig
from actors.selfplay import SelfPlay
from reversi.errors import ConfigError
from reversi.games.bitboard import Masks
from reversi.games.rules import game_named, legal_actions_mask, play_batch
from reversi.record import OPENING, SEARCHED, UNSEARCHED, Records, check
from reversi.search.config import SearchConfig
from reversi.search.evaluate import UniformEvaluate

ACTORS = ActorConfig(
    count=1,
    threads=1,
    games=8,
    weights="latest",
    backend="auto",
    precision="float32",
    opening_plies=4,
    temperature=1.0,
    temperature_plies=8,
    round_plies=4,
)
SEARCH = SearchConfig(simulations=8)


def selfplay(name: str, seed: int = 1, games: int = 8) -> SelfPlay:
    game = game_named(name)
    config = dataclasses.replace(ACTORS, games=games)
    return SelfPlay(game, config, SEARCH, UniformEvaluate(game, games), np.random.default_rng(seed), seed)


def played(player: SelfPlay, steps: int) -> Records:
    ended = [records for records in (player.step(3) for _ in range(steps)) if records is not None]
    return Records.concatenate(ended)


@pytest.mark.parametrize("name", ["reversi4", "reversi6", "reversi8", "tictactoe"])
def test_every_game_replays_by_the_rules(name: str) -> None:
    records = played(selfplay(name), 150)
    assert len(records) >= 8
    assert not check(records).any()
    assert set(records.version) == {3}
    assert records.plies.sum() == records.positions


def test_positions_with_one_legal_action_are_not_searched_and_openings_not_trained() -> None:
    records = played(selfplay("reversi6", games=32), 120)
    game, at, kinds = game_named("reversi6"), 0, set()
    for index in range(len(records)):
        own, opp = records.start_own[index : index + 1].copy(), records.start_opp[index : index + 1].copy()
        for ply in range(records.plies[index]):
            legal = np.zeros((1, game.actions), np.uint8)
            legal_actions_mask(game.id, own, opp, legal)
            kind = records.ply_kind[at + ply]
            kinds.add(int(kind))
            if kind == OPENING:
                assert ply < ACTORS.opening_plies
                assert not records.policy[at + ply].any()
            else:
                assert (kind == SEARCHED) == (legal.sum() > 1)
                assert records.policy[at + ply].max() == (255 if kind == SEARCHED else 0)
            play_batch(game.id, own, opp, records.actions[at + ply : at + ply + 1].astype(np.int32))
        at += records.plies[index]
    assert kinds == {OPENING, SEARCHED, UNSEARCHED}


class CountingEvaluate(UniformEvaluate):
    """Counts the positions it is asked about."""

    asked = 0

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.asked += len(own)
        return super().__call__(own, opp)


def test_a_kept_subtree_saves_evaluations_and_the_games_stay_legal() -> None:
    game, asked = game_named("reversi6"), {}
    for keep in (False, True):
        evaluate = CountingEvaluate(game, 8)
        search = dataclasses.replace(SEARCH, simulations=32, keep_subtree=keep)
        player = SelfPlay(game, ACTORS, search, evaluate, np.random.default_rng(1))
        records = played(player, 60)
        assert len(records) >= 8
        assert not check(records).any()
        asked[keep] = evaluate.asked / player.searched_positions
    assert asked[True] < 0.9 * asked[False]


def test_same_seed_same_games_and_another_seed_others() -> None:
    first, again, other = (played(selfplay("reversi6", seed), 80) for seed in (1, 1, 2))
    for field in dataclasses.fields(Records):
        assert np.array_equal(getattr(first, field.name), getattr(again, field.name))
    assert len({tuple(first.actions[:20]), tuple(other.actions[:20])}) == 2


def test_a_restored_self_play_goes_on_with_the_same_games() -> None:
    player = selfplay("reversi6")
    for _ in range(10):
        player.step(0)
    kept = {name: array.copy() for name, array in player.arrays().items()}
    random_state = player.rng.bit_generator.state
    expected = played(player, 40)
    other = selfplay("reversi6", seed=9)
    other.restore(kept)
    other.rng.bit_generator.state = random_state
    got = played(other, 40)
    assert np.array_equal(expected.actions, got.actions)
    assert np.array_equal(expected.policy, got.policy)


@pytest.mark.parametrize(
    ("field", "value"),
    [("games", 0), ("opening_plies", 9), ("temperature", 0.0), ("count", 0), ("temperature_plies", -1)],
)
def test_values_out_of_range_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"actors\.{field}"):
        dataclasses.replace(ACTORS, **{field: value})
