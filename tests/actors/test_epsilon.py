"""Epsilon play's records are legal games of the network's best actions, of its seed, and of as much chance as asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from actors.epsilon import EpsilonPlay
from reversi.errors import ConfigError
from reversi.games.position import Position
from reversi.games.rules import game_named
from reversi.record import OPENING, UNSEARCHED, Records, check
from reversi.search.signature import HashEvaluator
from tests.actors.games import EPSILON, same

AGAINST_RANDOM: dict[str, Any] = {"opponent": "random"}


def epsilon_play(name: str, seed: int = 1, **changed: Any) -> EpsilonPlay:
    game = game_named(name)
    return EpsilonPlay(game, dataclasses.replace(EPSILON, **changed), HashEvaluator(game), seed)


def played(player: EpsilonPlay, games: int, epsilon: float = 0.0) -> Records:
    records = player.play(games, 3, epsilon)
    assert records is not None
    return records


class Ply(NamedTuple):
    """One ply of a record, replayed slowly."""

    game: int
    number: int
    before: Position
    action: int
    kind: int
    value: float

    @property
    def best(self) -> int:
        """The legal action that the hashes like best."""
        logits = self._answer[0][0]
        return max(self.before.legal_actions(), key=lambda action: (logits[action], -action))

    @property
    def utility(self) -> float:
        return float(self._answer[1][0])

    @property
    def _answer(self) -> Any:
        masks = np.array([[self.before.own], [self.before.opp]], np.uint64)
        return HashEvaluator(self.before.game)(*masks)


def plies(records: Records) -> Iterator[Ply]:
    at = 0
    for game in range(len(records)):
        position = Position.start(records.game)
        for number in range(records.plies[game]):
            action = int(records.actions[at])
            yield Ply(game, number, position, action, int(records.ply_kind[at]), float(records.value[at]))
            position = position.play(action)
            at += 1


def is_pass(ply: Ply) -> bool:
    return ply.action == ply.before.game.pass_action


@pytest.mark.parametrize("changed", [{}, AGAINST_RANDOM, {**AGAINST_RANDOM, "random_first": True}])
@pytest.mark.parametrize("name", ["reversi4", "reversi6", "reversi8", "tictactoe"])
def test_every_game_replays_by_the_rules(name: str, changed: dict[str, Any]) -> None:
    records = played(epsilon_play(name, **changed), 100, 0.3)
    assert len(records) >= 100
    assert not check(records).any()
    assert set(records.version) == {3}
    assert not records.policy.any()


@pytest.mark.parametrize("name", ["reversi4", "reversi6", "tictactoe"])
def test_without_chance_every_decision_is_the_best_legal_action_and_says_what_the_network_thought(name: str) -> None:
    records = played(epsilon_play(name, **AGAINST_RANDOM), 60)
    decisions = [ply for ply in plies(records) if ply.kind == UNSEARCHED]
    assert len(decisions) > 120
    assert all(ply.action == ply.best for ply in decisions)
    assert all(abs(ply.value - ply.utility) < 1e-3 for ply in decisions)


@pytest.mark.parametrize(
    ("changed", "mine"),
    [
        ({"opponent": "self"}, lambda ply: True),
        ({"opponent": "random", "side": "first"}, lambda ply: ply.number % 2 == 0),
        ({"opponent": "random", "side": "second"}, lambda ply: ply.number % 2 == 1),
    ],
    ids=["self", "first", "second"],
)
def test_the_networks_own_decisions_are_learned_and_neither_the_others_nor_passes(
    changed: dict[str, Any], mine: Any
) -> None:
    passes = 0
    for ply in plies(played(epsilon_play("reversi4", **changed), 80, 0.5)):
        passes += is_pass(ply)
        assert ply.kind == (UNSEARCHED if mine(ply) and not is_pass(ply) else OPENING)
    assert passes > 10


def test_both_sides_are_taken_in_turns() -> None:
    records = played(epsilon_play("tictactoe", games=2, **AGAINST_RANDOM), 60, 0.5)
    first = records.ply_kind[records.plies.cumsum() - records.plies] == UNSEARCHED
    assert abs(first.mean() - 0.5) < 0.05


def test_the_chance_of_a_random_move_is_epsilon() -> None:
    records = played(epsilon_play("reversi6"), 120, 0.3)
    strayed, expected = 0, 0.0
    for ply in plies(records):
        if ply.kind == UNSEARCHED:
            strayed += ply.action != ply.best
            expected += 0.3 * (1 - 1 / len(ply.before.legal_actions()))
    assert expected > 500
    assert abs(strayed - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize("changed", [{}, AGAINST_RANDOM], ids=["self", "random"])
def test_a_random_first_move_is_any_with_the_same_chance(changed: dict[str, Any]) -> None:
    records = played(epsilon_play("tictactoe", random_first=True, **changed), 1800)
    starts = records.plies.cumsum() - records.plies
    counts = np.bincount(records.actions[starts], minlength=9)[:9]
    expected = len(records) / 9
    assert ((counts - expected) ** 2 / expected).sum() < 26.1, "chi squared, 8 degrees of freedom, 1 in 1,000"
    again = played(epsilon_play("tictactoe", **changed), 50)
    if not changed:
        assert len(set(again.actions[again.plies.cumsum() - again.plies])) == 1


def games_of(records: Records) -> set[bytes]:
    ends = records.plies.cumsum()
    return {records.actions[a:b].tobytes() for a, b in zip(ends - records.plies, ends, strict=True)}


def test_a_game_depends_on_its_number_alone() -> None:
    few, many = (played(epsilon_play("reversi8", games=games), 60, 0.4) for games in (3, 16))
    assert len(games_of(few) & games_of(many)) > 45
    other = played(epsilon_play("reversi8", seed=2), 60, 0.4)
    assert not games_of(few) & games_of(other)


@pytest.mark.parametrize("changed", [{}, AGAINST_RANDOM], ids=["self", "random"])
def test_a_restored_play_goes_on_with_the_same_games(changed: dict[str, Any]) -> None:
    player = epsilon_play("reversi6", **changed)
    played(player, 13, 0.2)
    kept = {name: array.copy() for name, array in player.arrays().items()}
    before = player.counts
    expected = played(player, 30, 0.2)
    other = epsilon_play("reversi6", **changed)
    other.restore(kept)
    assert other.counts == before
    assert same(expected, played(other, 30, 0.2))


def test_epsilon_falls_in_a_straight_line_and_stays() -> None:
    player = epsilon_play("tictactoe", epsilon=1.0, final_epsilon=0.1, epsilon_share=0.125)
    found = [player.epsilon(progress) for progress in (0.0, 0.0625, 0.125, 0.6, 1.0)]
    assert np.allclose(found, [1.0, 0.55, 0.1, 0.1, 0.1])
    assert epsilon_play("tictactoe", epsilon=1.0, final_epsilon=0.2, epsilon_share=0.0).epsilon(0.0) == 0.2


def test_a_round_ends_after_its_games_and_counts_them() -> None:
    player = epsilon_play("tictactoe", **AGAINST_RANDOM)
    records = player.round(0.5, 1)
    assert records is not None
    assert 50 <= len(records) < 58
    learned = int((records.ply_kind == UNSEARCHED).sum())
    assert learned <= player.counts.positions <= learned + 8 * 5
    assert player.counts.positions == player.counts.asked
    assert (player.counts.simulations, player.finished) == (0, False)


@pytest.mark.parametrize(("field", "value"), [("games", 0), ("round_games", 0), ("epsilon", 1.5), ("count", 0)])
def test_values_out_of_range_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"actors\.{field}"):
        dataclasses.replace(EPSILON, **{field: value})


@pytest.mark.parametrize("side", ["first", "second", "both"])
def test_results_are_those_of_the_side_that_decides(side: Any) -> None:
    player = epsilon_play("reversi4", **AGAINST_RANDOM, side=side)
    records = played(player, 60)
    slow = [0, 0, 0]
    start = 0
    for game in range(len(records)):
        kinds = records.ply_kind[start : start + records.plies[game]]
        start += records.plies[game]
        first = int(np.flatnonzero(kinds == UNSEARCHED)[0]) % 2 == 0
        margin = int(records.margin[game]) if first else -int(records.margin[game])
        slow[0 if margin > 0 else 1 if margin == 0 else 2] += 1
    assert [player.counts.wins, player.counts.draws, player.counts.losses] == slow
    assert min(slow) > 0


def test_play_against_oneself_has_no_results() -> None:
    player = epsilon_play("reversi4")
    played(player, 20)
    assert (player.counts.wins, player.counts.draws, player.counts.losses) == (0, 0, 0)
