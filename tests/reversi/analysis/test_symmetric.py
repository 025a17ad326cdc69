"""Moves that a symmetry of the position exchanges are one move: equal to the last bit, whoever analyses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from reversi.alphabeta.alphabeta import AlphaBeta
from reversi.analysis.alphabeta import AlphaBetaAnalyzer
from reversi.analysis.analyzer import Analysis, Analyzer, Limit, SearchAnalyzer
from reversi.analysis.batch import BatchAnalyzer
from reversi.analysis.solver import SolverAnalyzer
from reversi.games.bitboard import Masks
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.games.symmetry import SYMMETRIES, action_table, symmetries_of, transform_mask
from reversi.model.evaluate import open_evaluator
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig
from reversi.search.signature import HashEvaluator
from tests.reversi.model.samples import PATTERNS, weights

BOARDS = ("reversi4", "reversi6", "reversi8", "tictactoe")


def symmetric(game: Game, count: int, seed: int = 0, most: int = 60) -> Iterator[Position]:
    """Yield unfinished positions with moves that their symmetries exchange: of random games, made symmetric."""
    rng, found = np.random.default_rng(seed), set[Position]()
    while len(found) < count:
        position = Position.start(game)
        for _ in range(rng.integers(0, game.max_plies)):
            if legal := position.legal_actions():
                position = position.play(int(rng.choice(legal)))
        s = int(rng.integers(1, SYMMETRIES))
        made = made_symmetric(position, s)
        if made in found or made.is_over or not exchanged(made) or made.empties > most:
            continue
        found.add(made)
        yield made


def made_symmetric(position: Position, s: int) -> Position:
    """Return the position with the discs that symmetry `s` maps to discs of the same side, again and again."""
    own, opp = position.own, position.opp
    for _ in range(4):
        own &= int(transform_mask(position.game.id, np.uint64(own), s))
        opp &= int(transform_mask(position.game.id, np.uint64(opp), s))
    return Position(position.game, own, opp)


def exchanged(position: Position) -> list[tuple[int, int, int]]:
    """Return each legal action with a symmetry of the position and another action that it becomes."""
    table = action_table(position.game)
    symmetries = symmetries_of(position.game, position.own, position.opp)
    images = [(action, s, int(table[s, action])) for action in position.legal_actions() for s in symmetries]
    return [each for each in images if each[0] != each[2]]


def check(position: Position, analysis: Analysis) -> None:
    table, moves = action_table(position.game), {move.action: move for move in analysis.moves}
    assert sorted(moves) == position.legal_actions()
    for action, _, image in exchanged(position):
        one, other = moves[action], moves[image]
        values = [(each.value, each.score, each.discs, each.certain, each.prior) for each in (one, other)]
        assert values[0] == values[1], f"{position} {action} {image}"
        assert abs(one.visits - other.visits) <= 1
        symmetries = symmetries_of(position.game, position.own, position.opp)
        assert other.line in [tuple(table[s, list(one.line)].tolist()) for s in symmetries]
    for move in analysis.moves:
        assert move.line[0] == move.action
        after = position
        for action in move.line:
            after = after.play(action)


@pytest.mark.parametrize("name", BOARDS)
def test_a_search_values_exchanged_moves_equally(name: str) -> None:
    game = GAMES[name]
    analyzer = BatchAnalyzer(game, HashEvaluator(game), 40, 0)
    positions = list(symmetric(game, {"reversi4": 100, "tictactoe": 20}.get(name, 1000)))
    for at in range(0, len(positions), analyzer.batch):
        some = positions[at : at + analyzer.batch]
        for position, analysis in zip(some, analyzer.analyse(some), strict=True):
            check(position, analysis)
            priors = [move.prior for move in analysis.moves]
            assert sum(each or 0.0 for each in priors) == pytest.approx(1 if None not in priors else 0, abs=1e-5)


@pytest.mark.parametrize("name", ["reversi6", "reversi8"])
def test_alpha_beta_and_tables_value_exchanged_moves_equally(name: str) -> None:
    game = GAMES[name]
    model = weights(game, config=PATTERNS)
    evaluate = open_evaluator(model)
    analyzers: list[Analyzer] = [
        AlphaBetaAnalyzer("m", AlphaBeta(game, evaluate.tables), 1.0),
        SearchAnalyzer("m", game, evaluate, 20),
    ]
    positions = list(symmetric(game, 100))
    for position in positions:
        for analyzer in analyzers:
            check(position, analyzer.analyse(position, Limit(20), lambda: False))
    assert len(positions) == 100


def test_the_solver_gives_exchanged_moves_one_line() -> None:
    game = GAMES["reversi6"]
    analyzer = SolverAnalyzer(SearchAnalyzer("m", game, HashEvaluator(game), 8), 12)
    for position in symmetric(game, 60, most=12):
        analysis = analyzer.analyse(position, Limit(), lambda: False)
        assert analysis.best.score is not None
        check(position, analysis)


def test_exchanged_moves_share_the_simulations() -> None:
    start = Position.start("reversi6")
    analysis = SearchAnalyzer("m", start.game, HashEvaluator(start.game), 50).analyse(start)
    assert [move.visits for move in analysis.moves] == [13, 13, 12, 12]
    assert (analysis.visits, analysis.nodes) == (50, 51)
    assert [move.same_as for move in analysis.moves] == [None] + [analysis.best.action] * 3
    assert {move.prior for move in analysis.moves} == {0.25}


class Orientations(HashEvaluator):
    """Remembers what it was asked first."""

    asked: list[tuple[int, int]]

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append((int(own[0]), int(opp[0])))
        return super().__call__(own, opp)


def test_the_root_is_the_mean_of_its_eight_orientations() -> None:
    game = GAMES["reversi6"]
    evaluate, position = Orientations(game), Position.start(game).play("c2").play("b2").play("b3")
    evaluate.asked = []
    analysis = SearchAnalyzer("m", game, evaluate, 50).analyse(position, Limit(0))
    images = [
        [int(transform_mask(game.id, np.uint64(mask), s)) for mask in (position.own, position.opp)] for s in range(8)
    ]
    assert [list(each) for each in evaluate.asked] == images
    values = [float(HashEvaluator(game)(*(np.array([mask], np.uint64) for mask in image))[1][0]) for image in images]
    assert analysis.value == pytest.approx(np.mean(values), abs=1e-6)


def test_other_searches_search_every_move() -> None:
    start = Position.start("reversi6")
    config = SearchConfig.puct(simulations=50, c_puct=1.5, fpu_reduction=0.2)
    found = Search(start.game, config, HashEvaluator(start.game), 1).run(*start.as_batch())
    assert (found.visits > 0).sum() == 4
