"""Self-play's records are real games: legal, finished, varied, and the same for the same seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from actors.selfplay import SelfPlay
from learner.replay.samples import samples_of
from reversi import capacity
from reversi.errors import ConfigError
from reversi.games.rules import (
    game_named,
    legal_actions_mask,
    play,
    play_batch,
    square_of_action,
    wipeouts,
)
from reversi.model.evaluate import open_evaluator
from reversi.record import OPENING, SEARCHED, UNSEARCHED, Records, check
from reversi.search.apv_mcts import Search
from reversi.search.cache import cache_bytes, make_cache
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Immediate, UniformEvaluate
from reversi.search.params import params_of
from reversi.search.tree import make_trees, trees_bytes
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import solve_batch
from tests.actors.games import ACTORS, SEARCH, ImageEvaluator, played, same, selfplay
from tests.configs import search_config
from tests.reversi.model.samples import PATTERNS, weights

GUMBEL = search_config(simulations=8, method="gumbel")


def games_of(records: Records) -> set[tuple[bytes, bytes, bytes]]:
    """Every game as its plies, their kinds and their targets."""
    ends = records.plies.cumsum()
    starts = ends - records.plies
    columns = (records.actions, records.ply_kind, records.policy)
    return {
        (columns[0][a:b].tobytes(), columns[1][a:b].tobytes(), columns[2][a:b].tobytes())
        for a, b in zip(starts, ends, strict=True)
    }


def test_a_round_ends_by_time_after_a_batch_of_every_group() -> None:
    """The games are those of longer rounds."""
    config, evaluate = dataclasses.replace(ACTORS, round_batches=200), ImageEvaluator(game_named("reversi4"))
    timed = SelfPlay(game_named("reversi4"), config, SEARCH, Immediate(evaluate), seed=1, round_s=1e-9)
    parts = []
    for number in range(1, 201):
        parts.append(timed.round(0.0, 3))
        assert evaluate.asked == 8 * number
    whole = selfplay("reversi4", round_batches=200).round(0.0, 3)
    assert whole is not None
    assert set().union(*(games_of(part) for part in parts if part is not None)) == games_of(whole)


@pytest.mark.parametrize("search", [SEARCH, GUMBEL], ids=["puct", "gumbel"])
@pytest.mark.parametrize("name", ["reversi4", "reversi6", "reversi8", "tictactoe"])
def test_every_game_replays_by_the_rules(name: str, search: SearchConfig) -> None:
    records = played(selfplay(name, search=search), 1200)
    assert len(records) >= 8
    assert not check(records).any()
    assert set(records.version) == {3}
    assert records.plies.sum() == records.positions


def test_a_game_that_can_be_won_by_turning_every_disc_is_won_so() -> None:
    search = dataclasses.replace(SEARCH, wipeouts=True)
    records = played(selfplay("reversi4", games=64, search=search), 1500)
    game, at, won = game_named("reversi4"), 0, 0
    for plies in records.plies:
        own, opp = game.start_own, game.start_opp
        for ply in range(at, at + plies):
            action, wiping = int(records.actions[ply]), int(wipeouts(game.id, np.uint64(own), np.uint64(opp)))
            if wiping and records.ply_kind[ply] != OPENING:
                assert wiping >> square_of_action(game.id, action) & 1
                targets = np.flatnonzero(records.policy[ply]).tolist()
                assert records.ply_kind[ply] == UNSEARCHED or action in targets
                assert all(wiping >> square_of_action(game.id, target) & 1 for target in targets)
                won += 1
            own, opp = map(int, play(game.id, np.uint64(own), np.uint64(opp), action))
        at += plies
    assert won > 5


def test_a_game_without_an_opening_begins_with_any_move() -> None:
    """What its opening's length is drawn from says nothing of its first move."""
    game = game_named("tictactoe")
    search = search_config(simulations=18, dirichlet_weight=0.0)
    records = played(selfplay("tictactoe", search=search, evaluate=UniformEvaluate(game, 64), games=128), 300)
    starts = records.plies.cumsum() - records.plies
    kinds, moves = records.ply_kind[starts], records.actions[starts]
    shares = np.bincount(moves[kinds != OPENING], minlength=9)[:9] / (kinds != OPENING).sum()
    assert shares.min() > 0.03, shares


