"""Lessons: true to another solver in everything they teach, they leave a game by chance, and cost it nothing."""

from __future__ import annotations

import numpy as np
import pytest

from actors.config import LEAST_EMPTIES
from actors.games import EndedGames, records_of
from actors.lessons import MOST_ERRORS, SAFE_SHARE, Lessons
from actors.selfplay import SelfPlay
from reversi.errors import ConfigError
from reversi.games.rules import game_named
from reversi.kernels.threads import Threads
from reversi.record import OPENING, SEARCHED, UNSEARCHED, Records, check
from reversi.search.params import params_of
from reversi.solver.last import EVALUATION_COUNT
from reversi.solver.solver import Solver
from tests.actors.games import played, positions_of, same, selfplay, sign
from tests.configs import search_config

EMPTIES = 12


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.lessons.NODES_A_PLY", 1 << 40)


def finished(name: str) -> SelfPlay:
    """Return self-play whose first game has ended and is still there."""
    player = selfplay(name, games=2, groups=1)
    player._begin = lambda rows: None  # type: ignore[method-assign]
    while not player.games.state["over"][0]:
        player._advance(0, *player.network.evaluate(*leaves(player)), 8)  # type: ignore[attr-defined]
    return player


def leaves(player: SelfPlay) -> tuple[np.ndarray, np.ndarray]:
    state = player.games.state
    return np.ascontiguousarray(state["leaf_own"]), np.ascontiguousarray(state["leaf_opp"])


def taught(name: str, count: int, empties: int = EMPTIES, margin_weight: float = 0.0) -> tuple[Records, Records]:
    """Return a finished game of self-play, and its lessons."""
    player, game = finished(name), game_named(name)
    lessons = Lessons(
        game,
        params_of(search_config(margin_weight=margin_weight)),
        seed=1,
        count=count,
        empties=empties,
        threads=Threads(1),
    )
    ((made, rows),) = lessons.of(player.games, np.array([0]))
    assert rows.tolist() == list(range(count))
    return records_of(game, player.games, 1, 3, 1), records_of(game, made, count, 3, 1)


@pytest.mark.parametrize(("name", "most"), [("reversi4", 8), ("reversi6", EMPTIES), ("reversi8", EMPTIES)])
def test_all_that_a_lesson_teaches_is_perfect_play(name: str, most: int) -> None:
    """On 4x4 half the board is the most, whatever is asked."""
    _, records = taught(name, 30)
    assert not check(records).any()
    solver, first, known, width = Solver(game_named(name)), 0, set(), records.policy.shape[1]
    for g, positions in enumerate(positions_of(records)):
        for ply, position in enumerate(positions):
            row = first + ply
            assert (records.ply_kind[row] == OPENING) == (ply < records.exact_from[g])
            if ply < records.exact_from[g]:
                assert records.value[row] == 0
                assert not records.policy[row].any()
                continue
            assert (position.own | position.opp).bit_count() >= int(name[-1]) ** 2 - most
            margin = int(records.margin[g]) * (1 - 2 * (ply % 2))
            assert solver.solve(position.own, position.opp).score == margin
            assert records.value[row] == sign(margin)
            actions = position.legal_actions()
            assert records.ply_kind[row] == (SEARCHED if len(actions) > 1 else UNSEARCHED)
            if len(actions) > 1:
                scores = solver.solve_moves(position.own, position.opp).moves
                assert scores is not None
                shares = {
                    action: 255 if score == margin else SAFE_SHARE * (sign(score) == sign(margin))
                    for action, score in scores.items()
                }
                assert dict(enumerate(records.policy[row].tolist())) == dict.fromkeys(range(width), 0) | shares
                known |= set(shares.values())
        first += len(positions)
    assert known == {0, SAFE_SHARE, 255}


def test_a_lesson_leaves_its_game_by_a_few_moves_of_chance() -> None:
    source, records = taught("reversi6", 64)
    game, first, begins, errors = source.actions.tolist(), 0, [], []
    for g, positions in enumerate(positions_of(records)):
        start = int(records.exact_from[g])
        if start < len(positions):
            begins.append(36 - (positions[start].own | positions[start].opp).bit_count())
        actions = records.actions[first : first + start].tolist()
        follows = next((ply for ply, action in enumerate(actions) if action != game[ply]), start)
        errors.append(len([ply for ply in range(follows, start) if len(positions[ply].legal_actions()) > 1]))
        first += len(positions)
    assert set(begins) == set(range(LEAST_EMPTIES, EMPTIES + 1)), "evenly, by the number of empty squares"
    assert max(errors) <= MOST_ERRORS
    assert len(set(errors)) > MOST_ERRORS // 2
    assert len({records.actions[a : a + p].tobytes() for a, p in zip(ends(records), records.plies, strict=True)}) > 60


def ends(records: Records) -> np.ndarray:
    return records.plies.cumsum() - records.plies


def test_the_same_game_has_the_same_lessons_however_many() -> None:
    _, few = taught("reversi6", 3)
    _, many = taught("reversi6", 9)
    assert same(many.select(np.arange(9) < 3), few)


