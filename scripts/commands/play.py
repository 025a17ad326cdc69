"""Play in the terminal against any player; type `help` during the game for the commands."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from scripts.arguments.common import (
    add_ascii,
    add_game,
    add_players,
    add_registry,
    add_seed,
    add_simulations,
    draws_symbols,
    game_of,
    game_of_players,
    player_of,
)

if TYPE_CHECKING:
    from reversi.games.rules import Game

EXAMPLES = """
reversi play
reversi play --color white --simulations 400
reversi play --size 8 --opponent flat-mc:150
reversi play --game tictactoe --opponent uct:1500 --first-random
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the opponent, the game and the side."""
    parser.add_argument("player", nargs="?", metavar="PLAYER", help="the opponent, the same as --opponent")
    parser.add_argument("--opponent", metavar="PLAYER", help="player to play against (default: gated, the champion)")
    parser.add_argument(
        "--color", choices=("black", "white"), default="black", help="your colour (default black, which moves first)"
    )
    add_game(parser, "the model's, else 6")
    add_simulations(parser, "for a model given without a number")
    add_registry(parser)
    add_seed(parser, "the opponent and --first-random", default=None)
    parser.add_argument("--first-random", action="store_true", help="begin the game with a random move")
    add_ascii(parser)
    add_players(parser)


def run(args: argparse.Namespace) -> int:
    """Play one game; the exit code is 0 even if it is left early, except by Ctrl-C or by an opponent that fails."""
    from reversi.errors import UsageError
    from reversi.frontends.console import Console

    if args.player and args.opponent:
        raise UsageError(f"expected one opponent, got {args.player!r} and --opponent {args.opponent!r}")
    spec = args.player or args.opponent or "gated"
    game = game_of(args) or game_of_players([spec], args.registry, 6)
    seed = time.time_ns() % 2**32 if args.seed is None else args.seed
    console = Console(
        game,
        player_of(args, spec, game, seed=seed),
        person_is_black=args.color == "black",
        ask=_ask,
        say=print,
        unicode=draws_symbols(args),
        first_move=_random_move(game, seed) if args.first_random else None,
    )
    try:
        console.play()
    except KeyboardInterrupt:  # the console has said goodbye
        return 130
    return 0


def _random_move(game: Game, seed: int) -> str:
    """Return a random first move of the game."""
    from random import Random

    from reversi.games.position import Position

    return Random(seed).choice(Position.start(game).legal_moves())


def _ask(prompt: str) -> str:
    """Read a line, and echo it if there is no terminal, so that a scripted game reads like a played one."""
    line = input(prompt)
    if not sys.stdin.isatty():
        print(line)
    return line
