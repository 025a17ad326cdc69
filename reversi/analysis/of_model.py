"""The analyzer that a model makes with the exact solver, as commands, page and protocols use it.

Heavy packages are imported inside its functions: the help of commands names its defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reversi.analysis.analyzer import Analyzer
    from reversi.games.rules import Game
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


def solving(analyzer: Analyzer, solve: int | None, *, winner_takes_empties: bool, nodes: int | None = None) -> Analyzer:
    """Return `analyzer`, on a Reversi board with exact scores from `solve` empty squares on.

    solve                 None for the defaults in play and in analysis, 0 for none
    winner_takes_empties  whether the winner's score counts squares that stay empty, as other engines' does
    nodes                 as for `SolverAnalyzer`
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
        nodes=nodes,
    )


def analysed_empties(game: Game, solve: int | None) -> int:
    """Return the empty squares from which analysis solves, None for the default; 0 in a game that is not Reversi."""
    if game.name not in ANALYSED_EMPTIES:
        return 0
    return ANALYSED_EMPTIES[game.name] if solve is None else solve
