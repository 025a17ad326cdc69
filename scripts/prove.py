"""Play a player's every game out, against every reply, and say whether it ever loses.

The game must be small enough: tictactoe, or reversi4.  Every position is asked about once, so that a player with
randomness is judged by the one answer that it gave.  The exit code is 0 if no game is lost and 1 if one is.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

from scripts.arguments import add_json, add_registry, add_simulations, natural

if TYPE_CHECKING:
    from evaluator.proof import Proof
    from reversi.games.rules import Game
    from reversi.players import Player

EXAMPLES = """
reversi prove --player alphabeta:9
reversi prove --player policy:gated --registry runs/tictactoe/registry --first-random
reversi prove --game reversi4 --player uct:1500 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the game, the player and what it has to stand."""
    parser.add_argument("--game", default="tictactoe", metavar="GAME", help="tictactoe (the default) or reversi4")
    parser.add_argument("--player", required=True, metavar="PLAYER", help="as in `reversi play`")
    parser.add_argument(
        "--first-random", action="store_true", help="try every first move of the game, where it is the player's too"
    )
    add_simulations(parser, "for a model that is named alone")
    add_registry(parser)
    parser.add_argument("--seed", type=natural, default=0, metavar="S", help="of players with randomness (default 0)")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Play everything out, moving first and moving second."""
    from reversi.games.rules import game_named
    from reversi.players import make_player

    game = game_named(args.game)
    player = make_player(
        args.player,
        game,
        registry=args.registry,
        seed=args.seed,
        threads=os.cpu_count() or 1,
        simulations=args.simulations,
    )
    found = prove_both_sides(game, player, args.first_random)
    if args.json:
        settings = {"game": game.name, "player": player.name, "first_random": args.first_random}
        print(json.dumps(settings | as_json(game, found)))
    else:
        print(f"{player.name}, every game of {game.name}:")
        for line in report(game, found):
            print(f"  {line}")
    return int(any(games.losses for games in found.values()))


def prove_both_sides(game: Game, player: Player, first_random: bool) -> dict[str, Proof]:
    """Return all games of `player`, moving `first` and moving `second`."""
    from evaluator.proof import prove

    sides: dict[str, Any] = {"first": True, "second": False}
    return {side: prove(game, player, moves_first=first, any_first=first_random) for side, first in sides.items()}


def as_json(game: Game, found: dict[str, Proof]) -> dict[str, Any]:
    """Return what `prove` found for programs, moves by their names."""
    from reversi.games.notation import action_name

    sides: dict[str, Any] = {}
    for side, games in found.items():
        line = games.losing_line and [action_name(game, action) for action in games.losing_line]
        sides[side] = dataclasses.asdict(games) | {"losing_line": line}
    return sides


def report(game: Game, found: dict[str, Proof]) -> list[str]:
    """Return a line for each side: how its games end, and a lost one if there is any."""
    from reversi.games.notation import action_name

    lines = []
    for side, games in found.items():
        text = f"moving {side:<6}  {games.wins} won, {games.draws} drawn, {games.losses} lost"
        if games.losing_line is not None:
            text += ", such as " + " ".join(action_name(game, action) for action in games.losing_line)
        lines.append(text)
    return lines
