"""`python -m tests.fuzz --inputs 1000000 --seed 1`: malformed inputs over all borders, and a table of what they did.

The exit code is 1 if anything was found.  `--border NAME --only INDEX` repeats one input and shows the traceback.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

from tests.fuzz.borders import BORDERS, named
from tests.fuzz.run import Found, add, fuzz, try_one

MOST_SHOWN = 5
"""Defects of a border that are printed."""


def main() -> int:
    """Fuzz all borders, or those that are named, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="at least, over all borders (default 10000)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same inputs (default 1)")
    parser.add_argument("--border", action="append", default=[], help=", ".join(each.name for each in BORDERS))
    parser.add_argument("--only", type=int, metavar="INDEX", help="repeat one input of one border")
    args = parser.parse_args()
    borders = named(args.border)
    if args.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            seeds, read = borders[0].open(Path(folder))
            print(try_one(borders[0], seeds, read, args.seed, args.only) or "accepted")
        return 0
    share = args.inputs / sum(border.weight for border in borders)
    print("| border | inputs | accepted | refused | defects | inputs/s | slowest, ms | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    total = Found()
    for border in borders:
        found = fuzz(border, math.ceil(share * border.weight), args.seed)
        print(_row(border.name, found), flush=True)
        for index, what in found.defects[:MOST_SHOWN]:
            print(f"  --border {border.name!r} --seed {args.seed} --only {index}: {what}", file=sys.stderr, flush=True)
        add(total, found)
    print(_row("all", total))
    return 1 if total.defects else 0


def _row(name: str, found: Found) -> str:
    rate = found.inputs / found.seconds if found.seconds else 0.0
    refused = found.refused.total()
    return (
        f"| {name} | {found.inputs:,} | {found.accepted:,} | {refused:,} | {len(found.defects)} | {rate:,.0f} "
        f"| {found.slowest_ms:.0f} | {found.grown_mb:.0f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
