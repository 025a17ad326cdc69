"""Arguments that several commands share, so that they have the same names and help everywhere."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.capacity import cores

if TYPE_CHECKING:
    from reversi.frontends.board import Style
    from reversi.games.rules import Game
    from reversi.players import AnyPlayer, Player
    from reversi.players.engines.engine import EngineLimits

LARGEST = 2**31 - 1

HOST = "127.0.0.1"
"""Address that pages are served on by default: this machine only."""

MOST_NODES = 10**15
"""Largest limit on the positions that a solver searches, decades of its time."""

ENGINES = "  gtp:COMMAND, nboard:COMMAND  an external program\n"
"""The line of `PLAYERS` about players of other programs."""

PLAYERS = f"""\
players:
  random, greedy               random moves; the move that turns the most discs
  flat-mc:N, uct:N             Monte Carlo, N games a move (flat-mc: 150)
  alphabeta:D                  alpha-beta of depth D with a simple evaluation
  policy:M                     model M without search
  mcts:M:N[,OPT=V...]          model M, N simulations (or --simulations)
  alphabeta:M:D                alpha-beta of depth D, M being of patterns
  mcts:M:0.5s, alphabeta:M:0.5s  the same with a time for each move
{ENGINES}\
  M: gated, latest, shipped, a version number or a model's folder
  OPT: margin, solve, c_puct, temperature, share, backup, bounds, wipeouts
example: mcts:gated:256,solve=0,margin=0.1
"""
"""How players are named, for help texts; `reversi/players/spec.py` reads these names."""


def natural(text: str) -> int:
    """Read a whole number of at least 0, or raise ArgumentTypeError."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """Read a whole number of at least 1, or raise ArgumentTypeError."""
    return _whole(text, 1)


def natural_up_to(most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from 0 to `most`, which raises ArgumentTypeError for others."""
    return lambda text: _whole(text, 0, most)


def positive_up_to(most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from 1 to `most`, which raises ArgumentTypeError for others."""
    return lambda text: _whole(text, 1, most)


def share(text: str) -> float:
    """Read a number from 0 to 1, or raise ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"expected a value from 0 to 1, got {text!r}")
    return number


def file_path(text: str) -> Path:
    """Read a path, or raise ArgumentTypeError for an empty one, which would be the current folder."""
    return Path(given(text))


def given(text: str) -> str:
    """Read a text that is not empty, or raise ArgumentTypeError."""
    if not text:
        raise argparse.ArgumentTypeError("expected a name, got ''")
    return text


def seconds(text: str) -> float:
    """Read a number of seconds above 0, or raise ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError(f"expected seconds above 0 and at most a day, got {text!r}")
    return number


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --json, which prints `what` for other programs."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_registry(parser: argparse.ArgumentParser) -> None:
    """Add --registry."""
    parser.add_argument(
        "--registry",
        type=given,
        metavar="URL",
        help="folder or fsspec URL of models (default: that of the newest run with a promoted model)",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add RUN, whose registry is meant where it is given; see `registry_named`."""
    parser.add_argument("run", nargs="?", type=given, metavar="RUN", help="a run's folder or name, not --registry")


def registry_named(args: argparse.Namespace) -> str | None:
    """Return the URL of the registry that RUN or --registry name, None if neither is given; UsageError for both."""
    from reversi.errors import UsageError

    if args.run is None:
        url: str | None = args.registry
        return url
    if args.registry is not None:
        raise UsageError(f"expected RUN or --registry, got both {args.run!r} and {args.registry!r}")
    return registry_and_run(args.run)[0]