def test_positions_with_one_legal_action_are_not_searched_and_openings_not_trained() -> None:
    records = played(selfplay("reversi6", games=32), 600)
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


def test_targets_are_those_of_the_search_that_matches_use() -> None:
    """Without noise, every searched ply has the visits and the value that `Search` finds in its position."""
    for search in (SEARCH, GUMBEL):
        quiet = dataclasses.replace(search, dirichlet_weight=0.0)
        records = played(selfplay("reversi6", search=quiet, temperature_plies=0), 600)
        game = game_named("reversi6")
        samples = samples_of(records)
        chosen = samples.policy_weight == 1
        own, opp = samples.own[chosen], samples.opp[chosen]
        found = Search(game, quiet, ImageEvaluator(game), len(own)).run(own, opp)
        scale = 255 / found.policy.max(axis=1, keepdims=True)
        assert np.abs(samples.policy[chosen] - found.policy * scale).max() <= 0.51
        assert np.array_equal(samples.value[chosen], found.value.astype(np.float16))
        assert np.array_equal(records.actions[records.ply_kind == SEARCHED], found.action)


@pytest.mark.parametrize("search", [SEARCH, GUMBEL], ids=["puct", "gumbel"])
def test_the_cache_changes_nothing_but_the_number_of_questions(search: SearchConfig) -> None:
    found, asked = [], []
    for positions in (0, 64, 1 << 16):
        evaluate = ImageEvaluator(game_named("reversi6"))
        player = selfplay("reversi6", search=search, evaluate=evaluate, cache_positions=positions)
        games: set[tuple[bytes, bytes, bytes]] = set()
        while player.counts.positions < 3000:
            games |= games_of(played(player, 300))
        found.append(games)
        asked.append(player.counts.asked / player.counts.simulations)
        assert (player.counts.found > 0) == (positions > 0)
    assert len(set.intersection(*found)) >= 80, "games do not depend on the cache"
    assert asked[0] > asked[1] > 1.5 * asked[2]


@pytest.mark.parametrize("search", [SEARCH, GUMBEL], ids=["puct", "gumbel"])
def test_games_do_not_depend_on_threads_or_groups(search: SearchConfig) -> None:
    one = played(selfplay("reversi6", search=search, games=12), 400)
    several = played(selfplay("reversi6", search=search, games=12, tree_threads=3, cache_positions=1 << 12), 400)
    whole = played(selfplay("reversi6", search=search, games=12, groups=1), 400)
    assert len(games_of(one) & games_of(whole)) > len(one) // 2
    assert len(games_of(one) & games_of(several)) > len(one) // 2
    again = played(selfplay("reversi6", search=search, games=12, tree_threads=3), 400)
    assert same(one, again)


def test_forgetting_follows_the_network() -> None:
    """After `forget` every answer is the new network's, though the cache was full of the old one's."""
    game = game_named("reversi6")
    swapped = Immediate(ImageEvaluator(game))
    player = SelfPlay(game, dataclasses.replace(ACTORS, cache_positions=1 << 16), SEARCH, swapped, seed=1)
    played(player, 300)
    swapped.evaluate = UniformEvaluate(game, 4)
    player.clear_cache()
    player.play(100, 4)
    records = played(player, 300)
    values = records.value[records.ply_kind == SEARCHED]
    assert (np.abs(values) < 1).all()
    decided = np.abs(values * (SEARCH.simulations + 1) - np.rint(values * (SEARCH.simulations + 1)))
    assert decided.max() < 0.01, "values are counts of finished games, the network's own being 0"


