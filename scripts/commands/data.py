"""Write the games that a run kept, for other learners and programs: a sample of self-play and lessons, the newest ones.

The ending of FILE chooses the format.  .npz has moves, policies, values, results and versions as numpy's arrays
(docs/formats.md), .records the same as this program's own, .ggf moves and results alone.  `reversi train
experiment=wthor 'actors.paths=[FILE]'` learns from any of them.  How many games a run keeps is run.keep_games and
run.keep_every.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from reversi.errors import UsageError, printable
from reversi.runs import find_run
from scripts.arguments.common import file_path

if TYPE_CHECKING:
    from reversi.record import Records

EXAMPLES = """
reversi data -o games.npz
reversi data runs/long -o games.ggf
"""

WRITERS = (".npz", ".records", ".ggf")
"""Endings of files that can be written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run and where its games go."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's folder or name (default: the newest run)")
    parser.add_argument(
        "-o", "--output", type=file_path, metavar="FILE", required=True, help=f"file to write: {', '.join(WRITERS)}"
    )


def run(args: argparse.Namespace) -> int:
    """Write the games and say how many there are."""
    from reversi.files import expect_writable, write_output
    from scripts.run.kept_games import kept_games

    ending = args.output.suffix.lower()
    if ending not in WRITERS:
        raise UsageError(f"expected a file ending in {', '.join(WRITERS)}, got {str(args.output)!r}")
    expect_writable(args.output)
    folder = find_run(args.run)
    games = kept_games(folder)
    if games is None:
        raise UsageError(f"{folder}: expected a run that has kept games of self-play, found none (run.keep_games)")
    write_output(args.output, _bytes(games, ending))
    print(printable(f"{len(games):,} games, {games.positions:,} moves of {games.game}: {args.output}"))
    return 0


def _bytes(games: Records, ending: str) -> bytes:
    from reversi.formats.numpy_archive import npz_of
    from reversi.formats.record_games import ggf_of_records
    from reversi.record import encode

    if ending == ".npz":
        return npz_of(games)
    return encode(games, "data", 0) if ending == ".records" else ggf_of_records(games).encode()
