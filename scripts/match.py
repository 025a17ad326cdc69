"""Let two players meet from many openings, each played twice with the colours swapped, and say who is stronger.

A player is `random`, `greedy`, `flat-mc:150`, `policy:M`, `mcts:M:64`, or M alone; M is `gated`, `latest`, a version
number or a model's folder.  Without a model there are flat-mc:N, uct:N and alphabeta:D; other people's programs are
gtp:COMMAND and nboard:COMMAND.  All figures are from A's view; a draw is half a point, the intervals are 95 %.

With --sprt the match ends as soon as it is clear which of two Elo differences is A's, after --games games at most.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.arguments import add_engines, add_json, add_registry, add_simulations, add_threads, engine_limits, natural
from scripts.openings import add_openings, choose_openings

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
"""Games in progress at once where a test may end the match: with more, more games are unfinished, and lost, then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the players, the board, the openings and the form of the answer."""
    parser.add_argument("--a", required=True, metavar="PLAYER", help="the player whose score is printed")
    parser.add_argument("--b", required=True, metavar="PLAYER", help="its opponent")
    parser.add_argument("--size", type=natural, metavar="N", help="board size: 4, 6 or 8 (default 6)")
    parser.add_argument("--game", metavar="GAME", help="in place of --size; tictactoe is the game that has none")
    parser.add_argument("--games", type=natural, default=400, metavar="G", help="games, an even number (default 400)")
    add_openings(parser)
    parser.add_argument(
        "--sprt",
        type=_two_numbers,
        metavar="E0,E1",
        help="stop once the Elo difference is E0 or E1 rather than the other, as in --sprt 0,20 or --sprt=-10,10",
    )
    parser.add_argument("--alpha", type=float, default=0.05, metavar="P", help="chance of E1 though it is E0 (0.05)")
    parser.add_argument("--beta", type=float, default=0.05, metavar="P", help="chance of E0 though it is E1 (0.05)")
    add_simulations(parser, "for a model that is named alone, and for --balanced")
    add_registry(parser)
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="S", help="of openings and random players (default 0)"
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the games there, one a line in GGF, as `reversi replay` reads them",
    )
    add_threads(parser)
    add_engines(parser)
    add_json(parser, "one JSON object")


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
    """Return the game of --game or --size; games that GGF has no name for cannot be saved."""
    from reversi.errors import UsageError
    from reversi.games.rules import TICTACTOE, game_named, reversi_of_size

    if args.game is not None and args.size is not None:
        raise UsageError(f"expected --game or --size, got --game {args.game} and --size {args.size}")
    game = game_named(args.game) if args.game is not None else reversi_of_size(6 if args.size is None else args.size)
    if args.save is not None and game.id == TICTACTOE:
        raise UsageError(f"expected a game of Reversi with --save, which writes GGF, got {game.name}")
    return game


def _save(path: Path, game: Game, match: Match) -> None:
    """Write the games that were begun, in their order, each from the start of the game."""
    from reversi.archive import write_atomic
    from reversi.games.position import Position
    from reversi.ggf import GgfGame, GgfMove

    lines = []
    for number in range(match.result().games):
        moves = tuple(GgfMove(action) for action in match.history(number))
        names = [match.player_a.name, match.player_b.name]
        black, white = names if number % 2 == 0 else names[::-1]
        lines.append(f"{GgfGame(Position.start(game), moves, {'PB': black, 'PW': white})}\n")
    write_atomic(path, "".join(lines).encode())


def _player(args: argparse.Namespace, spec: str, game: Game, side: int, stack: ExitStack) -> Player:
    """Return a player; another program ends with `stack`."""
    from reversi.players import make_player

    player = make_player(
        spec,
        game,
        registry=args.registry,
        seed=args.seed + side,
        threads=args.threads,
        simulations=args.simulations,
        limits=engine_limits(args),
    )
    if close := getattr(player, "close", None):
        stack.callback(close)
    return player


def _test(args: argparse.Namespace) -> Sprt | None:
    """Return the test that the arguments ask for."""
    from evaluator.sprt import Sprt

    if args.sprt is None:
        return None
    return Sprt(elo0=args.sprt[0], elo1=args.sprt[1], alpha=args.alpha, beta=args.beta)


def _additions(result: MatchResult, test: Sprt | None) -> dict[str, Any]:
    """Return the JSON fields beside the score."""
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
