"""What `gtp`, `nboard` and `serve` share: their arguments, the analyzers and the session that these describe."""

from __future__ import annotations

import argparse
import os
import sys
from typing import IO, TYPE_CHECKING

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

SIMULATIONS = 400
"""Simulations per move if neither --simulations nor --seconds nor the other program sets a limit; a network of patterns
then takes `PATTERN_SECONDS`."""

SOLVED_EMPTIES = 14
"""Default of --solve in play, the empty squares from which every move is scored exactly: on 8x8 in 0.05 s, at most
0.3 s (median and maximum of 25 random positions on a busy core); with 16 it takes four times as long."""

ANALYSED_EMPTIES = {"reversi4": 16, "reversi6": 20, "reversi8": 18}
"""The same in analysis.  Seconds of one core, median and maximum of 40 to 60 positions of alpha-beta's games: 6x6 with
18 0.04, 0.17, with 20 0.19, 0.79, with 22 0.75, 4.1; 8x8 with 16 0.02, 0.18, with 18 0.13, 0.68, with 20 0.67, 4.7."""

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


def search_analyzer(
    weights: Weights, game: Game, *, threads: int, margin: float | None = None, tree: bool = False
) -> Analyzer:
    """Return the search that plays with the model, ready to answer; raises IncompatibleModelError for a model of
    another game.

    threads  of the network
    margin   weight of the disc margin against the result; None is that of play, and another one takes a tree search
    tree     takes the tree search, whose visits are a policy, also for a network of patterns
    """
    from reversi.analysis.alphabeta import AlphaBetaAnalyzer
    from reversi.analysis.analyzer import MOST_LEAVES, SearchAnalyzer
    from reversi.model.evaluate import open_evaluator
    from reversi.model.machine import cpu_has_bf16
    from reversi.players import PLAYING
    from reversi.players.model import PATTERN_SECONDS, alphabeta_of, plays_alphabeta

    weights.check_game(game)
    name = f"model {weights.version}"
    if plays_alphabeta(weights) and margin is None and not tree:
        return AlphaBetaAnalyzer(name, alphabeta_of(game, weights), PATTERN_SECONDS)
    margin_weight = PLAYING.margin_weight if margin is None else margin
    precision = "bf16" if cpu_has_bf16() else "float32"  # measuring which is faster would delay the first answer
    evaluate = open_evaluator(
        weights,
        precision=precision,
        batch=MOST_LEAVES,
        threads=threads,
        margin_weight=margin_weight,
    )
    seconds = PATTERN_SECONDS if weights.network.head == "margin" else None
    analyzer = SearchAnalyzer(name, game, evaluate, SIMULATIONS, margin_weight, seconds)
    analyzer.warm_up()
    return analyzer


def solving(analyzer: Analyzer, solve: int | None, *, winner_takes_empties: bool) -> Analyzer:
    """Return `analyzer`, on a Reversi board with exact scores from `solve` empty squares on, as --solve says them.

    solve                 None for the defaults in play and in analysis, 0 for none
    winner_takes_empties  whether the winner's score counts squares that stay empty, as other engines' does
    """
    from reversi.analysis.solver import SolverAnalyzer
    from reversi.games.rules import TICTACTOE

    if solve == 0 or analyzer.game.id == TICTACTOE:
        return analyzer
    return SolverAnalyzer(
        analyzer,
        analysed_empties(analyzer.game, solve),
        choose_empties=SOLVED_EMPTIES if solve is None else solve,
        winner_takes_empties=winner_takes_empties,
    )


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


def analysed_empties(game: Game, solve: int | None) -> int:
    """Return the empty squares from which analysis solves, None for the default; 0 in a game that is not Reversi."""
    if game.name not in ANALYSED_EMPTIES:
        return 0
    return ANALYSED_EMPTIES[game.name] if solve is None else solve


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
