"""List the models of a registry, oldest first, each with the verdict of its gate match; `*` marks the gated one.

One that cannot be read is left out, and named on standard error; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from reversi.errors import CorruptFileError, IncompatibleModelError, NoGatedModelError, ReversiError, UsageError
from scripts.arguments.common import add_json, add_registry

if TYPE_CHECKING:
    from reversi.model.info import ModelInfo
    from reversi.model.registry import Registry

EXAMPLES = """
reversi models
reversi models --registry runs/long/registry --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the registry and the form of the answer."""
    add_registry(parser)
    add_json(parser, "a JSON list of objects")


def run(args: argparse.Namespace) -> int:
    """Print a line per model; an empty registry is an empty list.  What cannot be read is named at the end."""
    from reversi.model.registry import open_registry

    registry = open_registry(args.registry)
    models, faults = registry.readable()
    gated = _gated_version(registry, faults)
    if args.json:
        print(json.dumps([{**asdict(info), "gated": info.version == gated} for info in models]))
    else:
        _print_models(models, gated)
        if not models and not faults:
            print(f"{registry.name}: no models yet")
    for fault in dict.fromkeys(map(str, faults)):  # that of the gated one is there twice
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _gated_version(registry: Registry, faults: list[ReversiError]) -> int | None:
    """Return the version of the gated model, None if there is none; one that cannot be read is added to `faults`."""
    try:
        return registry.gated().version
    except NoGatedModelError:
        pass
    except (CorruptFileError, IncompatibleModelError, UsageError) as error:  # usage: a version that is not there
        faults.append(error)
    return None


def _print_models(models: list[ModelInfo], gated: int | None) -> None:
    for info in models:
        mark = "*" if info.version == gated else " "
        print(f"{mark} {info.version:6d}  {info.created}  {info.game:<9}  {info.summary}")
