"""Count the leaves of the game tree: all sequences of DEPTH plies; a forced pass is a ply, a finished game is one leaf.

Compare with the published tables to check the rules: 8x8 has 3005288 leaves at depth 9, 6x6 has 14976792 at depth 10.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reversi import json
from reversi.errors import NotationError, UsageError
from scripts.arguments.common import add_json, add_size, natural

if TYPE_CHECKING:
    from reversi.games.position import Position

EXAMPLES = """
reversi perft --size 8 9
reversi perft --size 6 --divide --json 8
reversi perft --position "-OX-OOX--OX---X- X" 4
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the board or position, the depth and the output format."""
    parser.add_argument("depth", type=natural, metavar="DEPTH", help="plies to look ahead, 0 or more")
    add_size(parser, "8")
    parser.add_argument("--position", metavar="TEXT", help="count from this position instead of the start")
    parser.add_argument("--divide", action="store_true", help="also count below each legal move")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Count and print; the leaf count comes last."""
    position = _position(args)
    if args.depth > position.game.max_plies:
        game = position.game
        raise UsageError(f"DEPTH: expected at most {game.max_plies} plies in {game.name}, got {args.depth}")
    started = time.perf_counter()
    divide: dict[str, int] = {}
    with _ended_by_ctrl_c():
        if args.divide and args.depth > 0 and not position.is_over:
            for move in position.legal_moves():
                divide[move] = _leaves(position.play(move), args.depth - 1)
            leaves = sum(divide.values())
        else:
            leaves = _leaves(position, args.depth)
    seconds = time.perf_counter() - started
    if args.json:
        answer: dict[str, object] = {
            "position": str(position),
            "game": position.game.name,
            "size": position.game.size,
            "depth": args.depth,
            "leaves": leaves,
            "seconds": round(seconds, 6),
        }
        if args.divide:
            answer["divide"] = divide
        print(json.dumps(answer))
    else:
        for move, count in divide.items():
            print(f"{move} {count}")
        print(f"{position.game.name}, depth {args.depth}, {seconds:.3f} s, leaves: {leaves}")
    return 0


def _position(args: argparse.Namespace) -> Position:
    """Return the position to count from: --position, or the start of a board of --size."""
    from reversi.games.position import Position
    from reversi.games.rules import reversi_of_size

    if args.position is None:
        return Position.start(reversi_of_size(8 if args.size is None else args.size))
    try:
        return Position.parse(args.position, None if args.size is None else reversi_of_size(args.size))
    except NotationError as error:
        raise UsageError(f"--position: {error}") from error


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process directly, as the kernel does not return to Python before it is done."""
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _leaves(position: Position, depth: int) -> int:
    import numpy as np

    from reversi.games.perft import perft

    return int(perft(position.game.id, np.uint64(position.own), np.uint64(position.opp), depth))
