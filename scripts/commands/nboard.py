"""Run as an engine for the NBoard GUI and programs that speak its protocol, version 2: commands from standard input,
answers to standard output.

A model thinks until --simulations or --seconds per move are used up, whichever comes first; without either, NBoard's
depth d means 2 to the power d simulations, up to 65,536.  docs/protocols.md explains how to add it to NBoard.
"""

from __future__ import annotations

import argparse

from scripts.arguments.engine import add_engine_arguments, input_lines, make_session, say

EXAMPLES = """
reversi nboard --model gated
reversi nboard --player greedy
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the engine."""
    add_engine_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Answer until `quit` or the end of the input."""
    session = make_session(args)
    from reversi.frontends.nboard import NBoard

    NBoard(session, input_lines(), say).serve()
    return 0
