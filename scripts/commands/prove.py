"""Enumerate every game of a player, against every reply, and report the games that it loses.

The game must be small: tictactoe or reversi4.  The player is asked for its move once per position, so a player with
randomness is measured by the one move that it chose.  The exit code is 0 if it loses no game and 1 if it loses one.
"""

from __future__ import annotations

import argparse

from reversi import json
from scripts.arguments.common import add_json, add_players, add_registry, add_seed, add_simulations, player_of

EXAMPLES = """
reversi prove --player alphabeta:9
reversi prove --player policy:gated --registry runs/t/registry --first-random
reversi prove --game reversi4 --player uct:1500 --json
"""


PROVABLE = ("tictactoe", "reversi4")
"""Games small enough to enumerate every game of a player."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the game, the player and the first moves to try."""
    parser.add_argument("--game", default="tictactoe", metavar="GAME", help="tictactoe (the default) or reversi4")
    parser.add_argument("--player", required=True, metavar="PLAYER", help="player to enumerate")
    parser.add_argument(
        "--first-random", action="store_true", help="try every first move of the game, even when the player moves first"
    )
    add_simulations(parser, "for a model given without a number")
    add_registry(parser)
    add_seed(parser, "the player")
    add_json(parser, "one JSON object")
    add_players(parser, engines=False)


def run(args: argparse.Namespace) -> int:
    """Enumerate the games, moving first and moving second."""
    from evaluator.proof import as_json, prove_both_sides, report
    from reversi.errors import UsageError
    from reversi.games.rules import game_named

    game = game_named(args.game)
    if game.name not in PROVABLE:
        raise UsageError(f"expected {' or '.join(PROVABLE)}, small enough to play every game, got {game.name}")
    player = player_of(args, args.player, game, seed=args.seed)
    proof = prove_both_sides(game, player, args.first_random)
    if args.json:
        settings = {"game": game.name, "player": player.name, "first_random": args.first_random}
        print(json.dumps(settings | as_json(game, proof)))
    else:
        print(f"{player.name}, every game of {game.name}:")
        for line in report(game, proof):
            print(f"  {line}")
    return int(any(games.losses for games in proof.values()))