def test_any_number_of_threads_makes_the_same_lessons() -> None:
    player = selfplay("reversi6", games=150, groups=1, lessons=3, lesson_empties=EMPTIES)
    several = selfplay("reversi6", games=150, groups=1, lessons=3, lesson_empties=EMPTIES, tree_threads=3)
    assert same(played(player, 300), played(several, 300))


def test_what_takes_too_long_is_left_to_chance_until_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    _, long = taught("reversi6", 40)
    monkeypatch.setattr("actors.lessons.NODES_A_PLY", 50)
    _, short = taught("reversi6", 40)
    assert not check(short).any()
    assert (short.exact_from > long.exact_from).mean() > 0.5
    solver, first = Solver(game_named("reversi6")), 0
    for g, positions in enumerate(positions_of(short)):
        start = int(short.exact_from[g])
        assert not short.policy[first : first + start].any()
        if start < len(positions):
            score = solver.solve(positions[start].own, positions[start].opp).score
            assert score == int(short.margin[g]) * (1 - 2 * (start % 2))
        first += len(positions)


def test_margins_count_in_the_values_if_they_do_in_the_search() -> None:
    _, plain = taught("reversi6", 10)
    _, records = taught("reversi6", 10, margin_weight=0.5)
    exact = records.ply_kind != OPENING
    margin = np.repeat(records.margin, records.plies) * np.where(plies(records) % 2, -1, 1)
    expected = 0.5 * plain.value[exact].astype(float) + 0.5 * margin[exact] / 36
    np.testing.assert_allclose(records.value[exact], expected, atol=1e-3)


def plies(records: Records) -> np.ndarray:
    return np.concatenate([np.arange(count) for count in records.plies])


def test_self_play_delivers_the_lessons_of_every_game_after_it_and_plays_on_as_without() -> None:
    alone = played(selfplay("reversi6", games=16), 500)
    player = selfplay("reversi6", games=16, lessons=2, lesson_empties=EMPTIES)
    records = played(player, 500)
    assert not check(records).any()
    assert len(records) == 3 * len(alone)
    assert len(of_self_play(records, alone)) == len(alone)
    without = selfplay("reversi6", games=16)
    played(without, 500)
    lessons = (records.ply_kind == SEARCHED).sum() - (alone.ply_kind == SEARCHED).sum()
    assert player.counts.positions == without.counts.positions + lessons
    assert player.counts.asked == without.counts.asked


def of_self_play(records: Records, alone: Records) -> list[int]:
    """Return the rows of `records` that hold the games of `alone`, in their order."""
    rows, at, starts, single = [], 0, ends(records), ends(alone)
    for g in range(len(alone)):
        wanted = alone.actions[single[g] : single[g] + alone.plies[g]].tobytes()
        kinds = alone.ply_kind[single[g] : single[g] + alone.plies[g]].tobytes()
        while not (
            records.actions[starts[at] : starts[at] + records.plies[at]].tobytes() == wanted
            and records.ply_kind[starts[at] : starts[at] + records.plies[at]].tobytes() == kinds
        ):
            at += 1
        rows.append(at)
        at += 1
    return rows


def test_there_are_no_lessons_where_there_is_no_solver() -> None:
    assert same(played(selfplay("tictactoe", lessons=4), 300), played(selfplay("tictactoe"), 300))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lessons": 65}, r"actors\.lessons must be from 0 to 64, got 65"),
        ({"lessons": -1}, r"actors\.lessons must be from 0 to 64, got -1"),
        ({"lesson_empties": 21}, r"actors\.lesson_empties must be from 4 to 20, got 21"),
        ({"lesson_empties": 3}, r"actors\.lesson_empties must be from 4 to 20, got 3"),
    ],
)
def test_numbers_out_of_range_are_refused(values: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        selfplay("reversi6", **values)


def test_a_single_game_put_aside_stays_as_it_was() -> None:
    """One row of an array is contiguous whatever its stride: what says so makes no copy of it."""
    player, ended = finished("reversi6"), EndedGames(game_named("reversi6"), 1, 1)
    alone = records_of(game_named("reversi6"), player.games, 1, 3, 1)
    plies = int(alone.plies[0])
    ended.put(player.games, np.array([0]), 3)
    player.games.state["plies"][0] -= 1
    ended.put(player.games, np.array([0]), 3)
    both = ended.take(3)
    assert both is not None
    assert both.plies.tolist() == [plies, plies - 1]


def test_what_the_ordering_of_earlier_plies_took_does_not_count() -> None:
    player = finished("reversi6")
    lessons = Lessons(
        game_named("reversi6"), params_of(search_config()), seed=1, count=4, empties=EMPTIES, threads=Threads(1)
    )
    (_, counts) = solver = lessons._solvers._idle.get()
    counts[EVALUATION_COUNT] = 1 << 50
    lessons._solvers._idle.put(solver)
    list(lessons.of(player.games, np.array([0])))
    assert counts[EVALUATION_COUNT] < 1 << 50
