"""Play a match: every opening twice with the colours swapped, and the score, its interval and the Elo difference.

All figures are from A's view; a draw is half a point, the intervals are 95 %, the margin is the mean of A's discs minus
B's.  An open end of an Elo interval is -inf or +inf, in JSON null.  If one side wins every game, no Elo difference is
too large: `> +338` after 4 games (in JSON the number alone) or `> +1161` after 400 only say how many games there were.
With --sprt the match ends as soon as a sequential test has decided between two Elo differences, after --games games at
most.  Ctrl-C ends it with the score, and the saved games, so far.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator import MOST_GAMES
from reversi import json
from scripts.arguments.common import (
    add_engines,
    add_game,
    add_json,
    add_players,
    add_registry,
    add_seed,
    add_simulations,
    add_threads,
    any_player_of,
    engine_limits,
    file_path,
    game_of,
    game_of_players,
    natural_up_to,
)
from scripts.arguments.openings import add_openings, check_openings, choose_openings

if TYPE_CHECKING:
    from evaluator.match import Match, MatchResult
    from evaluator.openings import Openings
    from evaluator.sprt import Sprt
    from reversi.games.rules import Game
    from reversi.players import AnyPlayer

EXAMPLES = """
reversi match --a gated --b flat-mc:150 --size 6 --games 400
reversi match --a 12 --b 3 --games 100 --registry runs/long/registry --json
reversi match --a greedy --b random --size 8 --openings openings.txt
reversi match --a uct:1500 --b greedy --size 6 --games 20 --save games.ggf
reversi match --a 12 --b 11 --sprt 0,20 --games 4000 --balanced gated
"""

GAMES = 400
"""Default of --games, without a file of openings."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

REPORT_S = 60.0
"""Time between two lines about the progress where standard error is no terminal."""

SPRT_GAMES_AT_ONCE = 64
"""Games in progress at once with --sprt; when the test ends the match, the unfinished ones are wasted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the players, the game, the openings and the output format."""
    parser.add_argument("--a", required=True, metavar="PLAYER", help="player whose score is printed")
    parser.add_argument("--b", required=True, metavar="PLAYER", help="opponent")
    add_game(parser, "that of A's model, else of B's, else 6")
    parser.add_argument(
        "--games",
        type=natural_up_to(MOST_GAMES),
        metavar="G",
        help=f"number of games, even (default: two for each of --openings, else {GAMES})",
    )
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
        metavar="P",
        help="false-accept rate: accept E1 when E0 is true (default 0.05)",
    )
    parser.add_argument(
        "--beta",
        type=float,
        metavar="P",
        help="false-reject rate: accept E0 when E1 is true (default 0.05)",
    )
    add_simulations(parser, "for a model given without a number, and for --balanced")
    add_registry(parser)
    add_seed(parser, "the openings and the players")
    parser.add_argument(
        "--save",
        type=file_path,
        metavar="FILE",
        help="write the finished games to FILE in GGF, one per line, as `reversi replay` reads them",
    )
    add_threads(parser)
    add_engines(parser)
    add_json(parser, "one JSON object")
    add_players(parser)


