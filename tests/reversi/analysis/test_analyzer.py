from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from reversi.analysis.analyzer import Analysis, Limit, MoveAnalysis, PlayerAnalyzer, SearchAnalyzer, deepening
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.games.symmetry import SYMMETRIES, action_table, transform_masks
from reversi.players import Watch, make_player, playing_config
from reversi.search.apv_mcts import Search
from reversi.search.signature import HashEvaluator
from reversi.solver.solver import Solver

GAME = GAMES["reversi6"]
START = Position.start(GAME)


def never() -> bool:
    return False


class SlowEvaluate(HashEvaluator):
    """Takes 5 ms for a batch and counts the positions."""

    positions = 0

    def __call__(self, own: np.ndarray, opp: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
        time.sleep(0.005)
        self.positions += len(own)
        return super().__call__(own, opp)


@pytest.mark.parametrize("simulations", [1, 64, 500])
def test_a_search_mind_finds_what_a_search_does(simulations: int) -> None:
    analyzer = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400)
    analysis = analyzer.analyse(START.play("c2"), Limit(simulations=simulations), never)
    position = START.play("c2")
    search = Search(GAME, playing_config(simulations), HashEvaluator(GAME), 1, symmetric=True)
    result = search.run(np.array([position.own], np.uint64), np.array([position.opp], np.uint64))
    assert analysis.best.action == result.action[0]
    assert {m.action: m.visits for m in analysis.moves} == {
        action: result.visits[0, action] for action in position.legal_actions()
    }
    assert analysis.nodes == simulations + 1


SOLVED = Position.parse("OXXXXXOOXXXXOXOXXXOXXOXXOXOXOXO----- X")
"""Five empty squares: a model that plays knows the result without a tree."""

WON_AT_ONCE = Position.parse("--------------XX----O--------------- X")
"""Black turns the only white disc."""


@pytest.mark.parametrize("position", [SOLVED, WON_AT_ONCE], ids=["solved", "won at once"])
@pytest.mark.parametrize("simulations", [1, 64])
def test_where_the_result_is_known_without_a_tree_the_best_moves_have_it(position: Position, simulations: int) -> None:
    analysis = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400).choose(
        position, Limit(simulations=simulations), never
    )
    search = Search(GAME, playing_config(simulations), HashEvaluator(GAME), 1)
    result = search.run(np.array([position.own], np.uint64), np.array([position.opp], np.uint64))
    assert analysis.best.action == result.action[0]
    assert {move.action for move in analysis.moves} == set(np.flatnonzero(result.policy[0]))
    assert {(move.value, move.certain) for move in analysis.moves} == {(float(result.value[0]), True)}
    if position is WON_AT_ONCE:
        assert analysis.best.value == analysis.value == 1


@pytest.mark.parametrize("position", [SOLVED, WON_AT_ONCE], ids=["solved", "won at once"])
def test_an_analysis_values_the_other_moves_too(position: Position) -> None:
    analyzer = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400)
    chosen, analysis = (ask(position, Limit(simulations=64), never) for ask in (analyzer.choose, analyzer.analyse))
    assert (analysis.best.action, analysis.best.value) == (chosen.best.action, chosen.best.value)
    assert analysis.value == chosen.value == analysis.best.value
    assert sorted(move.action for move in analysis.moves) == position.legal_actions()
    assert all(move.value is not None and move.visits > 0 for move in analysis.moves)
    assert sum(move.prior or 0 for move in analysis.moves) == pytest.approx(1)


def test_a_search_goes_on_after_the_result_is_proven_until_that_of_every_move_is() -> None:
    """Four moves win; choosing one of them ends with the first proof."""
    position = Position.parse("X--O--XXOO--XXXO--OOXO--OO-OX-O--O-- X")
    analyzer = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400)
    chosen, analysis = (ask(position, Limit(simulations=20_000), never) for ask in (analyzer.choose, analyzer.analyse))
    assert (chosen.proven, chosen.best.certain, chosen.complete) == (True, True, False)
    assert (analysis.proven, analysis.complete) == (True, True)
    solved = Solver(GAME).solve_moves(position.own, position.opp, wdl=True)
    assert {move.action: (move.value, move.certain) for move in analysis.moves} == {
        action: (score, True) for action, score in solved.moves.items()
    }
    assert chosen.nodes < analysis.nodes < 20_000


