"""`Contestants`: the players that the gate makes of models."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.config import GateConfig
from evaluator.margin_errors import Analyse
from reversi.analysis.alphabeta import AlphaBetaAnalyzer
from reversi.analysis.analyzer import Limit
from reversi.analysis.batch import BatchAnalyzer
from reversi.games.rules import Game
from reversi.model.evaluate import open_evaluator
from reversi.model.weights import Weights
from reversi.players import (
    NODES_PER_SIMULATION,
    AlphaBetaModelPlayer,
    Player,
    SearchPlayer,
    alphabeta_of,
    batch_of,
    model_player,
    playing_config,
    plays_alphabeta,
)
from reversi.players.model import PATTERN_SECONDS


@dataclass(frozen=True)
class Contestants:
    """Makes players of models, with the searches of `config`."""

    config: GateConfig
    game: Game

    def playing(self, weights: Weights) -> Player:
        """Return the player that people get with `weights` alone, with fixed work for every move."""
        if not plays_alphabeta(weights) or not self.config.simulations:
            return self.judging(weights)
        nodes = NODES_PER_SIMULATION * self.config.simulations
        return AlphaBetaModelPlayer(f"alphabeta:{weights.version}", alphabeta_of(self.game, weights), nodes=nodes)

    def judging(self, weights: Weights) -> SearchPlayer:
        """Return the tree search, whose values choose openings."""
        return self.searching(weights, self.config.simulations, self.config.solve_empties)

    def searching(self, weights: Weights, simulations: int, solve_empties: int) -> SearchPlayer:
        """Return a tree search of other strength."""
        return model_player(
            f"mcts:{weights.version}:{simulations}",
            self.game,
            weights,
            playing_config(simulations, solve_empties=solve_empties),
            threads=self.config.threads,
            backend=self.config.backend,
        )

    def analysing(self, weights: Weights) -> Analyse:
        """Return the analysis that people get, without the solver, as deep as the check on solved positions."""
        simulations, threads = self.config.truth_simulations, self.config.threads
        if plays_alphabeta(weights) and simulations:
            alphabeta = AlphaBetaAnalyzer(
                f"alphabeta:{weights.version}", alphabeta_of(self.game, weights), PATTERN_SECONDS
            )
            return lambda positions: [alphabeta.analyse(position, Limit(simulations)) for position in positions]
        evaluate = open_evaluator(weights, backend=self.config.backend, batch=batch_of(simulations), threads=threads)
        return BatchAnalyzer(self.game, evaluate, simulations, 0).analyse
