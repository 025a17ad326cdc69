"""Write a run's page as one file, report.html, as `reversi train` does at the end of every run.

The file needs no server and no network: it can be opened from disk, sent to someone, or kept beside a paper.
"""

from __future__ import annotations

import argparse

from reversi.errors import printable
from reversi.runs import find_run
from scripts.arguments.common import file_path

EXAMPLES = """
reversi report
reversi report runs/long -o long.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run and where the report goes."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's folder or name (default: the newest run)")
    parser.add_argument(
        "-o", "--output", type=file_path, metavar="FILE", help="file to write (default: RUN/report.html)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    from scripts.run.watch.report import write_report

    print(printable(str(write_report(find_run(args.run), args.output))))
    return 0
