"""Arguments that several commands share, so that they are called and explained alike."""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reversi.engines.engine import EngineLimits

LARGEST = 2**31 - 1


def natural(text: str) -> int:
    """Read a whole number from 0; argparse says the rest."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """Read a whole number from 1."""
    return _whole(text, 1)


def share(text: str) -> float:
    """Read a number from 0 to 1; argparse says the rest."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"expected a value from 0 to 1, got {text!r}")
    return number


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --json, which prints `what` for other programs."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_registry(parser: argparse.ArgumentParser) -> None:
    """Add --registry."""
    parser.add_argument("--registry", metavar="URL", help="folder or fsspec URL of models (default: the newest run's)")


def add_simulations(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --simulations, 64 by default, of `what`."""
    parser.add_argument("--simulations", type=natural, default=64, metavar="S", help=f"{what} (default 64)")


def add_engines(parser: argparse.ArgumentParser) -> None:
    """Add the patience that other people's programs get; what is not given is left to `engine_limits`."""
    group = parser.add_argument_group("other people's programs (gtp:COMMAND, nboard:COMMAND)")
    group.add_argument("--engine-start", type=float, metavar="S", help="seconds to start in (default 30)")
    group.add_argument("--engine-move", type=float, metavar="S", help="seconds for a move, then it loses (default 60)")
    group.add_argument("--engine-restarts", type=natural, metavar="N", help="times one is started again (default 5)")


def engine_limits(args: argparse.Namespace, usual: EngineLimits | None = None) -> EngineLimits:
    """Return the patience that the arguments of `add_engines` ask for, where they are silent the `usual` one."""
    import dataclasses

    from reversi.engines.engine import EngineLimits

    given = {"start_s": args.engine_start, "move_s": args.engine_move, "restarts": args.engine_restarts}
    asked = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(usual or EngineLimits(), **asked)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add --threads of the network's inference, by default one per core."""
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--threads", type=positive, default=cores, metavar="T", help="of the network (default: all cores)"
    )


def _whole(text: str, low: int) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST)) else -1
    if not low <= number <= LARGEST:
        raise argparse.ArgumentTypeError(f"expected a whole number from {low}, got {text!r}")
    return number