def test_what_the_tree_is_certain_of_is_said_to_be() -> None:
    position = Position.parse("X--X--XXXX-OXOXXXOXXOX-OX-XXX---X--- O")
    analysis = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400).analyse(position, Limit(simulations=3000), never)
    assert analysis.best.certain
    assert analysis.best.value in (-1, 0, 1)
    assert analysis.best.visits > 0


def test_without_a_budget_it_takes_its_own_number() -> None:
    analyzer = SearchAnalyzer("m", GAME.name, HashEvaluator(GAME), 40)
    assert analyzer.analyse(START, Limit(), never).nodes == analyzer.analyse(START).nodes == 41


def test_without_simulations_the_network_says_the_move_and_the_value() -> None:
    position, logits, values = START.play("c2"), np.zeros(GAME.actions), list[float]()
    analysis = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 40).analyse(position, Limit(simulations=0), never)
    for s, images in enumerate(action_table(GAME)):
        found, value = HashEvaluator(GAME)(*(transform_masks(GAME.id, side, s) for side in position.as_batch()))
        logits += found[0, images]
        values.append(float(value[0]))
    assert analysis.best.action == max(position.legal_actions(), key=lambda action: logits[action])
    assert analysis.value == analysis.judged_best.value == pytest.approx(np.mean(values))
    assert (analysis.proven, analysis.visits) == (False, 0)


@pytest.mark.parametrize(
    ("limit", "stop"), [(Limit(simulations=0), False), (Limit(seconds=0.0), False), (Limit(simulations=64), True)]
)
def test_a_move_without_a_visit_has_no_value(limit: Limit, stop: bool) -> None:
    analysis = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 40).analyse(START, limit, lambda: stop)
    assert {(move.value, move.visits, move.certain) for move in analysis.moves} == {(None, 0, False)}
    assert analysis.judged_best.value == analysis.value is not None


def test_a_proven_best_move_has_its_value_without_a_visit() -> None:
    analysis = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 40).analyse(SOLVED, Limit(simulations=1), never)
    best, *others = analysis.moves
    assert (analysis.proven, best.certain, best.value) == (True, True, analysis.value)
    assert analysis.judged_best is best
    assert [move.value is None for move in others] == [move.visits == 0 for move in others]


@pytest.mark.parametrize(("text", "simulations"), [("XOX----XO O", 24), ("--O--XXO- X", 64)])
def test_a_best_move_that_is_proven_drawn_does_not_prove_the_position(text: str, simulations: int) -> None:
    position = Position.parse(text)
    analyzer = SearchAnalyzer("m", position.game, HashEvaluator(position.game), 40)
    few = analyzer.analyse(position, Limit(simulations), never)
    assert (str(few.best.value), few.best.certain, few.proven, few.complete) == ("0.0", True, False, False)
    assert few.visits == simulations
    many = analyzer.analyse(position, Limit(2000), never)
    assert (many.best.certain, many.proven, many.complete) == (True, True, True)
    assert many.visits == many.nodes - 1 < 2000


def test_time_ends_a_search_before_it_is_up() -> None:
    analyzer = SearchAnalyzer("m", GAME, SlowEvaluate(GAME), 400)
    start_s = time.monotonic()
    analysis = analyzer.analyse(START, Limit(seconds=2.0), never)
    assert time.monotonic() - start_s < 60
    assert analysis.nodes > 5
    assert 0.1 < analysis.seconds < 60


def test_simulations_end_a_search_that_has_time() -> None:
    analysis = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400).analyse(START, Limit(64, 600.0), never)
    assert analysis.nodes == 65
    assert analysis.seconds < 60


@pytest.mark.parametrize("seconds", [1e-9, 0.0])
def test_no_time_still_gives_a_move(seconds: float) -> None:
    analysis = SearchAnalyzer("m", GAME, SlowEvaluate(GAME), 400).analyse(START, Limit(seconds=seconds), never)
    assert analysis.best.action in START.legal_actions()
    assert analysis.nodes == 1


def test_a_search_stops_when_it_is_told_to() -> None:
    asked = iter([False] * 3 + [True])
    evaluate = SlowEvaluate(GAME)
    analysis = SearchAnalyzer("m", GAME, evaluate, 100_000).analyse(START, Limit(), lambda: next(asked))
    assert analysis.nodes == evaluate.positions - (SYMMETRIES - 1)  # the root in all its orientations
    assert 1 < analysis.nodes <= 1 + 3 * 32


