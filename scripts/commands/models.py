"""List the models of a registry, oldest first: verdict, Elo against the champion of its day with the 95 % interval,
results kept on solved positions, results as Black and as White, what its run had spent; `*` marks the gated one.

RUN is a run's folder or name; --registry names a registry anywhere else.  One that cannot be read is left out, and
named on standard error; the exit code is then 1.

--rollback makes an older promoted version the champion again, and says why.  The versions since then are withdrawn;
a training run goes on with that champion, and begins a match against a withdrawn one anew.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from reversi import json
from reversi.errors import (
    CorruptFileError,
    IncompatibleModelError,
    NoGatedModelError,
    ReversiError,
    UsageError,
    printable,
)
from scripts.arguments.common import add_json, add_registry, add_run, given, natural, registry_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reversi.model.gated import Rollback
    from reversi.model.info import ModelInfo
    from reversi.model.registry import Registry

EXAMPLES = """
reversi models
reversi models night
reversi models --registry s3://bucket/models --json
reversi models night --rollback 12 --reason "14 passes where it could move"
"""

COLUMNS = ("", "version", "verdict", "against", "Elo [95 %]", "truth", "as Black", "as White", "cost", "published")
NUMBERS = (1, 3)
"""Columns of numbers, which stand to the right."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the registry, the rollback and the form of the answer."""
    add_run(parser)
    add_registry(parser)
    parser.add_argument("--rollback", type=natural, metavar="N", help="make version N the champion again")
    parser.add_argument("--reason", type=given, metavar="TEXT", help="why, for --rollback")
    add_json(parser, "a JSON list of objects")


def run(args: argparse.Namespace) -> int:
    """Print a table of the models; an empty registry is an empty list.  What cannot be read is named at the end."""
    from reversi.model.gated import withdrawal
    from reversi.model.lookup import open_registry

    if (args.rollback is None) != (args.reason is None):
        raise UsageError("expected --rollback N and --reason TEXT together")
    url = registry_named(args)
    if args.rollback is not None:
        if url is None:
            raise UsageError("expected RUN or --registry with --rollback: no registry is changed that is not named")
        print(open_registry(url).roll_back(args.rollback, args.reason))
        return 0
    registry = open_registry(url)
    models, faults = registry.readable()
    gated, rollbacks = _gated(registry, faults)
    withdrawn = {info.version: withdrawal(info.version, rollbacks) for info in models if info.verdict == "promoted"}
    if args.json:
        extra = [(info, {"gated": info.version == gated, "withdrawn": _why(withdrawn, info)}) for info in models]
        print(json.dumps([{**asdict(info), **more} for info, more in extra]))
    elif models:
        _print_table([_row(info, info.version == gated, _why(withdrawn, info)) for info in models])
        for rollback in rollbacks:
            print(rollback)
    elif not faults:
        print(printable(f"{registry.name}: no models yet"))
    for fault in dict.fromkeys(map(str, faults)):  # that of the gated one is there twice
        print(printable(f"error: {fault}"), file=sys.stderr)
    return 1 if faults else 0


def _gated(registry: Registry, faults: list[ReversiError]) -> tuple[int | None, tuple[Rollback, ...]]:
    """Return the version of the gated model, None if there is none, and all rollbacks; what cannot be read is added to
    `faults`."""
    try:
        rollbacks = registry.rollbacks()
        return registry.gated().version, rollbacks
    except NoGatedModelError:
        pass
    except (CorruptFileError, IncompatibleModelError, UsageError) as error:  # usage: a version that is not there
        faults.append(error)
    return None, ()


def _why(withdrawn: dict[int, Rollback | None], info: ModelInfo) -> str | None:
    """Return why a model was withdrawn, None if it was not."""
    rollback = withdrawn.get(info.version)
    return None if rollback is None else rollback.reason


def _row(info: ModelInfo, gated: bool, withdrawn: str | None) -> tuple[str, ...]:
    """Return the cells of a model, as in `COLUMNS`."""
    from reversi.model import figures

    verdict = "withdrawn" if withdrawn is not None else "baseline" if info.verdict == "first" else info.verdict
    return (
        "*" if gated else "",
        str(info.version),
        verdict,
        "" if info.opponent_version is None else str(info.opponent_version),
        figures.elo(info),
        figures.truth(info),
        figures.colour(info, "black"),
        figures.colour(info, "white"),
        figures.cost(info.spent),
        info.created[:16].replace("T", " "),
    )


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows under their headings; columns without any value are left out."""
    kept = [index for index in range(len(COLUMNS)) if not index or any(row[index] for row in rows)]
    widths = {index: max(len(row[index]) for row in (COLUMNS, *rows)) for index in kept}
    for row in (COLUMNS, *rows):
        print("  ".join(f"{row[index]:{'>' if index in NUMBERS else '<'}{widths[index]}}" for index in kept).rstrip())
