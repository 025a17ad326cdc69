"""What `analyze` and `review` share: the model, the limits of its search, and the analyzer that these describe."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from reversi.analysis.of_model import analysed_empties
from scripts.arguments.common import add_model, add_registry, add_size, add_threads, game_of_size, natural, seconds
from scripts.arguments.engine import ANALYSED_BY_BOARD, add_solve, solve_of

if TYPE_CHECKING:
    from reversi.analysis.analyzer import Analysis
    from reversi.games.position import Position
    from reversi.games.rules import Game
    from reversi.model.choice import Choice
    from reversi.model.weights import Weights

Analyse = Callable[[list["Position"]], list["Analysis"]]
"""Analyses unfinished positions."""


def add_analysis(parser: argparse.ArgumentParser, simulations: int) -> None:
    """Declare the model and its limits; `simulations` is the default without --simulations and --seconds."""
    add_model(parser)
    parser.add_argument(
        "--simulations",
        type=natural,
        metavar="S",
        help=f"simulations per position, 0 for the network without search (default {simulations} without --seconds)",
    )
    parser.add_argument("--seconds", type=seconds, metavar="T", help="time limit per position in seconds")
    add_solve(parser, "solve", ANALYSED_BY_BOARD)
    add_size(parser, "the model's")
    add_registry(parser)
    add_threads(parser)


def model_to_analyse(args: argparse.Namespace, game: Game | None = None) -> tuple[Game, Choice]:
    """Return the model of --model and its game, which must be `game`, without one that of --size."""
    from reversi.games.rules import game_named
    from reversi.model.lookup import choose

    game = game or game_of_size(args)
    choice = choose(args.model or "gated", args.registry, game)
    if game is not None:
        choice.weights.check_game(game)
    return game_named(choice.weights.game), choice


def analyse_with(args: argparse.Namespace, game: Game, weights: Weights, simulations: int) -> tuple[Analyse, int]:
    """Return what analyzes positions, and the most positions of a call: with --seconds 1, else a batch.

    simulations  the default without --simulations
    """
    if args.seconds is not None:
        return _one_by_one(args, game, weights), 1
    from reversi.analysis.batch import BatchAnalyzer
    from reversi.model.evaluate import open_evaluator
    from reversi.players.model import batch_of

    if args.simulations is not None:
        simulations = args.simulations
    evaluate = open_evaluator(weights, batch=batch_of(simulations), threads=args.threads)
    empties = analysed_empties(game, solve_of(args))
    analyzer = BatchAnalyzer(game, evaluate, simulations, empties, threads=args.threads)
    return analyzer.analyse, analyzer.batch


def _one_by_one(args: argparse.Namespace, game: Game, weights: Weights) -> Analyse:
    """Return what analyzes each position with --seconds."""
    from reversi.analysis.analyzer import Limit
    from reversi.analysis.of_model import search_analyzer, solving

    search = search_analyzer(weights, game, threads=args.threads, tree=True)
    analyzer = solving(search, solve_of(args), winner_takes_empties=False)
    limit = Limit(args.simulations, args.seconds)
    return lambda positions: [analyzer.analyse(position, limit, lambda: False) for position in positions]