def test_warming_up_meets_every_batch_size() -> None:
    sizes: set[int] = set()

    class Watched(HashEvaluator):
        def __call__(self, own: np.ndarray, opp: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
            sizes.add(len(own))
            return super().__call__(own, opp)

    SearchAnalyzer("m", GAME, Watched(GAME), 400).warm_up()
    assert sizes == {1, 2, 4, 8, 16, 32}


def test_a_players_mind_plays_as_the_player() -> None:
    analyzer = PlayerAnalyzer(GAME, make_player("greedy", GAME, seed=3))
    greedy = make_player("greedy", GAME, seed=3)
    position = START
    while not position.is_over:
        best = analyzer.analyse(position, Limit(), never).best
        own, opp = np.array([position.own], np.uint64), np.array([position.opp], np.uint64)
        assert (best.action, best.value, best.line) == (greedy.choose(own, opp)[0], None, (best.action,))
        position = position.play(best.action)
    assert analyzer.name == "greedy"


def test_no_batch_is_begun_that_would_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = iter([0.0, 0.04, 0.08])
    monkeypatch.setattr("reversi.analysis.analyzer.time.monotonic", lambda: next(now_s))
    watch = Watch(0.1, lambda: False)
    assert [watch(), watch()] == [False, True], "another batch of 40 ms would end at 120 of 100 ms"


class Prepared:
    """An analyzer whose analyses are these, one after the other."""

    name, game, uses_limit = "prepared", GAME, True

    def __init__(self, *analyses: Analysis) -> None:
        self._left = list(analyses)

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        return self._left.pop(0)

    choose = analyse


def found(nodes: int, visits: int, certain: bool = False, seconds: float = 1.0) -> Analysis:
    return Analysis((MoveAnalysis(1, 0.5, visits, certain=certain),), nodes, seconds)


@pytest.mark.parametrize(
    ("analyses", "yielded"),
    [
        ([found(10, 9), found(20, 19), found(40, 39)], 3),
        ([found(10, 9), found(10, 9), found(40, 39)], 1),
        ([found(900, 9), found(800, 19), found(850, 39)], 3),  # with the varying work of a solver that did not finish
        ([found(900, 9), found(950, 0, certain=True), found(40, 39)], 2),  # the solver finished
        ([found(10, 9), found(20, 19, seconds=6.0), found(40, 39)], 2),
        ([found(1, 0), found(1, 0)], 1),
    ],
)
def test_analyses_are_repeated_until_nothing_is_added_or_time_is_up(analyses: list[Analysis], yielded: int) -> None:
    steps = range(len(analyses))
    assert list(deepening(Prepared(*analyses), START, steps, lambda done: False, 10.0)) == analyses[:yielded]


def test_a_stopped_analysis_is_dropped_but_the_first_one_is_not() -> None:
    analyzer = SearchAnalyzer("m", GAME, HashEvaluator(GAME), 400)
    for most in range(4):
        analyses = list(deepening(analyzer, START, (4, 8, 16, 32), lambda done, most=most: done >= most))
        assert [each.nodes for each in analyses] == ([5, 9, 17][:most] or [1])


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (MoveAnalysis(1, 1.0, 7, score=4, certain=True), "+4 discs, exact"),
        (MoveAnalysis(1), "not searched"),
        (MoveAnalysis(1, -1.0, 7, certain=True), "loss, proven"),
        (MoveAnalysis(1, 0.0, 7, certain=True), "draw, proven"),
        (MoveAnalysis(1, 0.3124, 1), "+1.5 discs, 1 visit"),
        (MoveAnalysis(1, -0.5, 20), "-2.5 discs, 20 visits"),
        (MoveAnalysis(1, 0.3, 20, discs=1.23), "+1.2 discs"),
    ],
)
def test_a_move_is_judged_in_words(move: MoveAnalysis, words: str) -> None:
    assert move.judgement(GAMES["reversi6"]) == words


def test_a_game_without_discs_has_values_and_results() -> None:
    game = GAMES["tictactoe"]
    assert MoveAnalysis(1, -0.25, 20).judgement(game) == "value -0.250, 20 visits"
    assert MoveAnalysis(1, 1.0, score=1, certain=True).judgement(game) == "win, proven"
