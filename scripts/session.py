"""What `gtp` and `nboard` share: the session that the command line describes, standard input and output."""

from __future__ import annotations

import argparse
import math
import os
import sys
from typing import TYPE_CHECKING

from scripts.arguments import add_registry, add_threads, natural, share

if TYPE_CHECKING:
    from reversi.frontends.engine_session import AnalyzerOf, EngineSession
    from reversi.frontends.input_lines import InputLines
    from reversi.games.rules import Game

SIMULATIONS = 400
"""Simulations a move, where neither --simulations nor --seconds nor the other program says more."""

SOLVED_EMPTIES = 14
"""Empty squares from which on every move is scored exactly: on 8x8 in 0.05 s, at most 0.3 s (medians and most of 25
random positions on a busy core); with 16 it takes four times as long."""

MOST_EMPTIES = 24
"""With more the solver hardly ever ends in the time that it gets, and the search lacks that time."""


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare who plays, on which board and with what effort."""
    parser.add_argument("--model", metavar="M", help="gated, latest, a version, a folder (default gated)")
    parser.add_argument("--player", metavar="PLAYER", help="any player of `reversi match`, in place of a model")
    parser.add_argument(
        "--size", type=natural, metavar="N", help="board size: 4, 6 or 8 (default: the model's; of a player 8)"
    )
    parser.add_argument(
        "--simulations", type=natural, metavar="S", help=f"a move (default {SIMULATIONS}, or what the protocol says)"
    )
    parser.add_argument("--seconds", type=seconds, metavar="T", help="a move at most")
    parser.add_argument(
        "--solve",
        type=natural,
        default=SOLVED_EMPTIES,
        metavar="N",
        help=f"a model's positions with up to N empty squares exactly (default {SOLVED_EMPTIES}, 0 none)",
    )
    parser.add_argument(
        "--margin", type=share, metavar="W", help="a model's weight of discs beside the result, 0 to 1 (default 0)"
    )
    add_registry(parser)
    parser.add_argument("--seed", type=natural, default=0, metavar="S", help="of players with randomness (default 0)")
    add_threads(parser)


def seconds(text: str) -> float:
    """Read a number of seconds above 0; argparse says the rest."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError(f"expected seconds above 0 and at most a day, got {text!r}")
    return number


def make_session(args: argparse.Namespace) -> EngineSession:
    """Return the session, ready to answer; raises what making its player or loading its model raises."""
    from reversi.errors import UsageError
    from reversi.frontends.analysis import Limit
    from reversi.frontends.engine_session import EngineSession
    from reversi.search.config import MAX_SIMULATIONS

    if args.player is not None and args.model is not None:
        raise UsageError(f"expected --model or --player, got {args.model!r} and {args.player!r}")
    if args.player is not None and args.seconds is not None:
        raise UsageError("expected a model for --seconds: a player takes the time it takes")
    if args.player is not None and args.margin is not None:
        raise UsageError("expected a model for --margin: a player has it in its name, as in mcts:gated:64,margin=0.1")
    if args.simulations is not None and args.simulations > MAX_SIMULATIONS:
        raise UsageError(f"expected at most {MAX_SIMULATIONS} simulations, got {args.simulations}")
    if args.solve > MOST_EMPTIES:
        raise UsageError(f"expected --solve of at most {MOST_EMPTIES} empty squares, got {args.solve}")
    game, analyzer_of = _of_player(args) if args.player is not None else _of_model(args)
    return EngineSession(game, analyzer_of, Limit(args.simulations, args.seconds))


def input_lines() -> InputLines:
    """Return the lines of standard input.

    They are read from the descriptor: a thread blocked in `sys.stdin` would hold its lock when the process ends, and
    Python would not end without a complaint.
    """
    from reversi.frontends.input_lines import InputLines

    stream = sys.stdin
    if stream is None:  # closed before we began
        return InputLines(lambda: b"")
    try:
        descriptor = stream.fileno()
    except OSError:  # a stream in memory has none
        return InputLines(lambda: stream.buffer.read(1 << 16))
    return InputLines(lambda: os.read(descriptor, 1 << 16))


def say(text: str) -> None:
    """Write to standard output, at once, in ASCII: what else there is in names and echoes is escaped."""
    print(text.encode("ascii", "backslashreplace").decode(), end="", flush=True)


def _of_player(args: argparse.Namespace) -> tuple[Game, AnalyzerOf]:
    from reversi.errors import UsageError
    from reversi.frontends.analysis import PlayerAnalyzer
    from reversi.games.rules import reversi_of_size
    from reversi.players import make_player

    if args.player.startswith(("gtp:", "nboard:")):
        raise UsageError(f"expected a player of our own, got {args.player!r}, which is such an engine itself")

    def analyzer_of(game: Game) -> PlayerAnalyzer:
        simulations = SIMULATIONS if args.simulations is None else args.simulations
        return PlayerAnalyzer(
            game,
            make_player(
                args.player,
                game,
                registry=args.registry,
                seed=args.seed,
                threads=args.threads,
                simulations=simulations,
            ),
        )

    return reversi_of_size(8 if args.size is None else args.size), analyzer_of


def _of_model(args: argparse.Namespace) -> tuple[Game, AnalyzerOf]:
    from reversi.frontends.analysis import MOST_LEAVES, Analyzer, SearchAnalyzer
    from reversi.frontends.solver_analysis import SolverAnalyzer
    from reversi.games.rules import game_named, reversi_of_size
    from reversi.model.evaluate import open_evaluator
    from reversi.model.machine import cpu_has_bf16
    from reversi.model.registry import load_model
    from reversi.players import MARGIN_WEIGHT

    margin_weight = MARGIN_WEIGHT if args.margin is None else args.margin
    model = args.model or "gated"
    weights = load_model(model, args.registry)

    def analyzer_of(game: Game) -> Analyzer:
        weights.check_game(game)
        precision = "bf16" if cpu_has_bf16() else "float32"  # measuring which is faster would delay the first answer
        evaluate = open_evaluator(
            weights,
            precision=precision,
            batch=MOST_LEAVES,
            threads=args.threads,
            margin_weight=margin_weight,
        )
        analyzer = SearchAnalyzer(f"model {weights.version}", game, evaluate, SIMULATIONS, margin_weight)
        analyzer.warm_up()
        return SolverAnalyzer(analyzer, args.solve) if args.solve else analyzer

    return game_named(weights.game) if args.size is None else reversi_of_size(args.size), analyzer_of
