"""Do harm to a small run of its own, see how it goes on, and print what was lost.

Each drill starts a run under Ray on this machine in a folder of its own, kills, stops or cuts a part of it, and
measures the seconds until the work goes on.  Its job is tiny; --run replaces values of it, replay=redis for one.
Without names all drills are done, one after another, which takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.errors import UsageError
from scripts.arguments import add_json, positive

if TYPE_CHECKING:
    from scripts.drill_faults import Outcome

EXAMPLES = """
reversi drill --list
reversi drill actor learner --kills 5
reversi drill replay --run replay=redis
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which drills, how often, on what run, and the form of the answer."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="drills to do (default: all)")
    parser.add_argument("--list", action="store_true", help="list the drills and stop")
    parser.add_argument("--kills", type=positive, default=1, metavar="N", help="harm done in each drill (default 1)")
    parser.add_argument(
        "--run", action="append", default=[], metavar="KEY=VALUE", help="an override of the run's job, as for train"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the outcomes as JSON as well")
    add_json(parser, "one JSON list of outcomes")


def run(args: argparse.Namespace) -> int:
    """Do the drills; 1 if one of them lost what it must not lose."""
    from scripts.drill_faults import DRILLS

    if args.list:
        print("\n".join(f"{name:<14}{drill.summary}" for name, drill in DRILLS.items()))
        return 0
    for name in args.names:
        if name not in DRILLS:
            raise UsageError(f"expected drills among {', '.join(DRILLS)}, got {name!r}")
    outcomes = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the run under way is ended with the drill
    for name in args.names or DRILLS:
        with tempfile.TemporaryDirectory(prefix="reversi-drill-", ignore_cleanup_errors=True) as folder:
            outcomes.append(DRILLS[name].do(Path(folder), args.run, args.kills))
        if not args.json:
            print(_line(outcomes[-1]), flush=True)
        if args.out is not None:
            args.out.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1), encoding="utf-8")
    if args.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes]))
    return 0 if all(outcome.kept for outcome in outcomes) else 1


def _line(outcome: Outcome) -> str:
    times = ""
    if outcome.went_on_s:
        times = f"went on after {statistics.median(outcome.went_on_s):.1f} s, at worst {max(outcome.went_on_s):.1f} s"
    lost = "" if outcome.lost_games is None else f"{outcome.lost_games} games lost"
    verdict = "kept" if outcome.kept else "BROKEN"
    told = "; ".join(part for part in (times, lost, outcome.seen) if part)
    return f"{outcome.drill:<14}{verdict:<8}{outcome.kills} times; {told}"
