"""Create a set of positions with the exact score of every legal move, to measure models against.

The positions are distinct up to symmetry, have at least two legal moves, are spread evenly over the numbers of empty
squares, and depend only on the arguments and the seed; two sets are the same if their printed hashes are.
"""

from __future__ import annotations

import argparse
import sys
import time

from reversi import json
from scripts.arguments.common import add_json, add_seed, add_size, add_threads, file_path, natural, positive_up_to

EXAMPLES = """
reversi label --size 6 --empties 6-20 --seed 0 -o labels6.safetensors
reversi label --size 8 --positions 500 -o labels8.safetensors --json
"""

REPORT_S = 5.0
"""Seconds between two lines of progress."""

MOST_POSITIONS = 1_000_000
"""Most positions of a set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the board, the positions, the file and the output format."""
    add_size(parser, "6", default=6)
    parser.add_argument(
        "--empties",
        type=span,
        default=range(6, 21),
        metavar="A-B",
        help="range of the number of empty squares, from 2 (default 6-20)",
    )
    parser.add_argument(
        "--positions",
        type=positive_up_to(MOST_POSITIONS),
        default=2000,
        metavar="P",
        help="number of positions (default 2000)",
    )
    add_seed(parser, "the games that the positions are taken from")
    parser.add_argument("-o", "--output", type=file_path, required=True, metavar="FILE", help="file to write")
    add_threads(parser, "CPU threads for the solver")
    add_json(parser, "one JSON object about the set")


def span(text: str) -> range:
    """Read `6-20` or `12`, or raise ArgumentTypeError."""
    first, dash, last = text.partition("-")
    numbers = [natural(first), natural(last if dash else first)]
    if numbers[0] > numbers[1]:
        raise argparse.ArgumentTypeError(f"expected the smaller number first, got {text!r}")
    return range(numbers[0], numbers[1] + 1)


def run(args: argparse.Namespace) -> int:
    """Create the set, write it, print its hash."""
    from evaluator.labels import make_labels, save_labels
    from reversi.files import expect_writable
    from reversi.games.rules import reversi_of_size

    expect_writable(args.output)
    start_s = reported_s = time.monotonic()

    def report(done: int, of: int, what: str) -> None:
        nonlocal reported_s
        if time.monotonic() - reported_s > REPORT_S:
            reported_s = time.monotonic()
            print(f"{done} of {of} positions {what}, {reported_s - start_s:.0f} s", file=sys.stderr)

    game = reversi_of_size(args.size)
    labels = make_labels(game, args.empties, args.positions, args.seed, args.threads, report)
    save_labels(labels, args.output)
    seconds = time.monotonic() - start_s
    if args.json:
        about = {"file": str(args.output), "game": game.name, "positions": len(labels), "seed": args.seed}
        print(json.dumps({**about, "sha256": labels.hash, "seconds": round(seconds, 3)}))
    else:
        print(f"{args.output}: {len(labels)} positions of {game.name} in {seconds:.0f} s, sha256 {labels.hash}")
    return 0