def test_playout_caps_give_targets_to_their_share_of_the_plies_alone() -> None:
    capped = dataclasses.replace(SEARCH, full_share=0.25, fast_simulations=2)
    player = selfplay("reversi6", search=capped, games=32, opening_plies=0)
    records = played(player, 800)
    game = game_named("reversi6")
    samples = samples_of(records)
    legal = np.zeros((len(samples), game.actions), np.uint8)
    legal_actions_mask(game.id, samples.own, samples.opp, legal)
    free = legal.sum(axis=1) > 1
    share = (samples.policy_weight[free] == 1).mean()
    assert abs(share - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / free.sum())
    assert not samples.policy[samples.policy_weight == 0].any()
    expected = (0.25 * SEARCH.simulations + 0.75 * 2) / 0.25
    assert abs(player.counts.simulations / player.counts.positions / expected - 1) < 0.15


def test_the_last_empty_squares_are_played_perfectly_and_teach_the_truth() -> None:
    search = dataclasses.replace(SEARCH, solve_empties=7, margin_weight=0.25)
    records = played(selfplay("reversi6", search=search, games=32), 400)
    assert not check(records).any()
    game, samples = game_named("reversi6"), samples_of(records)
    late = 36 - np.bitwise_count(samples.own | samples.opp).astype(int) <= 7
    scores = solve_batch(game, samples.own[late], samples.opp[late])
    best = scores.max(axis=1)
    assert late.sum() > 200
    np.testing.assert_array_equal(samples.margin[late], best)  # what came of it is what perfect play gives
    free = (scores != NO_SCORE).sum(axis=1) > 1
    policy, value = samples.policy[late][free], samples.value[late][free]
    np.testing.assert_array_equal(policy, np.where(scores[free] == best[free, None], 255, 0))
    np.testing.assert_allclose(value, 0.75 * np.sign(best[free]) + 0.25 * best[free] / 36, atol=1e-3)


def test_the_number_of_simulations_follows_what_play_is_told() -> None:
    player = selfplay("reversi8", search=search_config(simulations=32), games=4)
    for simulations in (4, 32):
        player.play(200, 0, simulations)
        before = player.counts
        player.play(400, 0, simulations)
        done = player.counts - before
        assert abs(done.simulations / done.positions / simulations - 1) < 0.1


def test_moves_are_drawn_early_and_the_best_later() -> None:
    early = played(selfplay("reversi8", games=64, opening_plies=0, temperature_plies=4), 700)
    starts = early.plies.cumsum() - early.plies
    assert len({early.actions[a : a + 4].tobytes() for a in starts}) > 20
    assert len({early.actions[a : a + 1].tobytes() for a in starts}) > 1
    at = np.concatenate([np.arange(4, count) + start for start, count in zip(starts, early.plies, strict=True)])
    at = at[early.ply_kind[at] == SEARCHED]
    chosen = np.take_along_axis(early.policy[at], early.actions[at][:, None].astype(np.int64), 1)[:, 0]
    assert (chosen == 255).all()


def test_a_kept_subtree_saves_evaluations_and_the_games_stay_legal() -> None:
    asked = {}
    for keep in (False, True):
        search = dataclasses.replace(SEARCH, simulations=32, keep_subtree=keep)
        player = selfplay("reversi6", search=search)
        records = played(player, 1500)
        assert len(records) >= 8
        assert not check(records).any()
        asked[keep] = player.counts.asked / player.counts.positions
    assert asked[True] < 0.9 * asked[False]


def test_same_seed_same_games_and_another_seed_others() -> None:
    first, again, other = (played(selfplay("reversi6", seed), 500) for seed in (1, 1, 2))
    assert same(first, again)
    assert not games_of(first) & games_of(other)


@pytest.mark.parametrize("search", [SEARCH, GUMBEL], ids=["puct", "gumbel"])
def test_a_restored_self_play_goes_on_with_the_same_games(search: SearchConfig) -> None:
    player = selfplay("reversi6", search=search, cache_positions=1 << 12)
    player.play(77, 0)  # in the middle of searches
    kept = {name: array.copy() for name, array in player.arrays().items()}
    expected = played(player, 300)
    other = selfplay("reversi6", search=search, cache_positions=1 << 12)
    other.restore(kept)
    assert same(expected, played(other, 300))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("games", 0),
        ("games", 7),
        ("groups", 0),
        ("tree_threads", 0),
        ("cache_positions", -1),
        ("opening_plies", 31),
        ("temperature", 0.0),
        ("count", 0),
        ("temperature_plies", -1),
        ("rescore_empties", 21),
        ("round_batches", 0),
        ("round_s", 0.0),
    ],
)
def test_values_out_of_range_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"actors\.{field}"):
        dataclasses.replace(ACTORS, **{field: value})


