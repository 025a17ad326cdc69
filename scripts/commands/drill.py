"""Inject faults into a small run, measure how long it takes to recover, and print what was lost.

Each drill starts its own run under Ray on this machine in a temporary folder, kills, stops or cuts off a part of it,
and measures the seconds until work resumes.  Roles named together are killed in the same run, each at random moments,
so that several are down at once.  The job is tiny; --run overrides its values, as in --run replay=redis.  Without names
all drills run, one after another, which takes some minutes.

It kills only processes that drills started.  packet-loss, partition and long-partition need root, iproute2 and
iptables.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.errors import UsageError
from scripts.arguments.common import add_json, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.drill.outcome import Outcome

EXAMPLES = """
reversi drill --list
reversi drill actor learner --kills 5
reversi drill actor learner gate replay weights redis --kills 200 --out drill.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the drills, the number of faults, the run and the output."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="drills to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the drills and exit")
    parser.add_argument(
        "--kills", type=positive, default=1, metavar="N", help="faults injected in each drill (default 1)"
    )
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override for the run's job, as for `reversi train`",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the outcomes so far as JSON after every fault")
    add_json(parser, "one JSON list of outcomes (docs/reliability.md)")


def run(args: argparse.Namespace) -> int:
    """Run the drills; the exit code is 1 if one of them lost what must not be lost."""
    from scripts.drill.faults import DRILLS
    from scripts.drill.kills import ROLES, kill_roles
    from scripts.drill.outcome import to_json, write

    summaries = ROLES | {name: drill.summary for name, drill in DRILLS.items()}
    if args.list:
        print("\n".join(f"{name:<16}{summary}" for name, summary in summaries.items()))
        return 0
    for name in args.names:
        if name not in summaries:
            raise UsageError(f"expected drills among {', '.join(summaries)}, got {name!r}")
    outcomes: list[Outcome] = []
    logging.getLogger("learner.replay").setLevel(logging.ERROR)  # unreachable servers are expected here

    def hear(so_far: list[Outcome], step: str) -> None:
        print(step, file=sys.stderr, flush=True)
        if args.out is not None:
            write(args.out, [*outcomes, *so_far])

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the current run ends with the drill
    for names in together(args.names, list(ROLES), list(DRILLS)):
        folder = Path(tempfile.mkdtemp(prefix="reversi-drill-"))
        try:
            if names[0] in ROLES:
                done = kill_roles(names, folder, args.run, args.kills, hear)
            else:
                done = [DRILLS[names[0]].do(folder, args.run, args.kills)]
        except KeyboardInterrupt:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        outcomes += done
        if not args.json:
            print("\n".join(outcome.line for outcome in done), flush=True)
        if args.out is not None:
            write(args.out, outcomes)
        if all(outcome.kept for outcome in done):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"the run is kept in {folder}", file=sys.stderr)
    if args.json:
        print(to_json(outcomes))
    return 0 if all(outcome.kept for outcome in outcomes) else 1


def together(names: Sequence[str], roles: list[str], others: list[str]) -> list[list[str]]:
    """Return the drills to run, with those that share a run in one list: the roles named, or all but Redis servers."""
    if not names:
        with_memory = [role for role in roles if not role.startswith("redis")]
        return [with_memory, *([role] for role in roles if role not in with_memory), *([name] for name in others)]
    killed = list(dict.fromkeys(name for name in names if name in roles))
    return [*([killed] if killed else []), *([name] for name in dict.fromkeys(names) if name not in roles)]
