"""Arguments that several commands share, so that they are called and explained alike."""

from __future__ import annotations

import argparse
import os

LARGEST = 2**31 - 1


def natural(text: str) -> int:
    """Read a whole number from 0; argparse says the rest."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """Read a whole number from 1."""
    return _whole(text, 1)


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --json, which prints `what` for other programs."""
    parser.add_argument("--json", action="store_true", help=f"print {what}")


def add_registry(parser: argparse.ArgumentParser) -> None:
    """Add --registry."""
    parser.add_argument("--registry", metavar="URL", help="folder or fsspec URL of models (default: the newest run's)")


def add_simulations(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --simulations, 64 by default, of `what`."""
    parser.add_argument("--simulations", type=natural, default=64, metavar="S", help=f"{what} (default 64)")


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
