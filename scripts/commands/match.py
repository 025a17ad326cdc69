"""Play a match: every opening twice with the colours swapped, and the score, its interval and the Elo difference.

All figures are from A's view; a draw is half a point, the intervals are 95 %.  With --sprt the match ends as soon as a
sequential test has decided between two Elo differences, after --games games at most.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.arguments.common import (
    add_engines,
    add_game,
    add_json,
    add_players,
    add_registry,
    add_seed,
    add_simulations,
    add_threads,
    game_of,
    natural,
    player_of,
)
from scripts.arguments.openings import add_openings, choose_openings

if TYPE_CHECKING:
    from evaluator.match import Match, MatchResult
    from evaluator.sprt import Sprt
    from reversi.games.rules import Game
    from reversi.players import Player

EXAMPLES = """
reversi match --a gated --b flat-mc:150 --size 6 --games 400
reversi match --a mcts:12:64 --b mcts:3:64 --size 6 --games 100 --registry runs/long/registry --json
reversi match --a greedy --b random --size 8 --games 2 --openings openings.txt
reversi match --a uct:1500 --b flat-mc:150 --size 6 --games 20 --save games.ggf
reversi match --a 12 --b 11 --sprt 0,20 --games 4000 --balanced gated
"""

SPRT_LOCKSTEP = 64
"""Games in progress at once with --sprt; when the test ends the match, the unfinished ones are wasted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the players, the game, the openings and the output format."""
    parser.add_argument("--a", required=True, metavar="PLAYER", help="player whose score is printed")
    parser.add_argument("--b", required=True, metavar="PLAYER", help="opponent")
    add_game(parser, "6")
    parser.add_argument("--games", type=natural, default=400, metavar="G", help="number of games, even (default 400)")
    add_openings(parser)
    parser.add_argument(
        "--sprt",
        type=_two_numbers,
        metavar="E0,E1",
        help="stop once the Elo difference is shown to be E0 or E1, as in --sprt 0,20 or --sprt=-10,10",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="P",
        help="false-accept rate: accept E1 when E0 is true (default 0.05)",
    )
    parser.add_argument(
        "--beta",
        type=float,
        default=0.05,
        metavar="P",
        help="false-reject rate: accept E0 when E1 is true (default 0.05)",
    )
    add_simulations(parser, "for a model given without a number, and for --balanced")
    add_registry(parser)
    add_seed(parser, "the openings and the players")
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the games to FILE in GGF, one per line, as `reversi replay` reads them",
    )
    add_threads(parser)
    add_engines(parser)
    add_json(parser, "one JSON object")
    add_players(parser)


def run(args: argparse.Namespace) -> int:
    """Play the match and print its statistics."""
    from evaluator.match import Match
    from evaluator.stats import score_of

    game = _game(args)
    test = _test(args)
    with ExitStack() as stack:
        player_a, player_b = (_player(args, spec, game, side, stack) for side, spec in enumerate((args.a, args.b)))
        openings = choose_openings(args, game, max(args.games, 0) // 2)
        settings: dict[str, Any] = {}
        if test is not None:
            settings = {
                "lockstep": SPRT_LOCKSTEP,
                "certain": lambda result: test.verdict(result.first_pairs) is not None,
            }
        match = Match(game, player_a, player_b, openings, args.games, **settings)
        while not match.round(seconds=1.0):
            _show_progress(args.games - match.result().remaining, args.games)
    if args.save is not None:
        _save(args.save, game, match)
    result = match.result()
    score = score_of(result)
    if args.json:
        names = {"a": player_a.name, "b": player_b.name, "size": game.size, "seed": args.seed}
        print(json.dumps({**names, **dataclasses.asdict(score), **_additions(result, test)}))
    else:
        print(f"{player_a.name} against {player_b.name}, {game.name}, {score.games} games: {score.summary}")
        print(score.details)
        if any(result.forfeits):
            by_a, by_b = result.forfeits
            print(f"forfeits, counted as lost: {by_a} by {player_a.name}, {by_b} by {player_b.name}")
        if test is not None:
            print(test.summary(result.first_pairs))
    return 0


def _game(args: argparse.Namespace) -> Game:
    """Return the game to play; UsageError for --save with a game that GGF has no name for."""
    from reversi.errors import UsageError
    from reversi.games.rules import TICTACTOE, reversi_of_size

    game = game_of(args) or reversi_of_size(6)
    if args.save is not None and game.id == TICTACTOE:
        raise UsageError(f"expected a game of Reversi with --save, which writes GGF, got {game.name}")
    return game


def _save(path: Path, game: Game, match: Match) -> None:
    """Write the games that were started, in their order, each from the start of the game."""
    from reversi.archive import write_output
    from reversi.games.position import Position
    from reversi.ggf import GgfGame, GgfMove

    lines = []
    for number in range(match.result().games):
        moves = tuple(GgfMove(action) for action in match.history(number))
        names = [match.player_a.name, match.player_b.name]
        black, white = names if number % 2 == 0 else names[::-1]
        lines.append(f"{GgfGame(Position.start(game), moves, {'PB': black, 'PW': white})}\n")
    write_output(path, "".join(lines).encode())


def _player(args: argparse.Namespace, spec: str, game: Game, side: int, stack: ExitStack) -> Player:
    """Return a player; an external program is ended by `stack`."""
    player = player_of(args, spec, game, seed=args.seed + side)
    if close := getattr(player, "close", None):
        stack.callback(close)
    return player


def _test(args: argparse.Namespace) -> Sprt | None:
    """Return the test that --sprt describes, None without it."""
    from evaluator.sprt import Sprt

    if args.sprt is None:
        return None
    return Sprt(elo0=args.sprt[0], elo1=args.sprt[1], alpha=args.alpha, beta=args.beta)


def _additions(result: MatchResult, test: Sprt | None) -> dict[str, Any]:
    """Return the JSON fields in addition to the score."""
    fields: dict[str, Any] = {"forfeits": result.forfeits}
    if test is not None:
        fields["sprt"] = {
            **dataclasses.asdict(test),
            "ratio": test.ratio(result.first_pairs),
            "bounds": test.bounds,
            "verdict": test.verdict(result.first_pairs),
        }
    return fields


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected two Elo differences such as 0,20, got {text!r}") from None
    return low, high


def _show_progress(finished: int, games: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{finished} of {games} games", end="\r", file=sys.stderr, flush=True)
