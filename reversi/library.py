"""`analyse` and `play`: one position studied, one game played, each in one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock

from reversi.analysis.analyzer import Analysis, Analyzer, Limit, MoveAnalysis
from reversi.analysis.of_model import search_analyzer, solving
from reversi.analysis.review import SOLVED_NODES
from reversi.capacity import cores
from reversi.errors import UsageError
from reversi.formats.ggf import GgfGame, GgfMove
from reversi.formats.text import parse_game
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.model.lookup import choose
from reversi.model.weights import Weights
from reversi.players import Player, choose_move, make_player
from reversi.search.config import MAX_SIMULATIONS

LONGEST_S = 86_400
"""Longest analysis, a day."""

_ONE_AT_A_TIME = Lock()
"""Held while an analyzer, which is shared, works."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Study(Analysis):
    """The analysis of a position, with that position; as text a line for each move, in notebooks a picture."""

    position: Position

    @property
    def best_move(self) -> str:
        """The name of the move to play."""
        return action_name(self.position.game, self.best.action)

    def __repr__(self) -> str:
        return "\n".join(move.summary(self.position.game) for move in self.moves)

    def _repr_svg_(self) -> str:
        """Return the board with a value on every legal move: discs for the side to move."""
        return self.position.picture({move.action: _value(self.position.game, move) for move in self.moves})


@dataclass(frozen=True)
class _Model:
    """A model, equal to another one of the same key."""

    key: object
    weights: Weights = field(compare=False)


def analyse(
    position: Position | Game | str,
    model: str | int | Path | Weights = "gated",
    *,
    seconds: float | None = None,
    simulations: int | None = None,
    registry: str | Path | None = None,
) -> Study:
    """Return every move of an unfinished position with its value and the line expected after it, the best one first.

    position     or its text, moves such as `f5d6`, a game in GGF or SGF, for its end, or a game's name, for its start
    model        weights, or what `load_model` takes; it is opened once
    seconds      time limit of the search; by default half a second for a network of patterns, else 400 simulations
    simulations  limit of the search, instead or too
    registry     of `gated`, `latest` and versions, as for `load_model`

    Near the end, from 18 empty squares on 8x8, all moves have exact scores instead of estimates if the solver finishes
    in 2 s or half of `seconds`; with `simulations` alone its limit is 50 million positions, which no clock changes.
    Calls of several threads wait for each other.

    Raises UsageError for a position without a move to play, NotationError or IllegalMoveError for a wrong text,
    IncompatibleModelError for a model of another game, and what `load_model` raises.
    """
    where, limit = _position(position), _limit(simulations, seconds)
    if isinstance(model, Weights):
        known = _Model(model, model)
    else:
        chosen = choose(model, registry, where.game)
        known = _Model(chosen.sha256, chosen.weights)
    with _ONE_AT_A_TIME:
        by_clock = simulations is None or seconds is not None
        found = _analyzer(known, where.game, by_clock=by_clock).analyse(where, limit, lambda: False)
    return Study(**vars(found), position=where)


def play(
    black: str | Player,
    white: str | Player,
    start: Position | Game | str = "reversi8",
    *,
    registry: str | Path | None = None,
    seed: int = 0,
) -> GgfGame:
    """Return a game between two players: `moves` are its plies, `positions` its positions, `str` of it is its GGF.

    black, white  players as on the command line, such as `shipped`, `greedy` or `mcts:gated:400`, or of `make_player`
    start         where the game begins: as `position` of `analyse`
    registry      of `gated`, `latest` and versions, as for `load_model`
    seed          of players that draw moves at random; that of White is the next one

    Raises UsageError for a position without a move to play and for a player of another game, UnknownPlayerError for one
    that there is not, IllegalMoveError for one that breaks the rules, and what `make_player` raises.
    """
    first = _position(start)
    blacks, whites = (
        _player(given, first.game, registry, seed + number) for number, given in enumerate((black, white))
    )
    positions, moves = [first], list[GgfMove]()
    while not positions[-1].is_over:
        move = choose_move(blacks if positions[-1].black_to_move else whites, positions[-1])
        moves.append(GgfMove.parse(first.game, move))
        positions.append(positions[-1].play(move))
    return GgfGame(first, tuple(moves), {"PB": blacks.name, "PW": whites.name})


def _position(given: Position | Game | str) -> Position:
    """Return the position that is given, or at the end of what is given."""
    if isinstance(given, str) and given not in GAMES:
        given = parse_game(given).end
    elif isinstance(given, str | Game):
        given = Position.start(given)
    elif not isinstance(given, Position):
        raise UsageError(f"expected a position, its text or a game, got {type(given).__name__}")
    given.expect_move()
    return given


def _limit(simulations: int | None, seconds: float | None) -> Limit:
    """Return the limit of a search; UsageError if it is none."""
    if simulations is not None and not (isinstance(simulations, int) and 1 <= simulations <= MAX_SIMULATIONS):
        raise UsageError(f"expected from 1 to {MAX_SIMULATIONS} simulations, got {simulations!r}")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds <= LONGEST_S):
        raise UsageError(f"expected seconds above 0 and at most a day, got {seconds!r}")
    return Limit(simulations, seconds)


def _player(given: str | Player, game: Game, registry: str | Path | None, seed: int) -> Player:
    """Return a player of `game`."""
    if isinstance(given, str):
        return make_player(given, game, registry=registry, seed=seed, threads=cores())
    if not hasattr(given, "choose"):
        raise UsageError(f"expected the name of a player, or a player of positions, got {type(given).__name__}")
    return given


@lru_cache(maxsize=4)
def _search(model: _Model, game: Game) -> Analyzer:
    """Return the search of a model, opened once."""
    return search_analyzer(model.weights, game, threads=cores())


@lru_cache(maxsize=4)
def _analyzer(model: _Model, game: Game, *, by_clock: bool) -> Analyzer:
    """Return that search with the solver, which ends by the clock or, for the same answers on every machine, not."""
    nodes = None if by_clock else SOLVED_NODES
    return solving(_search(model, game), None, winner_takes_empties=False, nodes=nodes)


def _value(game: Game, move: MoveAnalysis) -> str:
    """Return what is known of a move, short enough for a square."""
    if move.score is not None:
        return f"{move.score:+d}"
    expected = move.margin(game) if game.counts_discs else move.value
    return "" if expected is None else f"{expected:+z.1f}"
