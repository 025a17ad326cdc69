"""List the models of a registry, oldest first, each with the verdict of its gate match; `*` marks the gated one."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from reversi.errors import NoGatedModelError
from scripts.arguments.common import add_json, add_registry

EXAMPLES = """
reversi models
reversi models --registry runs/long/registry --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the registry and the form of the answer."""
    add_registry(parser)
    add_json(parser, "a JSON list of objects")


def run(args: argparse.Namespace) -> int:
    """Print a line per model; an empty registry is an empty list."""
    from reversi.model.registry import open_registry

    registry = open_registry(args.registry)
    models = registry.models()
    try:
        gated = registry.gated().version
    except NoGatedModelError:
        gated = None
    if args.json:
        print(json.dumps([{**asdict(info), "gated": info.version == gated} for info in models]))
        return 0
    for info in models:
        mark = "*" if info.version == gated else " "
        print(f"{mark} {info.version:6d}  {info.created}  {info.game:<9}  {info.summary}")
    if not models:
        print(f"{registry.name}: no models yet")
    return 0
