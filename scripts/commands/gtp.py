"""Run as an engine for programs that speak GTP 2, such as Quarry and GoGui: commands from standard input, answers to
standard output.

A model thinks until --simulations or --seconds per move are used up, whichever comes first, by default a network of
patterns half a second, and keeps to the clock that the other program sets.  docs/protocols.md explains how to add it to
a GUI.
"""

from __future__ import annotations

import argparse

from scripts.arguments.engine import add_engine_arguments, input_lines, make_session, say

EXAMPLES = """
reversi gtp --model gated --seconds 1
reversi gtp --player flat-mc:150 --size 8
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the engine."""
    add_engine_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Answer until `quit` or the end of the input."""
    session = make_session(args)
    from reversi.frontends.gtp import Gtp

    Gtp(session, input_lines(), say).serve()
    return 0
