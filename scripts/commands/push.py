"""Publish a run's model for others, at any URL that fsspec knows: a folder, s3://, gs://, hf:// and so on.

The champion becomes the champion there; --version adds another version and changes no champion.  `reversi pull
--registry URL` and every other command with --registry reads it from there, checked by its SHA-256.  The place gets the
champion's card as README.md, with the picture of the run.  Nothing is half there: a model is complete before it is
named, and a version never changes.  A champion that was rolled back in the run is rolled back there too; one that was
withdrawn there is refused.

For a hub: `pip install 'reversi-zero[hf]'`, `hf auth login`, and the name of an existing repository: hf://USER/NAME.
"""

from __future__ import annotations

import argparse

from reversi import json
from scripts.arguments.common import add_json, given, natural, registry_and_run

EXAMPLES = """
reversi push night s3://bucket/reversi6
reversi push night hf://me/reversi6
reversi push runs/long /mnt/models --version 12
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run, the place and the version."""
    parser.add_argument("run", type=given, metavar="RUN", help="a run's folder or name, or a registry")
    parser.add_argument("url", type=given, metavar="URL", help="folder or fsspec URL to publish it in")
    parser.add_argument("--version", type=natural, metavar="N", help="another version than the champion")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Push, and say where the model is."""
    from reversi.model.push import push
    from reversi.model.registry import Registry
    from scripts.run.learning_curves import PICTURE

    url, folder = registry_and_run(args.run)
    source, picture = Registry(url), folder and folder / PICTURE
    info = source.gated() if args.version is None else source.get(args.version)
    pushed = push(source, info, args.url, picture if picture and picture.is_file() else None)
    champion = Registry(args.url).champion()
    is_champion = champion is not None and champion.version == pushed.version
    if args.json:
        fields = ("version", "path", "sha256", "size")
        print(json.dumps({**{name: getattr(pushed, name) for name in fields}, "gated": is_champion}))
    else:
        standing = "the champion there" if is_champion else "added; the champion there is as it was"
        print(f"version {pushed.version} is in {pushed.path}: {standing}")
    return 0
