"""What `gtp`, `nboard` and `serve` share: their arguments, the analyzers and the session that these describe."""

from __future__ import annotations

import argparse
import os
import sys
from typing import IO, TYPE_CHECKING

from reversi.analysis.of_model import (
    ANALYSED_EMPTIES,
    SIMULATIONS,
    SOLVED_EMPTIES,
    analysed_empties,
    search_analyzer,
    solving,
)
from scripts.arguments.common import (
    add_model,
    add_players,
    add_registry,
    add_seed,
    add_size,
    add_threads,
    game_of_players,
    game_of_size,
    natural,
    natural_up_to,
    player_of,
    seconds,
    share,
)

if TYPE_CHECKING:
    from reversi.analysis.analyzer import Analyzer, PlayerAnalyzer
    from reversi.analysis.review import Reviewer
    from reversi.frontends.engine_session import AnalyzerOf, EngineSession
    from reversi.frontends.input_lines import InputLines
    from reversi.games.rules import Game
    from reversi.model.margin_errors import MarginErrors
    from reversi.model.weights import Weights

ANALYSED_BY_BOARD = f"{ANALYSED_EMPTIES['reversi6']} on 6x6, {ANALYSED_EMPTIES['reversi8']} on 8x8, all on 4x4"
"""The same for help texts."""

MOST_EMPTIES = 24
"""Largest --solve: with more empty squares the solver hardly ever finishes in time, and that time is lost."""


def add_engine_arguments(
    parser: argparse.ArgumentParser,
    simulations: str = f"default {SIMULATIONS}, or set by the protocol; a network of patterns half a second",
) -> None:
    """Declare the player, the board and the limits of its thinking; `simulations` completes --simulations' help."""
    add_model(parser)
    parser.add_argument("--player", metavar="PLAYER", help="any player, instead of --model")
    add_size(parser, "the model's; 8 for a player without one")
    parser.add_argument(
        "--simulations",
        type=natural,
        metavar="S",
        help=f"simulations per move, 0 for the network alone ({simulations})",
    )
    parser.add_argument("--seconds", type=seconds, metavar="T", help="time limit per move in seconds")
    add_solve(parser, "a model solves", f"{SOLVED_EMPTIES} in play, in analysis {ANALYSED_BY_BOARD}")
    parser.add_argument(
        "--margin",
        type=share,
        metavar="W",
        help="a model's weight of the disc margin against the result, 0 to 1 (default 0)",
    )
    add_registry(parser)
    add_seed(parser, "the player")
    add_threads(parser)
    add_players(parser, engines=False)


def add_solve(parser: argparse.ArgumentParser, what: str, shown: str) -> None:
    """Add --solve; `what` begins its help, and `shown` is the default as the help names it."""
    parser.add_argument(
        "--solve",
        type=natural_up_to(MOST_EMPTIES),
        metavar="N",
        help=f"{what} positions with up to N empty squares exactly (default {shown}; 0 for none)",
    )


def make_session(args: argparse.Namespace) -> EngineSession:
    """Return the session, ready to answer; raises what creating its player or loading its model raises."""
    from reversi.analysis.analyzer import Limit
    from reversi.frontends.engine_session import EngineSession

    check_engine_arguments(args)
    game, analyzer_of = _of_player(args) if args.player is not None else _of_model(args)
    return EngineSession(game, analyzer_of, Limit(args.simulations, args.seconds))


def check_engine_arguments(args: argparse.Namespace) -> None:
    """Raise UsageError for arguments that contradict each other or are out of range."""
    from reversi.errors import UsageError
    from reversi.search.config import MAX_SIMULATIONS

    if args.player is not None and args.model is not None:
        raise UsageError(f"expected --model or --player, got {args.model!r} and {args.player!r}")
    if args.player is not None and args.seconds is not None:
        raise UsageError("expected a model for --seconds: a player takes the time it takes")
    if args.player is not None and args.margin is not None:
        raise UsageError("expected a model for --margin: a player has it in its name, as in mcts:gated:64,margin=0.1")
    if args.player is not None and args.solve is not None:
        raise UsageError("expected a model for --solve: a player has it in its name, as in mcts:gated:64,solve=10")
    if args.simulations is not None and args.simulations > MAX_SIMULATIONS:
        raise UsageError(f"expected at most {MAX_SIMULATIONS} simulations, got {args.simulations}")