@pytest.mark.parametrize(
    ("changes", "simulations"), [({"games": 2048}, 1_000_000), ({"cache_positions": 10**12}, 8)], ids=["trees", "cache"]
)
def test_more_memory_than_there_is_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, int], simulations: int
) -> None:
    monkeypatch.setattr(capacity, "memory_bytes", lambda: 64 << 30)
    search = dataclasses.replace(SEARCH, simulations=simulations)
    with pytest.raises(ConfigError, match=r"need [\d,.]+ GB of memory, this machine has 68.7 GB; lower act"):
        selfplay("reversi6", search=search, **changes)


def test_the_memory_that_trees_and_cache_need_is_what_they_get() -> None:
    game = game_named("reversi6")
    trees, cache = make_trees(game, 7, 100), make_cache(game, 4096)
    assert trees_bytes(game, 7, 100) == pytest.approx(trees.nodes.nbytes + trees.edges.nbytes, rel=1e-3)
    assert cache_bytes(game, 4096) == cache.entries.nbytes + cache.logits.nbytes


def test_a_temperature_near_0_plays_the_most_visited_move() -> None:
    records = played(selfplay("reversi6", games=32, opening_plies=0, temperature_plies=60, temperature=0.001), 400)
    at = np.flatnonzero(records.ply_kind == SEARCHED)
    assert (records.policy[at, records.actions[at]] == 255).all()


def test_fast_searches_have_no_noise() -> None:
    fast = dataclasses.replace(SEARCH, full_share=1e-9, fast_simulations=8)
    noisy, quiet = (
        played(selfplay("reversi6", search=dataclasses.replace(fast, dirichlet_weight=weight)), 400)
        for weight in (0.25, 0.0)
    )
    assert same(noisy, quiet)


def test_a_kept_root_gets_noise_too() -> None:
    game, search = game_named("reversi6"), dataclasses.replace(SEARCH, simulations=32, keep_subtree=True)
    player = selfplay("reversi6", search=search, games=32, evaluate=UniformEvaluate(game, 16))
    player.play(300, 0)
    trees = ((player._trees.nodes[g, 0], player._trees.edges[g]["prior"]) for g in range(32))
    priors = [prior[root["first"] : root["first"] + root["degree"]] for root, prior in trees]
    spreads = [np.ptp(prior) for prior in priors if len(prior) > 1]
    assert len(spreads) > 10
    assert min(spreads) > 0


@pytest.mark.parametrize("search", [SEARCH, GUMBEL], ids=["puct", "gumbel"])
def test_games_with_tables_are_those_of_asking_for_every_leaf(
    search: SearchConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a call every game is played to its end; asked leaf by leaf, the same games end some batches later.

    PUCT's values are means here, as they are where leaves are asked for; `test_tables.py` has those with tables.
    """
    monkeypatch.setattr("actors.selfplay.params_of", lambda search, *, tables: params_of(search))
    game = game_named("reversi4")
    model = open_evaluator(weights(game, config=PATTERNS), batch=ACTORS.games)
    inside = SelfPlay(game, ACTORS, search, model, seed=1)  # type: ignore[arg-type]
    records = inside.play(3, 5)
    assert records is not None
    assert len(records) >= 3 * ACTORS.games
    assert not check(records).any()
    asked = SelfPlay(game, ACTORS, search, Immediate(lambda own, opp: model(own, opp)), seed=1)
    others = asked.play(400, 5)
    assert others is not None
    assert games_of(records) <= games_of(others) or games_of(others) <= games_of(records)
    assert inside.counts.asked > 0