def run(args: argparse.Namespace) -> int:
    """Play the match and print its statistics."""
    from evaluator.match import Match
    from reversi.files import expect_writable

    game = _game(args)
    test = _test(args)
    check_openings(args, game)
    if args.save is not None:
        expect_writable(args.save)
    with ExitStack() as stack:
        player_a, player_b = (_player(args, spec, game, side, stack) for side, spec in enumerate((args.a, args.b)))
        openings = choose_openings(args, game, (GAMES if args.games is None else args.games) // 2)
        games = 2 * len(openings) if args.games is None else args.games
        about = _about(args, game, (player_a, player_b), openings) if args.json else {}
        settings: dict[str, Any] = {}
        if test is not None:
            settings = {
                "games_at_once": SPRT_GAMES_AT_ONCE,
                "certain": lambda result: test.verdict(result.first_pairs) is not None,
            }
        match = Match(game, player_a, player_b, openings, games, **settings)
        stopped = not _play(match)
    result = match.result()
    finished = result.games - result.remaining
    if stopped:
        print(f"interrupted: {finished} of {result.games} games are finished", file=sys.stderr)
    if finished:
        _print(match, result, test, about)
        if args.save is not None:
            _save(args.save, match)
    return INTERRUPTED if stopped else 0


def _play(match: Match) -> bool:
    """Play until the match is done; False if Ctrl-C ends it before that."""
    report_s = time.monotonic() + REPORT_S
    try:
        while not match.round(seconds=1.0):
            if sys.stderr.isatty():
                print(f"\r\033[K{_progress(match)}", end="", file=sys.stderr, flush=True)
            elif time.monotonic() >= report_s:
                report_s = time.monotonic() + REPORT_S
                print(_progress(match), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        return False
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    return True


def _progress(match: Match) -> str:
    """Describe how far the match is: `12 of 400 games, score 0.583; 388 in progress, at ply 31`."""
    result, (begun, plies) = match.result(), match.in_progress()
    finished = result.games - result.remaining
    score = f", score {(result.wins + result.draws / 2) / finished:.3f}" if finished else ""
    return f"{finished} of {result.games} games{score}; {begun} in progress, at ply {plies}"


def _about(
    args: argparse.Namespace, game: Game, players: tuple[AnyPlayer, AnyPlayer], openings: Openings
) -> dict[str, Any]:
    """Return the JSON fields about the players and openings, as a ladder's ledger identifies them."""
    from evaluator.entrants import digest_of

    limits = engine_limits(args)
    models = [digest_of(player, game, args.registry, limits) for player in players]
    names = {"a": players[0].name, "b": players[1].name, "a_model": models[0], "b_model": models[1]}
    return {**names, "openings": openings.digest, "seed": args.seed}


def _print(match: Match, result: MatchResult, test: Sprt | None, about: dict[str, Any]) -> None:
    """Print the statistics of the finished games; as JSON if there are fields `about` the match."""
    from evaluator.match_report import report_of
    from evaluator.stats import score_of

    score, report, game = score_of(result), report_of(match), match.game
    name_a, name_b = match.player_a.name, match.player_b.name
    if about:
        about |= {"game": game.name, "size": game.size}
        fields = {**dataclasses.asdict(score), **dataclasses.asdict(report), **_additions(result, test)}
        print(json.dumps({**about, **fields}), flush=True)
        return
    print(f"{name_a} against {name_b}, {game.name}, {score.games} games, won-drawn-lost {score.summary}")
    print(score.details)
    print(report)
    if any(result.forfeits):
        by_a, by_b = result.forfeits
        print(f"forfeits, counted as lost: {by_a} by {name_a}, {by_b} by {name_b}")
    if test is not None:
        print(test.summary(result.first_pairs))
    sys.stdout.flush()


def _game(args: argparse.Namespace) -> Game:
    """Return the game to play; UsageError for --save with a game that GGF has no name for."""
    from reversi.errors import UsageError
    from reversi.games.rules import TICTACTOE

    specs = [args.a, args.b] if args.balanced is None else [args.a, args.b, args.balanced]
    game = game_of(args) or game_of_players(specs, args.registry, 6)
    if args.save is not None and game.id == TICTACTOE:
        raise UsageError(f"expected a game of Reversi with --save, which writes GGF, got {game.name}")
    return game


def _save(path: Path, match: Match) -> None:
    """Write the finished games in their order, each from the start of the game."""
    from evaluator.saved_games import ggf_of
    from reversi.files import write_output

    write_output(path, ggf_of(match).encode())


def _player(args: argparse.Namespace, spec: str, game: Game, side: int, stack: ExitStack) -> AnyPlayer:
    """Return a player; an external program is ended by `stack`."""
    player = any_player_of(args, spec, game, seed=args.seed + side)
    if close := getattr(player, "close", None):
        stack.callback(close)
    return player


def _test(args: argparse.Namespace) -> Sprt | None:
    """Return the test that --sprt describes, None without it."""
    from evaluator.sprt import Sprt
    from reversi.errors import UsageError

    rates = {name: getattr(args, name) for name in ("alpha", "beta")}
    if args.sprt is None:
        for name, rate in rates.items():
            if rate is not None:
                raise UsageError(
                    f"expected --sprt with --{name}, an error rate of that test, got --{name} {rate:g} alone"
                )
        return None
    given = {name: 0.05 if rate is None else rate for name, rate in rates.items()}
    return Sprt(elo0=args.sprt[0], elo1=args.sprt[1], **given)


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
