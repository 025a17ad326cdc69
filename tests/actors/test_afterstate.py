"""Afterstate play: the choice is that of a slow twin, the ending is exact, the games are the same however they come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from actors.afterstate import AfterstatePlay
from actors.worker import Worker
from reversi.errors import ConfigError
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.model.evaluate import open_evaluator
from reversi.patterns.evaluate import judge_positions, margins_of
from reversi.patterns.tables import DISC, PatternTables
from reversi.record import EXPLORED, OPENING, UNSEARCHED, Records, check, decode
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import solve_batch
from tests.actors.games import same
from tests.actors.workers import Sink, Source
from tests.configs import afterstate_config, search_config
from tests.reversi.model.samples import PATTERNS, SMALL, weights

CONFIG = afterstate_config(
    depth=1, depth_from=0, explore=0.15, opening_plies=5, long_openings=0.2, exact_empties=5, round_games=200
)
FULL_BOARD = replace(PATTERNS, patterns=("a1 b1 c1 d1", "a2 b2 c2 d2", "a1 b2 c3 d4", "a1 b1 a2", "c3 d3 c4"))
"""Patterns that cover 8x8."""

BOARDS = pytest.mark.parametrize("name", ["reversi4", "reversi6"])


def source(game: Game, seed: int = 1, **changes: object) -> AfterstatePlay:
    network = open_evaluator(weights(game, seed=3, config=FULL_BOARD if game.size == 8 else PATTERNS))
    return AfterstatePlay(game, replace(CONFIG, **changes), network, seed)  # type: ignore[arg-type]


def round_of(made: AfterstatePlay) -> Records:
    records = made.round(0.0, 7)
    assert records is not None
    return records


def plies_of(records: Records) -> list[list[tuple[Position, int]]]:
    """Return (position, row) of every ply, game by game."""
    games, row = [], 0
    for plies in records.plies:
        position, game = Position.start(records.game), []
        for _ in range(plies):
            game.append((position, row))
            position = position.play(int(records.actions[row]))
            row += 1
        games.append(game)
    return games


@BOARDS
def test_every_game_is_sound_and_its_ending_exact(name: str) -> None:
    game = GAMES[name]
    records = round_of(source(game))
    assert len(records) == 200
    assert not check(records).any()
    assert (records.version == 7).all()
    exact = [(p, row, g) for g, plies in enumerate(plies_of(records)) for p, row in plies[records.exact_from[g] :]]
    assert len(exact) > 200
    for position, row, _ in exact:
        assert game.squares - (position.own | position.opp).bit_count() <= 5
        assert records.ply_kind[row] == UNSEARCHED
    movable = [(position, row) for position, row, _ in exact if position.legal_moves() != ["pass"]]
    own, opp = (np.array([getattr(p, side) for p, _ in movable], np.uint64) for side in ("own", "opp"))
    scores = solve_batch(game, own, opp).astype(int)
    rows = [row for _, row in movable]
    best = np.where(scores == NO_SCORE, -99, scores).max(axis=1)
    assert (scores[np.arange(len(rows)), records.actions[rows]] == best).all(), "every move keeps the exact margin"
    np.testing.assert_allclose(records.value[rows].astype(float) * game.squares, best, atol=0.02)


@BOARDS
def test_the_move_has_the_best_value_after_it_unless_it_is_explored(name: str) -> None:
    game, made = GAMES[name], source(GAMES[name])
    records, tables = round_of(made), open_evaluator(weights(GAMES[name], seed=3, config=PATTERNS)).tables
    explored = greedy = 0
    for g, plies in enumerate(plies_of(records)):
        for ply, (position, row) in enumerate(plies):
            kind = records.ply_kind[row]
            if kind == OPENING or ply >= records.exact_from[g] or position.legal_moves() == ["pass"]:
                continue
            logits, outlook = np.zeros((1, game.actions), np.float32), np.zeros((1, 2), np.float32)
            judge_positions(tables, game.id, *position.as_batch(), logits, outlook)
            legal = position.legal_actions()
            best = logits[0, legal].max()
            assert records.value[row] == pytest.approx(outlook[0, 1], abs=1e-3)
            assert (logits[0, records.actions[row]] < best) == (kind == EXPLORED) or kind == EXPLORED
            explored, greedy = explored + (kind == EXPLORED), greedy + (kind == UNSEARCHED)
    share = explored / (explored + greedy)
    assert 0.05 < share < 0.15, "0.15, less the draws that hit the best move"


def looked_ahead(tables: PatternTables, position: Position, depth: int) -> int:
    """Return the value for the side to move by plain minimax, in 1/64 disc."""
    if position.is_over:
        return DISC * position.margin
    actions = position.legal_actions()
    if position.legal_moves() == ["pass"]:
        return -looked_ahead(tables, position.play(actions[0]), depth)
    if depth == 0:
        out = np.zeros(1, np.int64)
        margins_of(tables, *position.as_batch(), out)
        return int(out[0])
    return max(-looked_ahead(tables, position.play(action), depth - 1) for action in actions)


@pytest.mark.parametrize(("name", "depth", "games"), [("reversi6", 1, 20), ("reversi6", 2, 8), ("reversi4", 3, 30)])
def test_the_value_is_that_of_plain_minimax_and_an_explored_ply_is_another_move(
    name: str, depth: int, games: int
) -> None:
    game = GAMES[name]
    records = round_of(source(game, depth=depth, round_games=games, explore=0.3, exact_empties=0))
    tables, seen = open_evaluator(weights(game, seed=3, config=PATTERNS)).tables, 0
    for position, row in (ply for plies in plies_of(records) for ply in plies):
        kind, action = records.ply_kind[row], int(records.actions[row])
        if kind == OPENING or position.legal_moves() == ["pass"]:
            continue
        after = {a: -looked_ahead(tables, position.play(a), depth - 1) for a in position.legal_actions()}
        best = [a for a, value in after.items() if value == max(after.values())]
        assert records.value[row] == np.float16(min(max(after[best[0]] / DISC / game.squares, -1), 1))
        if kind == UNSEARCHED:
            assert action in best
        if depth == 1:
            assert (action == best[0]) == (kind == UNSEARCHED), "of equal moves the first is taken"
        seen += 1
    assert seen > 7 * games


def test_the_mover_looks_further_from_a_share_of_the_run_on() -> None:
    def games(progress: float, **changes: object) -> Records:
        made = source(GAMES["reversi4"], round_games=30, **changes).round(progress, 7)
        assert made is not None
        return made

    shallow, deep = games(0.5, depth=1), games(0.5, depth=2)
    assert not same(shallow, deep)
    assert same(games(0.49, depth=2, depth_from=0.5), shallow)
    assert same(games(0.5, depth=2, depth_from=0.5), deep)


def test_a_search_of_four_moves_is_plain_minimax() -> None:
    game = GAMES["reversi6"]
    records = round_of(source(game, depth=4, round_games=2, explore=0.0, opening_plies=30, exact_empties=0))
    tables = open_evaluator(weights(game, seed=3, config=PATTERNS)).tables
    plies = [ply for plies in plies_of(records) for ply in plies if records.ply_kind[ply[1]] == UNSEARCHED][-16:]
    for position, row in plies:
        if position.legal_moves() != ["pass"]:
            best = looked_ahead(tables, position, 4)
            assert -looked_ahead(tables, position.play(int(records.actions[row])), 3) == best
            assert records.value[row] == np.float16(min(max(best / DISC / game.squares, -1), 1))


def test_the_share_of_explored_moves_is_as_asked() -> None:
    records = round_of(source(GAMES["reversi6"], round_games=400, explore=0.25, exact_empties=0))
    plies = [ply for plies in plies_of(records) for ply in plies if records.ply_kind[ply[1]] != OPENING]
    expected = sum(0.25 * (1 - 1 / len(position.legal_actions())) for position, _ in plies)
    assert expected > 1500
    assert abs(int((records.ply_kind == EXPLORED).sum()) - expected) < 4 * np.sqrt(expected)


def openings(records: Records) -> np.ndarray:
    return np.add.reduceat(records.ply_kind == OPENING, np.cumsum(records.plies) - records.plies)


@pytest.mark.parametrize(("name", "most", "long"), [("reversi8", 17, (10, 45)), ("reversi6", 9, (5, 24))])
def test_openings_fit_the_board_and_each_length_is_as_likely(name: str, most: int, long: tuple[int, int]) -> None:
    settings = {"round_games": 1500, "opening_plies": 17, "exact_empties": 0}
    lengths = openings(round_of(source(GAMES[name], long_openings=0.0, **settings)))
    assert (lengths == 0).mean() < 0.002  # games that would have ended within their opening
    counts = np.bincount(lengths)[2:]
    assert len(counts) == most - 1
    expected = counts.sum() / len(counts)
    assert ((counts - expected) ** 2 / expected).sum() < 39.3, "chi squared, 16 degrees of freedom, 1 in 1,000"
    lengths = openings(round_of(source(GAMES[name], long_openings=1.0, **settings)))
    assert (lengths[lengths > 0].min(), lengths.max()) == long
    assert (lengths == 0).mean() < 0.02


def test_a_game_that_would_end_within_its_opening_begins_anew_without_one() -> None:
    records = round_of(source(GAMES["reversi4"], round_games=2000, long_openings=1.0))
    assert set(openings(records)) == {0, *range(2, 10)}
    assert not check(records).any()


def test_exact_endings_have_at_most_half_a_board() -> None:
    records = round_of(source(GAMES["reversi4"], exact_empties=10))
    for g, plies in enumerate(plies_of(records)):
        for ply, (position, row) in enumerate(plies):
            if records.ply_kind[row] != OPENING and position.legal_moves() != ["pass"]:
                assert (ply >= records.exact_from[g]) == (position.empties <= 8)


def test_counts_are_plies_learned_from_and_positions_evaluated() -> None:
    made = source(GAMES["reversi6"], exact_empties=0)
    records = round_of(made)
    learned = [p for plies in plies_of(records) for p, row in plies if records.ply_kind[row] != OPENING]
    moves = [len(position.legal_actions()) for position in learned if position.legal_moves() != ["pass"]]
    assert made.counts.positions == len(moves)
    assert made.counts.asked == sum(moves)


def test_a_worker_delivers_its_rounds_and_resumes_exactly() -> None:
    source, sinks = Source(), (Sink(), Sink())
    source.data = weights(GAMES["reversi4"], config=PATTERNS).to_bytes()
    search, config = search_config(simulations=4), replace(CONFIG, round_games=5)
    first, second = (
        Worker(index=0, game="reversi4", config=config, search=search, seed=5, weights=source, records=sink)
        for sink in sinks
    )
    assert [first.round(0.0).games for _ in range(2)] == [5, 5]
    second.restore(first.state())
    first.round(0.0)
    second.round(0.0)
    assert sinks[0].data[2] == sinks[1].data[0]
    records, _, sequence = decode(sinks[1].data[0], "test")
    assert (len(records), sequence, int(check(records).sum())) == (5, 2, 0)


@pytest.mark.parametrize(
    ("field", "value"), [("depth", 0), ("depth", 7), ("explore", 1.5), ("opening_plies", 1), ("round_games", 0)]
)
def test_values_out_of_range_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"actors\.{field}"):
        replace(CONFIG, **{field: value})  # type: ignore[arg-type]


def test_openings_have_their_lengths() -> None:
    records = round_of(source(GAMES["reversi6"], opening_plies=10, round_games=2000, exact_empties=0))
    opening = np.add.reduceat(records.ply_kind == OPENING, np.cumsum(records.plies) - records.plies)
    long = opening > 5
    assert opening.min() == 2
    assert opening.max() == 24
    assert set(opening[~long]) == {2, 3, 4, 5}
    assert long.mean() == pytest.approx(0.2 * 19 / 20, abs=0.04)  # lengths 5 to 24, of which 5 is short


@pytest.mark.parametrize("threads", [1, 3])
def test_rounds_of_any_size_give_the_same_games(threads: int) -> None:
    game = GAMES["reversi4"]
    whole = round_of(source(game, round_games=120, threads=threads))
    parts = source(game, round_games=40)
    assert same(whole, Records.concatenate([round_of(parts) for _ in range(3)]))
    assert parts.counts.positions == source_counts(game)


def source_counts(game: Game) -> int:
    made = source(game, round_games=120)
    round_of(made)
    assert made.counts.asked > made.counts.positions / 2
    return made.counts.positions


def test_a_resumed_actor_goes_on_with_the_next_game() -> None:
    game = GAMES["reversi4"]
    first = source(game)
    round_of(first)
    resumed = source(game)
    resumed.restore(first.arrays())
    assert same(round_of(first), round_of(resumed))


def test_newer_tables_play_from_the_next_round_on() -> None:
    game = GAMES["reversi4"]
    network = open_evaluator(weights(game, seed=3, config=PATTERNS))
    made = AfterstatePlay(game, replace(CONFIG, round_games=50), network, 1)
    made.round(0.0, 0)
    network.load(weights(game, 1, seed=4, config=PATTERNS))
    fresh = AfterstatePlay(
        game, replace(CONFIG, round_games=50), open_evaluator(weights(game, seed=4, config=PATTERNS)), 1
    )
    fresh.restore(made.arrays())
    assert same(round_of(made), round_of(fresh))


def test_a_tower_has_no_tables() -> None:
    game = GAMES["reversi4"]
    with pytest.raises(ConfigError, match=r"network must be patterns for actors.kind=afterstate, got 2 blocks x 16"):
        AfterstatePlay(game, CONFIG, open_evaluator(weights(game, config=SMALL), batch=1), 1)
