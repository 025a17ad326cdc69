"""`import reversi`: the same names for Python and for type checkers; `analyse` and `play` in one call each."""

from __future__ import annotations

import ast
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

import reversi
from reversi import library
from reversi.analysis import solver
from reversi.analysis.analyzer import Analyzer, MoveAnalysis
from reversi.analysis.of_model import search_analyzer
from reversi.errors import (
    IllegalMoveError,
    IncompatibleModelError,
    NoGatedModelError,
    NotationError,
    ReversiError,
    UnknownPlayerError,
    UsageError,
)
from reversi.formats.ggf import parse_ggf
from reversi.games.notation import action_name
from reversi.games.rules import GAMES, Game
from reversi.library import Study
from reversi.model.lookup import choose
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from reversi.players import make_player
from tests.reversi.model.samples import MATCH, PATTERNS, weights

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).parents[2]

ENDING = "XXXXXXXXXXXOXOOOOOXXOXOOXOXOOO--O--- O"
OVER = "X" * 36 + " O"


def typed_names() -> dict[str, str]:
    """Return the module of every name that `reversi/__init__.py` imports for type checkers."""
    tree = ast.parse((ROOT / "reversi" / "__init__.py").read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def test_type_checkers_see_the_names_that_python_finds() -> None:
    assert typed_names() == reversi._HOMES  # type: ignore[attr-defined]
    assert sorted(typed_names()) == sorted(reversi.__all__)
    assert set(reversi.__all__) <= set(dir(reversi))
    for name in reversi.__all__:
        assert getattr(reversi, name).__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'reversi' has no attribute 'Positions'"):
        reversi.Positions  # type: ignore[attr-defined]  # noqa: B018


def test_annotations_are_packaged() -> None:
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "py.typed" in packaged["tool"]["setuptools"]["package-data"]["*"]
    assert all((ROOT / package / "py.typed").is_file() for package in ("reversi", "evaluator"))


@pytest.fixture(autouse=True)
def _a_folder_without_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(study: Study) -> tuple[object, ...]:
    """What an analysis says, whatever time it took."""
    return study.position, study.moves, study.nodes, study.value, study.proven


MOVES = "c2b2"
AFTER = reversi.Position.start("reversi6").play("c2").play("b2")
GGF = "(;GM[Othello]PC[x]PB[a]PW[b]RE[?]TY[6]BO[6 --------------O*----*O-------------- *]B[c2]W[b2];)"


@pytest.mark.parametrize("given", [AFTER, str(AFTER), MOVES, "1. C2 B2", GGF], ids=range(5))
def test_a_position_is_analysed_however_it_is_given(given: reversi.Position | str) -> None:
    study = reversi.analyse(given, "shipped", simulations=20)
    assert said(study) == said(reversi.analyse(AFTER, "shipped", simulations=20))
    assert study.position == AFTER
    assert sorted(move.action for move in study.moves) == AFTER.legal_actions()
    values = [move.value for move in study.moves if move.value is not None]
    assert len(values) == len(study.moves)
    assert values == sorted(values, reverse=True)
    assert AFTER.play(study.best_move) == AFTER.play(study.best.action)


@pytest.mark.parametrize("game", ["reversi6", GAMES["reversi6"]], ids=["name", "game"])
def test_a_game_stands_for_its_start(game: Game | str) -> None:
    assert reversi.analyse(game, "shipped", simulations=2).position == reversi.Position.start("reversi6")
    assert reversi.play("random", "random", game).start == reversi.Position.start("reversi6")


def test_a_slow_machine_solves_what_a_fast_one_does_if_simulations_are_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solver, "MOST_S", 0.0)
    assert reversi.analyse(ENDING, "shipped", simulations=2).proven
    ended: list[float | None] = []
    monkeypatch.setattr(solver, "exact_moves", lambda *_, seconds, **__: (ended.append(seconds), ((), 0))[1])
    reversi.analyse(ENDING, "shipped", simulations=2, seconds=0.02)
    assert ended == [0.0], "the clock ends this one"


def test_near_the_end_scores_are_exact() -> None:
    study = reversi.analyse(ENDING, "shipped")
    position = reversi.Position.parse(ENDING)
    exact = reversi.Solver("reversi6").solve_moves(position.own, position.opp).moves
    assert {move.action: move.score for move in study.moves} == exact
    assert study.proven


def test_text_has_a_line_for_each_move_and_the_picture_its_value_on_its_square() -> None:
    study = reversi.analyse(AFTER, "shipped", simulations=20)
    names = [action_name(AFTER.game, move.action) for move in study.moves]
    lines = str(study).splitlines()
    assert [line.split()[0] for line in lines] == names
    assert names[0] == study.best_move
    texts = [each.text for each in ElementTree.fromstring(study._repr_svg_()).iter(f"{SVG}text")]
    for line, move in zip(lines, study.moves, strict=True):
        assert move.discs is not None
        assert f"{move.discs:+.1f} discs" in line
        assert f"{move.discs:+.1f}" in texts


