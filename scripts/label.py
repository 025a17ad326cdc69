"""Make a set of positions with the exact score of every legal move: the truth that models are measured against.

The positions are distinct up to symmetry, spread evenly over the numbers of empty squares, and depend on nothing but
the arguments and the seed; the hash that is printed says whether two sets are the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from scripts.arguments import add_json, natural, positive

EXAMPLES = """
reversi label --size 6 --empties 6-20 --positions 2000 --seed 0 -o labels6.safetensors
reversi label --size 8 --empties 10-16 --positions 500 -o labels8.safetensors --json
"""

REPORT_S = 5.0
"""Time between two lines of progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the board, the positions, the file and the form of the answer."""
    cores = os.cpu_count() or 1
    parser.add_argument("--size", type=natural, default=6, metavar="N", help="board size: 4, 6 or 8 (default 6)")
    parser.add_argument(
        "--empties", type=span, default=range(6, 21), metavar="A-B", help="numbers of empty squares (default 6-20)"
    )
    parser.add_argument("--positions", type=positive, default=2000, metavar="P", help="in all (default 2000)")
    parser.add_argument("--seed", type=natural, default=0, metavar="S", help="of the games (default 0)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where the set is written")
    parser.add_argument("--threads", type=positive, default=cores, metavar="T", help="(default: all cores)")
    add_json(parser, "one JSON object about the set")


def span(text: str) -> range:
    """Read `6-20` or `12`; argparse says the rest."""
    first, dash, last = text.partition("-")
    numbers = [natural(first), natural(last if dash else first)]
    if numbers[0] > numbers[1]:
        raise argparse.ArgumentTypeError(f"expected the smaller number first, got {text!r}")
    return range(numbers[0], numbers[1] + 1)


def run(args: argparse.Namespace) -> int:
    """Make the set, write it, print its hash."""
    from evaluator.labels import make_labels, save_labels
    from reversi.games.rules import reversi_of_size

    start_s = reported_s = time.monotonic()

    def report(done: int, of: int) -> None:
        nonlocal reported_s
        if time.monotonic() - reported_s > REPORT_S:
            reported_s = time.monotonic()
            print(f"{done} of {of} positions solved, {reported_s - start_s:.0f} s", file=sys.stderr)

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