def game_of_model(args: argparse.Namespace, weights: Weights) -> Game:
    """Return the game of --size, which is the model's by default."""
    from reversi.games.rules import game_named, reversi_of_size

    return game_named(weights.game) if args.size is None else reversi_of_size(args.size)


def reviewer(
    search: Analyzer, solve: int | None, errors: MarginErrors | None, simulations: int | None = None
) -> Reviewer:
    """Return what reviews games: `search` to one depth, by default that of a review, and the solver before it, without
    a look at the clock.

    solve   as for `solving`
    errors  of the margins that the search's model expects
    """
    from reversi.analysis.alphabeta import AlphaBetaAnalyzer
    from reversi.analysis.analyzer import Limit
    from reversi.analysis.review import SIMULATIONS, SOLVED_NODES, TABLE_SIMULATIONS, Reviewer
    from reversi.analysis.solver import SolverAnalyzer

    usual = TABLE_SIMULATIONS if isinstance(search, AlphaBetaAnalyzer) else SIMULATIONS
    limit = Limit(usual if simulations is None else simulations)
    if (empties := analysed_empties(search.game, solve)) == 0:
        return Reviewer(search, limit, errors)
    return Reviewer(SolverAnalyzer(search, empties, winner_takes_empties=False, nodes=SOLVED_NODES), limit, errors)


def solve_of(args: argparse.Namespace) -> int | None:
    """Return --solve, None for its default; with 0 simulations, which are the network alone, that is 0."""
    return 0 if args.simulations == 0 and args.solve is None else args.solve


def player_analyzer(args: argparse.Namespace, spec: str, game: Game) -> PlayerAnalyzer:
    """Return the player that `spec` names as an analyzer that only chooses moves."""
    from reversi.analysis.analyzer import PlayerAnalyzer

    simulations = SIMULATIONS if args.simulations is None else args.simulations
    return PlayerAnalyzer(game, player_of(args, spec, game, seed=args.seed, simulations=simulations))


def input_lines(stream: IO[bytes] | None = None) -> InputLines:
    """Return the lines of `stream`, by default of standard input.

    They are read from the file descriptor: a thread blocked in `sys.stdin` would hold its lock when the process ends,
    and Python would then end with an error.
    """
    from reversi.frontends.input_lines import InputLines

    stream = stream or sys.stdin.buffer
    try:
        descriptor = stream.fileno()
    except OSError:  # a stream in memory has none
        return InputLines(lambda: stream.read(1 << 16))
    return InputLines(lambda: os.read(descriptor, 1 << 16))


def say(text: str) -> None:
    """Write to standard output, flushed, in ASCII; other characters, in names and echoes, are escaped."""
    print(text.encode("ascii", "backslashreplace").decode(), end="", flush=True)


def game_to_play(args: argparse.Namespace) -> Game:
    """Return the game of --size, by default that of --player's model, else 8x8."""
    from reversi.games.rules import reversi_of_size

    return reversi_of_size(args.size) if args.size is not None else game_of_players([args.player], args.registry, 8)


def _of_player(args: argparse.Namespace) -> tuple[Game, AnalyzerOf]:
    game = game_to_play(args)
    return game, lambda each: player_analyzer(args, args.player, each)


def _of_model(args: argparse.Namespace) -> tuple[Game, AnalyzerOf]:
    from reversi.model.lookup import load_model

    weights = load_model(args.model or "gated", args.registry, game_of_size(args))

    def analyzer_of(each: Game) -> Analyzer:
        search = search_analyzer(weights, each, threads=args.threads, margin=args.margin)
        return solving(search, solve_of(args), winner_takes_empties=True)

    return game_of_model(args, weights), analyzer_of
