"""Play in the terminal against any player; `help` during the game lists what you can type.

A player is `random`, `greedy`, `flat-mc:150`, `uct:1500`, `alphabeta:3`, `policy:M`, `mcts:M:64`, or M alone, which
takes --simulations; M is `gated`, `latest`, a version number or a model's folder. Another program is `gtp:COMMAND` or
`nboard:COMMAND`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from scripts.arguments import add_registry, add_simulations, natural

if TYPE_CHECKING:
    from reversi.games.rules import Game

EXAMPLES = """
reversi play
reversi play --color white --simulations 400
reversi play --size 8 --opponent flat-mc:150
reversi play --game tictactoe --opponent uct:1500 --first-random
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the opponent, the board and the side."""
    parser.add_argument("player", nargs="?", metavar="PLAYER", help="the opponent, the same as --opponent")
    parser.add_argument("--opponent", metavar="PLAYER", help="whom to play against (default: gated, the champion)")
    parser.add_argument(
        "--color", choices=("black", "white"), default="black", help="your side (default black, who begins)"
    )
    parser.add_argument(
        "--size", type=natural, metavar="N", help="board size: 4, 6 or 8 (default: the model's, else 6)"
    )
    add_simulations(parser, "for a model that is named alone")
    add_registry(parser)
    parser.add_argument(
        "--seed", type=natural, metavar="S", help="of players with randomness (default: another every time)"
    )
    parser.add_argument("--game", metavar="GAME", help="in place of --size; tictactoe is the game that has none")
    parser.add_argument("--first-random", action="store_true", help="the first move of the game is a random one")
    parser.add_argument("--ascii", action="store_true", help="draw discs as X and O even where the terminal has discs")


def run(args: argparse.Namespace) -> int:
    """Play one game; leaving it early is no failure."""
    from reversi.errors import UsageError
    from reversi.frontends.console import Console
    from reversi.players import make_player

    if args.player and args.opponent:
        raise UsageError(f"expected one opponent, got {args.player!r} and --opponent {args.opponent!r}")
    if args.game is not None and args.size is not None:
        raise UsageError(f"expected --game or --size, got --game {args.game} and --size {args.size}")
    spec = args.player or args.opponent or "gated"
    game = _game(spec, args)
    seed = time.time_ns() % 2**32 if args.seed is None else args.seed
    opponent = make_player(
        spec,
        game,
        registry=args.registry,
        seed=seed,
        threads=os.cpu_count() or 1,
        simulations=args.simulations,
    )
    console = Console(
        game,
        opponent,
        person_is_black=args.color == "black",
        ask=_ask,
        say=print,
        unicode=not args.ascii and (sys.stdout.encoding or "").lower().startswith("utf"),
        first_move=_random_move(game, seed) if args.first_random else None,
    )
    try:
        console.play()
    except KeyboardInterrupt:
        print("\nGoodbye.")
        return 130
    return 0


def _game(spec: str, args: argparse.Namespace) -> Game:
    """Return the game of --size or --game; without them that of the model that is named, else 6x6."""
    from reversi.games.rules import game_named, reversi_of_size
    from reversi.players import PREFIXES

    if args.game is not None:
        return game_named(args.game)
    if args.size is not None:
        return reversi_of_size(args.size)
    kind, _, rest = spec.partition(":")
    if kind in PREFIXES and (kind not in ("policy", "mcts") or not rest):
        return reversi_of_size(6)
    from reversi.model.registry import load_model

    model = rest if kind == "policy" else rest.rpartition(":")[0] or rest if kind == "mcts" else spec
    return game_named(load_model(model, args.registry).game)


def _random_move(game: Game, seed: int) -> str:
    """Return a random first move of the game."""
    from random import Random

    from reversi.games.position import Position

    return Random(seed).choice(Position.start(game).legal_moves())


def _ask(prompt: str) -> str:
    """Read a line; without a terminal the line is echoed, so that a scripted game reads like a played one."""
    line = input(prompt)
    if not sys.stdin.isatty():
        print(line)
    return line
