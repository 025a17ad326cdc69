"""Print one number that changes when the search behaves differently.

Fixed positions are searched with a fixed substitute for the network that answers in whole numbers, so that every
machine prints the same number.  A change that alters it changes the search, and must be noted in the CHANGELOG.
"""

from __future__ import annotations

import argparse

from reversi import json
from scripts.arguments.common import add_json

EXAMPLES = """
reversi signature
reversi signature --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the form of the answer."""
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Compute and print the signature."""
    from reversi.search.signature import signature

    number = signature()
    print(json.dumps({"signature": number}) if args.json else number)
    return 0
