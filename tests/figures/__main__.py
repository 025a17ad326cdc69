"""Measure what docs/performance.md shows:

    python -m tests.figures page         its generated tables: all rows of `reversi bench`, its sweeps, the peers
    python -m tests.figures peers        other programs beside ours (pip install '.[peers]')
    python -m tests.figures weights      a model sent to a thousand simulated actors
    python -m tests.figures records      the records of a thousand simulated actors into one Redis
    python -m tests.figures nodes        patterns on two Ray nodes with Redis: the CPU time of a game, role by role
    python -m tests.figures clocks       a thousand games of an engine against the clock
    python -m tests.figures pages        twenty games at once on one page: `--crowd 20`

`page --again` writes the page from the figures of its last measurement.  Each of the others takes minutes and needs a
quiet machine.  The sizes are those of `reversi bench`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from reversi.errors import ConfigError, ReversiError, UsageError
from scripts.bench.rows import ROWS
from scripts.bench.setup import Settings
from scripts.commands.bench import add_sizes, describe_machine, measure, sentence, settings_of, table
from tests.figures import programs
from tests.figures.clocks import bench_clocks
from tests.figures.limits import limits
from tests.figures.nodes import bench_nodes
from tests.figures.page import Measured, write_page
from tests.figures.pages import bench_pages
from tests.figures.peers import bench_peers
from tests.figures.records import bench_records
from tests.figures.sweeps import SWEEPS
from tests.figures.weights import bench_weights

CROWDS = {"weights": bench_weights, "records": bench_records, "clocks": bench_clocks, "pages": bench_pages}
"""The scenarios with many simulated actors or games."""

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    reader = argparse.ArgumentParser(prog="python -m tests.figures", description="Measure figures of the documents.")
    reader.add_argument("what", choices=["page", "peers", "nodes", *CROWDS], help="what to measure")
    reader.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page to write")
    reader.add_argument("--again", action="store_true", help="do not measure the page, but write it from its figures")
    reader.add_argument(
        "--crowd", type=int, default=1000, metavar="N", help="simulated actors, or games (default 1000)"
    )
    add_sizes(reader)
    return reader


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, then print the rows or write the page."""
    args = parser().parse_args(argv)
    settings = settings_of(args)
    if args.what == "page":
        if not args.page.is_file():
            raise UsageError(f"--page: expected a page with places for the tables, got {str(args.page)!r}")
        figures = json.loads(args.page.with_suffix(".json").read_text()) if args.again else measured(settings)
        write_page(args.page, figures)
        return 0
    print(sentence(describe_machine()), flush=True)
    if args.what == "peers":
        check_peers(settings)
        print(table(bench_peers(settings)))
    elif args.what == "nodes":
        print(table(list(bench_nodes(settings, settings.actors))))
    else:
        print(table(list(CROWDS[args.what](settings, args.crowd))))
    return 0


def measured(settings: Settings) -> Measured:
    """Return all figures of the page; those of the peers if they are installed and play on this board."""
    machine, rows, sweeps = describe_machine(), measure(ROWS, settings), []
    peers = [] if programs.missing() or settings.size != programs.SIZE else bench_peers(settings)
    for name, sweep in SWEEPS.items():
        print(f"sweeping {name}", file=sys.stderr)
        sweeps.append(asdict(sweep(settings)))
    return {
        "machine": sentence(machine),
        "settings": asdict(settings),
        "rows": [asdict(row) for row in rows],
        "limits": [asdict(limit) for limit in limits({row.name: row for row in rows}, settings)],
        "peers": [asdict(row) for row in peers],
        "sweeps": sweeps,
    }


def check_peers(settings: Settings) -> None:
    """Raise an error if the peers are not installed or do not play on this board."""
    if absent := programs.missing():
        raise ConfigError(f"expected {', '.join(absent)}: pip install '.[peers]'")
    if settings.size != programs.SIZE:
        raise UsageError(f"pgx and OpenSpiel play on {programs.SIZE}x{programs.SIZE} only, got --size {settings.size}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ReversiError as error:
        sys.exit(f"error: {error}")