@pytest.mark.parametrize(
    ("move", "shown"),
    [
        (MoveAnalysis(0, value=1.0, score=4), "+4"),
        (MoveAnalysis(0, value=0.0, score=0, certain=True), "+0"),
        (MoveAnalysis(0, value=-0.1, discs=-3.14), "-3.1"),
        (MoveAnalysis(0, value=-0.1, discs=-0.01), "+0.0"),
        (MoveAnalysis(0, value=0.256, visits=3), "+2.1"),
        (MoveAnalysis(0), ""),
    ],
)
def test_a_square_shows_the_best_that_is_known_of_its_move(move: MoveAnalysis, shown: str) -> None:
    assert (shown in texts_of("reversi8", move)) == bool(shown)


def test_a_square_of_tictactoe_shows_an_expected_result() -> None:
    assert texts_of("tictactoe", MoveAnalysis(0, value=0.256)) == [*"a1b2c3", "+0.3", "Black to move"]


def texts_of(game: str, move: MoveAnalysis) -> list[str | None]:
    """Return the texts of the picture of a start position in which one move is judged."""
    study = Study(moves=(move,), nodes=1, seconds=0.0, position=reversi.Position.start(game))
    return [each.text for each in ElementTree.fromstring(study._repr_svg_()).iter(f"{SVG}text")]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """A registry whose champion is a small network of patterns, after a tower."""
    registry = Registry(str(tmp_path / "registry"), create=True)
    registry.publish(weights("reversi6", 0), "promoted", None)
    registry.publish(weights("reversi6", 1, seed=1, config=PATTERNS), "promoted", MATCH)
    return registry


def test_models_are_those_of_load_model(registry: Registry, tmp_path: Path) -> None:
    champion = reversi.load_model("gated", registry.url)
    by_weights = reversi.analyse(AFTER, champion, simulations=4)
    for name in ("gated", "latest", 1, "1"):
        assert said(reversi.analyse(AFTER, name, registry=registry.url, simulations=4)) == said(by_weights)
    choose("gated", registry.url).pull(tmp_path / "champion")
    assert said(reversi.analyse(AFTER, Path("champion"), simulations=4)) == said(by_weights)
    tower = reversi.analyse(AFTER, 0, registry=registry.url, simulations=40)
    assert said(tower) != said(by_weights)
    assert sum(move.visits for move in tower.moves) == 40


def test_without_a_run_the_model_is_the_shipped_one() -> None:
    assert said(reversi.analyse(AFTER, simulations=4)) == said(reversi.analyse(AFTER, "shipped", simulations=4))


def test_a_model_is_opened_once_and_a_new_champion_at_its_next_use(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def noted(model: Weights, *arguments: Any, **options: Any) -> Analyzer:
        opened.append(model.version)
        return search_analyzer(model, *arguments, **options)

    monkeypatch.setattr(library, "search_analyzer", noted)
    library._search.cache_clear()
    library._analyzer.cache_clear()
    champion = reversi.load_model("gated", registry.url)
    for _ in range(2):
        reversi.analyse(AFTER, registry=registry.url, simulations=2)
        reversi.analyse("reversi6", 1, registry=registry.url, simulations=2)
    assert opened == [1]
    reversi.analyse(AFTER, champion, simulations=2)
    reversi.analyse(AFTER, champion, simulations=2)
    assert opened == [1, 1]
    registry.publish(weights("reversi6", 2, seed=2, config=PATTERNS), "promoted", MATCH)
    reversi.analyse(AFTER, registry=registry.url, simulations=2)
    assert opened == [1, 1, 2]


def test_threads_that_analyse_at_once_get_the_answers_of_one() -> None:
    games = [reversi.play("random", "random", "reversi6", seed=seed) for seed in range(8)]
    positions = [game.positions[8] for game in games]
    alone = [said(reversi.analyse(position, "shipped", simulations=10)) for position in positions]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda position: said(reversi.analyse(position, "shipped", simulations=10)), positions)
    assert list(together) == alone


BAD_POSITIONS: list[tuple[Any, type[ReversiError], str]] = [
    ("nonsense", NotationError, "expected a position, moves like f5d6c3, or a game in GGF or SGF, got 'nonsense'"),
    ("", NotationError, "expected a position, moves"),
    ("reversi7", NotationError, "got 'reversi7'"),
    ("-" * 35 + " X", NotationError, "expected 9, 16, 36 or 64 squares"),
    ("c2c2", IllegalMoveError, "expected a legal move at ply 2, got 'c2'"),
    (OVER, UsageError, "expected a position with a move to play, the game is over in 'XXX"),
    (reversi.Position(GAMES["reversi6"], 3, 1), UsageError, "expected discs on squares of reversi6, one on each"),
    (None, UsageError, "expected a position, its text or a game, got NoneType"),
    (np.zeros((8, 8)), UsageError, "expected a position, its text or a game, got ndarray"),
]


