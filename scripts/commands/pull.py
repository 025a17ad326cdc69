"""Download a model from a registry, by default the newest that has passed the gate.

The file's SHA-256 is checked before anything is written.  The folder can then be used wherever a model can be named.
Exit code 3 if the registry cannot be reached, 4 if it holds no gated model yet.
"""

from __future__ import annotations

import argparse
import json

from scripts.arguments.common import add_json, add_registry, file_path, natural

EXAMPLES = """
reversi pull -o champion
reversi pull --registry runs/long/registry --version 12 -o twelve --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the registry, the version and where the model goes."""
    parser.add_argument(
        "-o", "--output", type=file_path, required=True, metavar="DIR", help="folder to write the model to"
    )
    add_registry(parser)
    parser.add_argument("--version", type=natural, metavar="N", help="version of the model (default: the gated one)")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Pull and print the model's card."""
    from reversi.model.registry import open_registry

    info = open_registry(args.registry).pull(args.version, args.output)
    if args.json:
        fields = ("version", "path", "sha256", "size")
        print(json.dumps({**{name: getattr(info, name) for name in fields}, "card": info.card()}))
    else:
        print(info.card(), end="")
    return 0
