"""Copy a model to a folder, by default the newest of a registry that has passed the gate.

The file's SHA-256 is checked before anything is written.  The folder can then be used wherever a model can be named;
a model that is in it already is replaced.  A folder of a registry is refused, since a published version never changes.
Exit code 3 if the registry cannot be reached, 4 if it holds no gated model yet.
"""

from __future__ import annotations

import argparse
import json

from scripts.arguments.common import add_json, add_registry, add_size, file_path, game_of_size, natural

EXAMPLES = """
reversi pull -o champion
reversi pull --registry runs/long/registry --model 12 -o twelve --json
reversi pull --model latest -o newest
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the registry, the version and where the model goes."""
    parser.add_argument(
        "-o", "--output", type=file_path, required=True, metavar="DIR", help="folder to write the model to"
    )
    add_size(parser, "any")
    add_registry(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--model", metavar="M", help="gated, latest, shipped or a version number (default gated)")
    which.add_argument("--version", type=natural, metavar="N", help="version of the model, the same as --model N")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Pull and print the model's card."""
    from reversi.errors import UsageError
    from reversi.model.card import card
    from reversi.model.registry import choose, is_name

    model = str(args.version) if args.version is not None else "gated" if args.model is None else args.model
    if not is_name(model):
        raise UsageError(f"expected gated, latest, shipped or a version number, got {model!r}")
    info = choose(model, args.registry, game_of_size(args)).pull(args.output)
    if args.json:
        fields = ("version", "path", "sha256", "size")
        print(json.dumps({**{name: getattr(info, name) for name in fields}, "card": card(info)}))
    else:
        print(card(info), end="")
    return 0
