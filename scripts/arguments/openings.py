"""The openings of `match` and `rate`: random, near-balanced, or from a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scripts.arguments.common import file_path, natural, share

if TYPE_CHECKING:
    from evaluator.openings import Openings
    from reversi.games.rules import Game


BOUND = 0.2
"""Default of --bound."""


def add_openings(parser: argparse.ArgumentParser) -> None:
    """Add --openings, --opening-plies, --balanced and --bound."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--openings",
        type=file_path,
        metavar="FILE",
        help="file of openings, one transcript per line (default: random plies)",
    )
    kind.add_argument(
        "--balanced", metavar="MODEL", help="random openings that this model, with --simulations, judges to be even"
    )
    parser.add_argument(
        "--bound",
        type=share,
        metavar="V",
        help=f"keep openings whose value |P(win)-P(loss)| is at most V (default {BOUND})",
    )
    parser.add_argument(
        "--opening-plies",
        type=natural,
        metavar="N",
        help="plies of a random opening (default: as few as give enough distinct openings; 8 with --balanced)",
    )


def check_openings(args: argparse.Namespace, game: Game) -> None:
    """Raise UsageError for arguments that would do nothing, and for more plies than a game has."""
    from reversi.errors import UsageError

    plies, most = args.opening_plies, game.squares - (game.start_own | game.start_opp).bit_count() - 1
    if args.openings is not None and plies is not None:
        raise UsageError(f"expected --openings or --opening-plies, got both: {str(args.openings)!r} and {plies}")
    if args.balanced is None and args.bound is not None:
        raise UsageError(f"expected --balanced MODEL with --bound {args.bound:g}: what to bound is the model's value")
    if plies is not None and plies > most:
        raise UsageError(f"--opening-plies: expected at most {most} plies in {game.name}, got {plies}")


def choose_openings(args: argparse.Namespace, game: Game, count: int) -> Openings:
    """Return the openings of --openings, else `count` openings drawn with --seed."""
    from evaluator.openings import load_openings, random_openings

    if args.openings is not None:
        return load_openings(args.openings, game)
    if args.balanced is None:
        return random_openings(game, count, args.opening_plies, args.seed)
    from evaluator.balance import balanced_openings
    from reversi.model.lookup import load_model
    from reversi.players import model_player, playing_config

    weights = load_model(args.balanced, args.registry, game)
    player = model_player("judge", game, weights, playing_config(args.simulations))
    return balanced_openings(
        game,
        count,
        args.opening_plies,
        args.seed,
        lambda own, opp: player.judge(own, opp).value,
        BOUND if args.bound is None else args.bound,
    )
