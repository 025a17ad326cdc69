"""Players: everything that can choose a move, behind one protocol, a batch of positions at a time."""

from reversi.players.model import (
    NODES_PER_SIMULATION,
    PLAYING,
    AlphaBetaModelPlayer,
    SearchPlayer,
    Watch,
    alphabeta_of,
    batch_of,
    model_player,
    playing_config,
    plays_alphabeta,
    simulations_in,
)
from reversi.players.plain import (
    AlphaBetaPlayer,
    FlatMonteCarloPlayer,
    GreedyPlayer,
    RandomPlayer,
    UctPlayer,
)
from reversi.players.player import AnyPlayer, Forfeit, HistoryPlayer, Player, check_game, choose_move
from reversi.players.spec import PREFIXES, SIMULATIONS, make_any_player, make_player

__all__ = [
    "NODES_PER_SIMULATION",
    "PLAYING",
    "PREFIXES",
    "SIMULATIONS",
    "AlphaBetaModelPlayer",
    "AlphaBetaPlayer",
    "AnyPlayer",
    "FlatMonteCarloPlayer",
    "Forfeit",
    "GreedyPlayer",
    "HistoryPlayer",
    "Player",
    "RandomPlayer",
    "SearchPlayer",
    "UctPlayer",
    "Watch",
    "alphabeta_of",
    "batch_of",
    "check_game",
    "choose_move",
    "make_any_player",
    "make_player",
    "model_player",
    "playing_config",
    "plays_alphabeta",
    "simulations_in",
]