@pytest.mark.parametrize(("given", "kind", "says"), BAD_POSITIONS, ids=range(len(BAD_POSITIONS)))
def test_what_is_no_unfinished_position_is_refused(given: Any, kind: type[ReversiError], says: str) -> None:
    for asked in (lambda: reversi.analyse(given, "shipped"), lambda: reversi.play("random", "random", given)):
        with pytest.raises(kind, match=re.escape(says)) as error:
            asked()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"simulations": 0}, UsageError, "expected from 1 to 1000000 simulations, got 0"),
        ({"simulations": 10**7}, UsageError, "got 10000000"),
        ({"simulations": 1.5}, UsageError, "got 1.5"),
        ({"seconds": 0}, UsageError, "expected seconds above 0 and at most a day, got 0"),
        ({"seconds": float("nan")}, UsageError, "got nan"),
        ({"seconds": 1e9}, UsageError, "got 1000000000.0"),
        ({"seconds": "1"}, UsageError, "got '1'"),
        ({"model": "nowhere"}, UsageError, "got 'nowhere'"),
        ({"model": weights("reversi8", 5)}, IncompatibleModelError, "for reversi6, got version 5 for reversi8"),
        ({"position": "reversi4"}, NoGatedModelError, "no model of reversi4 is shipped"),
    ],
)
def test_limits_and_models_that_cannot_be_are_refused(
    options: dict[str, Any], kind: type[ReversiError], says: str
) -> None:
    with pytest.raises(kind, match=re.escape(says)) as error:
        reversi.analyse(**{"position": "reversi6", "model": "shipped", **options})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("game", GAMES)
def test_a_game_is_played_to_its_end_by_the_rules(game: str) -> None:
    played = reversi.play("random", "greedy", game, seed=3)
    assert (played.tags["PB"], played.tags["PW"]) == ("random", "greedy")
    assert played.positions[0] == reversi.Position.start(game)
    assert [position.is_over for position in played.positions] == [False] * len(played.moves) + [True]
    if played.start.game.counts_discs:
        assert parse_ggf(str(played)).positions == played.positions
    assert eval(repr(played), {"parse_ggf": lambda text: text}) == str(played)


def test_a_game_depends_on_its_seed_and_both_sides_draw_their_own_moves() -> None:
    games = [reversi.play("random", "random", "reversi6", seed=seed).actions for seed in (1, 1, 2)]
    assert games[0] == games[1] != games[2]
    start = reversi.Position.start("reversi6")
    mirrored = [make_player("random", start.game, seed=seed) for seed in (1, 2)]
    assert reversi.play(*mirrored, start).actions == games[0]


def test_a_game_begins_where_it_is_told_with_either_side() -> None:
    start = reversi.Position.start("reversi6").play("c2")
    for given in (start, str(start), "c2"):
        played = reversi.play(Lowest(), "greedy", given)
        assert (played.start, played.start.black_to_move) == (start, False)
        blacks = [move for before, move in zip(played.positions, played.actions, strict=False) if before.black_to_move]
        lowest = [before.legal_actions()[0] for before in played.positions[:-1] if before.black_to_move]
        assert blacks == lowest
    assert reversi.play("greedy", "greedy", ENDING).positions[-1].is_over


class Lowest:
    """A player from elsewhere, for boards of 6x6, that does not say so; it plays the first legal action."""

    name = "lowest"

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        positions = (reversi.Position(GAMES["reversi6"], int(a), int(b)) for a, b in zip(own, opp, strict=True))
        return np.array([position.legal_actions()[0] for position in positions], np.int32)


def test_models_play(registry: Registry) -> None:
    played = reversi.play("gated", "policy:0", "reversi6", registry=registry.url)
    assert (played.tags["PB"], played.tags["PW"]) == ("mcts:1:64", "policy:0")
    assert played.positions[-1].is_over


@pytest.mark.parametrize(
    ("black", "white", "kind", "says"),
    [
        ("greedy", "gredy", UnknownPlayerError, "unknown player 'gredy'"),
        ("mcts", "greedy", UsageError, "expected a model in 'mcts'"),
        ("greedy", "gtp:program", UsageError, "expected a player of this program, got 'gtp:program'"),
        ("greedy", None, UsageError, "expected the name of a player, or a player of positions, got NoneType"),
        (
            make_player("greedy", "reversi8", seed=1),
            "greedy",
            UsageError,
            "of reversi6, got 'greedy' of reversi8",
        ),
        ("greedy", make_player("random", "reversi4", seed=1), UsageError, "got 'random' of reversi4"),
        ("policy:7", "greedy", NoGatedModelError, "no run in runs/ has a registry"),
    ],
)
def test_players_that_cannot_play_are_refused(black: Any, white: Any, kind: type[ReversiError], says: str) -> None:
    with pytest.raises(kind, match=re.escape(says)) as error:
        reversi.play(black, white, "reversi6")
    assert "\n" not in str(error.value)
