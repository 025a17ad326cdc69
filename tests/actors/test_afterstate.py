"""Afterstate play: the choice is that of a slow twin, the ending is exact, the games are the same however they come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from actors.afterstate import AfterstatePlay
from actors.config import AfterstateActorConfig
from reversi.errors import ConfigError
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.model.evaluate import open_evaluator
from reversi.patterns.evaluate import judge_positions
from reversi.record import EXPLORED, OPENING, UNSEARCHED, Records, check
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import solve_batch
from tests.actors.games import same
from tests.reversi.model.samples import PATTERNS, SMALL, weights

CONFIG = AfterstateActorConfig(
    kind="afterstate",
    count=None,
    threads=1,
    explore=0.15,
    opening_plies=5,
    long_openings=0.2,
    exact_empties=5,
    weights="latest",
    round_games=200,
)
BOARDS = pytest.mark.parametrize("name", ["reversi4", "reversi6"])


def source(game: Game, seed: int = 1, **changes: object) -> AfterstatePlay:
    network = open_evaluator(weights(game, seed=3, config=PATTERNS))
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


def test_openings_have_their_lengths() -> None:
    records = round_of(source(GAMES["reversi6"], round_games=2000, exact_empties=0))
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
