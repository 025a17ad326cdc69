"""Inject faults into a small run, measure how long it takes to recover, and print what was lost:

python -m tests.faults.drill [NAME ...] [--kills N] [--run KEY=VALUE] [--out FILE]

Each drill starts its own run under Ray on this machine in a temporary folder, kills, stops or cuts off a part of it,
and measures the seconds until work resumes.  Roles named together are killed in the same run, each at random moments,
so that several are down at once.  Without names all drills run, one after another, which takes some minutes.

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
from collections.abc import Sequence
from pathlib import Path

from reversi.errors import ReversiError
from tests.faults.drill.faults import DRILLS
from tests.faults.drill.kills import ROLES, kill_roles
from tests.faults.drill.outcome import Outcome, write

SUMMARIES = ROLES | {name: drill.summary for name, drill in DRILLS.items()}
"""Every drill with what it does."""


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    reader = argparse.ArgumentParser(
        prog="python -m tests.faults.drill",
        epilog="\n".join(f"{name:<16}{summary}" for name, summary in SUMMARIES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reader.add_argument("names", nargs="*", type=_drill, metavar="NAME", help="drills to run (default: all)")
    reader.add_argument("--kills", type=int, default=1, metavar="N", help="faults injected in each drill (default 1)")
    reader.add_argument(
        "--run", action="append", default=[], metavar="KEY=VALUE", help="override for the run's job, as for training"
    )
    reader.add_argument("--out", type=Path, metavar="FILE", help="write the outcomes so far as JSON after every fault")
    return reader


def _drill(name: str) -> str:
    if name not in SUMMARIES:
        raise argparse.ArgumentTypeError(f"expected drills among {', '.join(SUMMARIES)}, got {name!r}")
    return name


def main(argv: Sequence[str] | None = None) -> int:
    """Run the drills; the exit code is 1 if one of them lost what must not be lost."""
    args = parser().parse_args(argv)
    outcomes: list[Outcome] = []
    logging.getLogger("learner.replay").setLevel(logging.ERROR)  # unreachable servers are expected here

    def report(so_far: list[Outcome], step: str) -> None:
        print(step, file=sys.stderr, flush=True)
        if args.out is not None:
            write(args.out, [*outcomes, *so_far])

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the current run ends with the drill
    for names in together(args.names, list(ROLES), list(DRILLS)):
        folder = Path(tempfile.mkdtemp(prefix="reversi-drill-"))
        try:
            if names[0] in ROLES:
                done = kill_roles(names, folder, args.run, args.kills, report)
            else:
                done = [DRILLS[names[0]].do(folder, args.run, args.kills)]
        except KeyboardInterrupt:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        outcomes += done
        print("\n".join(outcome.line for outcome in done), flush=True)
        if args.out is not None:
            write(args.out, outcomes)
        if all(outcome.kept for outcome in done):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"the run is kept in {folder}", file=sys.stderr)
    return int(not all(outcome.kept for outcome in outcomes))


def together(names: Sequence[str], roles: list[str], others: list[str]) -> list[list[str]]:
    """Return the drills to run, with those that share a run in one list: the roles named, or all but Redis servers."""
    if not names:
        with_memory = [role for role in roles if not role.startswith("redis")]
        return [with_memory, *([role] for role in roles if role not in with_memory), *([name] for name in others)]
    killed = list(dict.fromkeys(name for name in names if name in roles))
    return [*([killed] if killed else []), *([name] for name in dict.fromkeys(names) if name not in roles)]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except ReversiError as error:
        sys.exit(f"error: {error}")