def registry_and_run(text: str) -> tuple[str, Path | None]:
    """Return the URL of the registry that `text` names: a run's folder or name, or a registry, which is of no run.

    Raises RunError if it is neither.
    """
    from reversi.runs import find_run
    from scripts.run.status import registry_of

    if "://" in text or Path(text, "registry.json").is_file():
        return text, None
    folder = find_run(text)
    return registry_of(folder), folder


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add --model; it is None where it is not given, which means `gated`."""
    parser.add_argument(
        "--model", metavar="M", help="gated, latest, shipped, a version number or a model's folder (default gated)"
    )


def add_simulations(parser: argparse.ArgumentParser, what: str, default: int | None = 64) -> None:
    """Add --simulations; `what` completes "simulations", and a default of None means 64 where nothing else is usual."""
    parser.add_argument(
        "--simulations", type=natural, default=default, metavar="S", help=f"simulations {what} (default 64)"
    )


def add_size(parser: argparse.ArgumentParser, shown: str, default: int | None = None, sizes: str = "4, 6 or 8") -> None:
    """Add --size; `shown` is the default as the help names it."""
    parser.add_argument(
        "--size", type=natural, default=default, metavar="N", help=f"board size: {sizes} (default: {shown})"
    )


def add_game(parser: argparse.ArgumentParser, shown: str) -> None:
    """Add --size and --game, either of which names the game (`game_of`)."""
    add_size(parser, shown)
    parser.add_argument(
        "--game", metavar="GAME", help="game, instead of --size: reversi4, reversi6, reversi8 or tictactoe"
    )


def game_of_size(args: argparse.Namespace) -> Game | None:
    """Return the game of --size, None if it is not given."""
    from reversi.games.rules import reversi_of_size

    return None if args.size is None else reversi_of_size(args.size)


def game_of(args: argparse.Namespace) -> Game | None:
    """Return the game of --game or --size, None if neither is given; UsageError for both or for no such game."""
    from reversi.errors import UsageError
    from reversi.games.rules import game_named

    if args.game is not None and args.size is not None:
        raise UsageError(f"expected --game or --size, got --game {args.game} and --size {args.size}")
    if args.game is not None:
        return game_named(args.game)
    return game_of_size(args)


def add_seed(parser: argparse.ArgumentParser, what: str, default: int | None = 0) -> None:
    """Add --seed, the random seed of `what`; a default of None is a new one every time."""
    shown = "a new one every time" if default is None else default
    parser.add_argument(
        "--seed", type=natural, default=default, metavar="S", help=f"random seed for {what} (default {shown})"
    )


def add_threads(parser: argparse.ArgumentParser, what: str = "CPU threads for the network") -> None:
    """Add --threads, by default one per core."""
    count = cores()
    parser.add_argument(
        "--threads", type=positive, default=count, metavar="T", help=f"{what} (default: all cores, here {count})"
    )


def add_players(parser: argparse.ArgumentParser, *, engines: bool = True) -> None:
    """Explain at the end of the help how players are named; `engines` says whether other programs are players here."""
    parser.epilog = PLAYERS if engines else PLAYERS.replace(ENGINES, "")


def player_of(args: argparse.Namespace, spec: str, game: Game, *, seed: int, simulations: int | None = None) -> Player:
    """Return the player of this program that `spec` names, as the command's arguments say.

    --threads is all cores where the command does not have it.

    simulations  for a model given without a number; None takes --simulations
    """
    from reversi.players import make_player

    return make_player(
        spec,
        game,
        registry=args.registry,
        seed=seed,
        threads=args.threads if "threads" in args else cores(),
        simulations=args.simulations if simulations is None else simulations,
    )


def any_player_of(args: argparse.Namespace, spec: str, game: Game, *, seed: int) -> AnyPlayer:
    """Return the player that `spec` names, which may be an external program.

    --engine-* are the usual limits where the command does not have these arguments.
    """
    from reversi.players.spec import is_engine, make_any_player

    if not is_engine(spec):
        return player_of(args, spec, game, seed=seed)
    return make_any_player(spec, game, limits=engine_limits(args) if "engine_move" in args else None)


def add_engines(parser: argparse.ArgumentParser) -> None:
    """Add the time limits of external programs; `engine_limits` fills in those that are not given."""
    group = parser.add_argument_group("external programs (gtp:COMMAND, nboard:COMMAND)")
    group.add_argument(
        "--engine-start", type=seconds, metavar="S", help="time limit for its start in seconds (default 30)"
    )
    group.add_argument(
        "--engine-move", type=seconds, metavar="S", help="time limit per move in seconds, then it loses (default 60)"
    )
    group.add_argument(
        "--engine-restarts", type=natural, metavar="N", help="restarts after crashes, at most (default 5)"
    )


def engine_limits(args: argparse.Namespace, usual: EngineLimits | None = None) -> EngineLimits:
    """Return the limits that the arguments of `add_engines` set; those not given are taken from `usual`."""
    import dataclasses

    from reversi.players.engines.engine import EngineLimits

    given = {"start_s": args.engine_start, "move_s": args.engine_move, "restarts": args.engine_restarts}
    changes = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(usual or EngineLimits(), **changes)


def add_ascii(parser: argparse.ArgumentParser) -> None:
    """Add --ascii."""
    parser.add_argument(
        "--ascii", action="store_true", help="draw discs as X and O even if the terminal can show colours"
    )


def board_style(args: argparse.Namespace) -> Style:
    """Return how boards are drawn: in colours on a terminal that has Unicode and 256 of them, else in letters."""
    has_colours = "256" in os.environ.get("TERM", "") or "COLORTERM" in os.environ
    unwanted = args.ascii or os.environ.get("NO_COLOR") or not (sys.stdout.encoding or "").lower().startswith("utf")
    return "colours" if has_colours and sys.stdout.isatty() and not unwanted else "letters"


def game_of_players(specs: Sequence[str], registry: str | None, size: int) -> Game:
    """Return the game of the first model that `specs` name; Reversi of this size for players without a model."""
    from reversi.games.rules import reversi_of_size

    return game_of_models(specs, registry) or reversi_of_size(size)


def game_of_models(specs: Sequence[str], registry: str | None) -> Game | None:
    """Return the game of the first model that `specs` name, None for players without a model.

    `shipped`, which has a model for more than one board, follows the others.
    """
    from reversi.games.rules import game_named
    from reversi.players.spec import model_of_spec

    models = sorted((model for model in map(model_of_spec, specs) if model is not None), key=lambda m: m == "shipped")
    if not models:
        return None
    from reversi.model.lookup import load_model

    return game_named(load_model(models[0], registry).game)


def add_address_arguments(parser: argparse.ArgumentParser, port: int) -> None:
    """Declare the address of a page's server, by default `port` of this machine only, and whether it is opened."""
    parser.add_argument(
        "--host", default=HOST, metavar="ADDRESS", help=f"address to listen on (default {HOST}: this machine only)"
    )
    parser.add_argument(
        "--port",
        type=natural_up_to(65_535),
        default=port,
        metavar="P",
        help=f"port to listen on (default {port}; 0 takes a free one)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in your browser")


def _whole(text: str, low: int, most: int = LARGEST) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) else -1
    if not low <= number <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from {low} to {most}, got {text!r}")
    return number
