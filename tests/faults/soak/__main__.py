"""Check whether a run's memory grows, from the metrics of a run that has ended or still trains:

python -m tests.faults.soak RUN [--bound MB_PER_H] [--out FILE]

The exit code is 1 if a part grows (`verdict.py`); the picture shows the whole run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reversi.errors import ReversiError
from reversi.runs import find_run
from tests.faults.soak.verdict import BOUND_MB_PER_H, judge, measured, picture, table


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    reader = argparse.ArgumentParser(prog="python -m tests.faults.soak", description="Does a run's memory grow?")
    reader.add_argument("run", metavar="RUN", help="a run's folder or name")
    reader.add_argument(
        "--bound", type=float, default=BOUND_MB_PER_H, metavar="MB_PER_H", help="growth that a part is allowed"
    )
    reader.add_argument("--out", type=Path, metavar="FILE", help="draw memory over time into this SVG file")
    return reader


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for every part of the run."""
    args = parser().parse_args(argv)
    folder = find_run(args.run)
    series = measured(folder)
    findings = [judge(each, args.bound) for each in series]
    if args.out is not None:
        args.out.write_text(picture(folder.name, series, findings), encoding="utf-8")
    print(table(findings))
    return int(any(finding.verdict == "grows" for finding in findings))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ReversiError as error:
        sys.exit(f"error: {error}")
