"""Copy a model to a folder, by default the newest of a registry that has passed the gate.

RUN is a run's folder or name; --registry names a registry anywhere else.  The file's SHA-256 is checked before anything
is written.  The folder can then be used wherever a model can be named; a model that is in it already is replaced.  A
folder of a registry is refused, since a published version never changes.  Exit code 3 if the registry cannot be
reached, 4 if it holds no gated model yet.

--follow goes on until Ctrl-C: it waits for the first champion, and brings every later one within seconds of its
promotion, a rollback too.  Each file is replaced atomically, model.safetensors first and model.json, which has its
SHA-256, last.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from scripts.arguments.common import (
    add_json,
    add_registry,
    add_run,
    add_size,
    file_path,
    game_of_size,
    natural,
    registry_named,
)

if TYPE_CHECKING:
    from reversi.model.choice import Choice
    from reversi.model.info import ModelInfo
from reversi import json

EXAMPLES = """
reversi pull -o champion
reversi pull night --model 12 -o twelve --json
reversi pull --registry s3://bucket/models -o champion --follow
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the registry, the version and where the model goes."""
    parser.add_argument(
        "-o", "--output", type=file_path, required=True, metavar="DIR", help="folder to write the model to"
    )
    add_run(parser)
    add_size(parser, "any")
    add_registry(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--model", metavar="M", help="gated, latest, shipped or a version number (default gated)")
    which.add_argument("--version", type=natural, metavar="N", help="version of the model, the same as --model N")
    which.add_argument("--follow", action="store_true", help="go on with every new champion until Ctrl-C")
    add_json(parser, "one JSON object, with --follow one a line")


def run(args: argparse.Namespace) -> int:
    """Pull and print the model's card; following, a line for each champion."""
    from reversi.errors import UsageError
    from reversi.model.card import card
    from reversi.model.choice import is_name
    from reversi.model.lookup import choose

    if args.follow:
        return _follow(args)
    model = str(args.version) if args.version is not None else "gated" if args.model is None else args.model
    if not is_name(model):
        raise UsageError(f"expected gated, latest, shipped or a version number, got {model!r}")
    info = choose(model, registry_named(args), game_of_size(args)).pull(args.output)
    print(_json(info) if args.json else card(info), end="\n" if args.json else "")
    return 0


def _follow(args: argparse.Namespace) -> int:
    """Pull every champion, until Ctrl-C."""
    from reversi.errors import NoGatedModelError
    from reversi.model.champion import CHECK_S, ChampionFollower
    from reversi.model.lookup import open_registry

    registry, game, waits = open_registry(registry_named(args), game_of_size(args)), game_of_size(args), False

    def pull(choice: Choice) -> None:
        if game is not None:
            choice.weights.check_game(game)
        info = choice.pull(args.output)
        line = f"version {info.version}, SHA-256 {info.sha256}, in {info.path}"
        print(_json(info) if args.json else line, flush=True)

    while True:
        try:
            follower = ChampionFollower(registry, pull)
            break
        except NoGatedModelError:
            if not waits:
                print(f"waiting for the first champion of {registry.name}", file=sys.stderr, flush=True)
            waits = True
            time.sleep(CHECK_S)
    while True:
        time.sleep(follower.wait_s)
        follower.newer()


def _json(info: ModelInfo) -> str:
    from reversi.model.card import card

    fields = ("version", "path", "sha256", "size")
    return json.dumps({**{name: getattr(info, name) for name in fields}, "card": card(info)})
