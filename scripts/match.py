"""Let two players meet from many openings, each played twice with the colours swapped, and say who is stronger.

A player is `random`, `greedy`, `flat-mc:150`, `policy:M`, `mcts:M:64`, or M alone; M is `gated`, `latest`, a version
number or a model's folder.  All figures are from A's view; a draw is half a point, the intervals are 95 %.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from scripts.arguments import add_json, add_registry, add_simulations, add_threads, natural

EXAMPLES = """
reversi match --a gated --b flat-mc:150 --size 6 --games 400
reversi match --a mcts:12:64 --b mcts:3:64 --size 6 --games 100 --registry runs/long/registry --json
reversi match --a greedy --b random --size 8 --games 2 --openings openings.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the players, the board, the openings and the form of the answer."""
    parser.add_argument("--a", required=True, metavar="PLAYER", help="the player whose score is printed")
    parser.add_argument("--b", required=True, metavar="PLAYER", help="its opponent")
    parser.add_argument("--size", type=natural, default=6, metavar="N", help="board size: 4, 6 or 8 (default 6)")
    parser.add_argument("--games", type=natural, default=400, metavar="G", help="games, an even number (default 400)")
    parser.add_argument("--openings", type=Path, metavar="FILE", help="one transcript per line (default: random plies)")
    parser.add_argument(
        "--opening-plies",
        type=natural,
        metavar="N",
        help="plies of a random opening (default: the fewest that give enough distinct ones)",
    )
    add_simulations(parser, "for a model that is named alone")
    add_registry(parser)
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="S", help="of openings and random players (default 0)"
    )
    add_threads(parser)
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Play the match and print its statistics."""
    from evaluator.match import Match
    from evaluator.openings import load_openings, random_openings
    from evaluator.stats import score_of
    from reversi.games.rules import reversi_of_size
    from reversi.players import make_player

    game = reversi_of_size(args.size)
    player_a, player_b = (
        make_player(
            spec,
            game,
            registry=args.registry,
            seed=args.seed + side,
            threads=args.threads,
            simulations=args.simulations,
        )
        for side, spec in enumerate((args.a, args.b))
    )
    if args.openings is not None:
        openings = load_openings(args.openings, game)
    else:
        openings = random_openings(game, max(args.games, 0) // 2, args.opening_plies, args.seed)
    match = Match(game, player_a, player_b, openings, args.games)
    while not match.round(seconds=1.0):
        _show_progress(args.games - match.result().remaining, args.games)
    score = score_of(match.result())
    if args.json:
        names = {"a": player_a.name, "b": player_b.name, "size": args.size, "seed": args.seed}
        print(json.dumps({**names, **dataclasses.asdict(score)}))
    else:
        print(f"{player_a.name} against {player_b.name}, {game.name}, {score.games} games: {score.summary}")
    return 0


def _show_progress(finished: int, games: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{finished} of {games} games", end="\r", file=sys.stderr, flush=True)
