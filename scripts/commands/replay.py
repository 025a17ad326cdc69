"""Step through a recorded game: one of a file, or written out, as f5d6c3, "1. f5 d6 2. c3", GGF or SGF; without either,
the newest that was played here with `reversi play`.

A file may be compressed, and its content tells its format: WTHOR, CSV with a column of transcripts, lines of
transcripts, GGF, SGF, PGN or this program's own records; - reads any of these from standard input.  A game may take
several lines.  In a terminal, Enter shows the next ply, b the previous one, g 12 goes to ply 12, q quits; otherwise
every position is printed.

A game with an illegal move is shown up to that move, not at all if it is the first, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reversi import json
from reversi.errors import CorruptFileError, UsageError
from scripts.arguments.common import add_ascii, add_json, add_size, board_style, natural, positive
from scripts.arguments.game_files import FiledGame, numbered, read_filed_games
from scripts.arguments.positions import STANDARD_INPUT

if TYPE_CHECKING:
    from reversi.games.position import Position
    from reversi.games.rules import Game

EXAMPLES = """
reversi replay
reversi replay f5d6c3d3c4
reversi replay WTH_1999.wtb --game 12
reversi replay games.ggf --game 3 --ply 20
reversi replay --all --json games.csv
echo c2b4 | reversi replay -
"""

SIZES = {3: "tictactoe", 4: "reversi4", 6: "reversi6", 8: "reversi8"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the game, the ply and the output format."""
    parser.add_argument(
        "source",
        nargs="?",
        metavar="GAME",
        help="a file of games, a game written out, or - for standard input (default: runs/played.ggf)",
    )
    parser.add_argument(
        "--game", type=positive, metavar="N", help="which game of the file (default 1, without GAME the newest)"
    )
    parser.add_argument(
        "--ply",
        type=natural,
        metavar="P",
        help="begin at ply P (0 is the start); without a terminal, print only that position",
    )
    parser.add_argument("--all", action="store_true", help="print every game of the file, even in a terminal")
    add_size(parser, "what fits the moves", sizes="3 (tic-tac-toe), 4, 6 or 8")
    parser.add_argument("--column", metavar="NAME", help="header of the column of transcripts in a CSV file")
    add_ascii(parser)
    add_json(parser, "one JSON object per position")


def run(args: argparse.Namespace) -> int:
    """Show the game or games; the exit code is 1 if one of them has an illegal move."""
    for option, value in (("--ply", args.ply), ("--game", args.game)):
        if args.all and value is not None:
            raise UsageError(f"expected --all or {option}, got both")
    games = read_filed_games(_played() if args.source is None else args.source, _game_of_size(args.size), args.column)
    usual = games[-1:] if args.source is None else games[:1]
    chosen = games if args.all else usual if args.game is None else [numbered(games, args.game)]
    by_hand = not (args.all or args.json or args.source == STANDARD_INPUT) and _is_a_terminal()
    broken = 0
    for filed in chosen:
        positions = filed.games.positions(filed.index)
        problem = filed.games.problem(filed.index) if filed.games.is_broken(filed.index) else None
        if args.ply is not None and args.ply >= len(positions):
            if problem is not None:
                raise CorruptFileError(problem)
            raise UsageError(f"--ply: expected a ply from 0 to {len(positions) - 1}, got {args.ply}")
        try:
            if filed.games.plies[filed.index] or problem is None:  # otherwise its start may be unknown
                _show(filed, games[-1].number, positions, args, by_hand)
        except KeyboardInterrupt:
            print("\nGoodbye.")
            return 130
        if problem is not None:
            print(f"error: {problem}", file=sys.stderr)
            broken += 1
    return 1 if broken else 0


def _played() -> str:
    """Return the file of the games played here, or raise UsageError."""
    from reversi.runs import PLAYED

    if not PLAYED.is_file():
        raise UsageError(f"expected a game or a file of games; none was played here yet, as {PLAYED} would have it")
    return str(PLAYED)


def _is_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _show(filed: FiledGame, last: int, positions: Sequence[Position], args: argparse.Namespace, by_hand: bool) -> None:
    from reversi.frontends.stepper import Stepper

    moves, title = filed.games.moves(filed.index), filed.games.title(filed.index)
    plies = range(len(positions)) if args.ply is None else [args.ply]
    if args.json:
        for ply in plies:
            print(_json(filed, ply, positions[ply], moves))
        return
    stepper = Stepper(positions, moves, ask=input, say=print, style=board_style(args))
    print(f"Game {filed.number} of {last}: {title}".rstrip(": "))
    if by_hand:
        stepper.step(args.ply or 0)
        return
    for ply in plies:
        print(f"\n{stepper.picture(ply)}")
    if args.all:
        print()


def _json(filed: FiledGame, ply: int, position: Position, moves: Sequence[str]) -> str:
    """Return a position as a line of JSON: `move` led to it, `next` follows."""
    values = {
        "game": filed.number,
        "title": filed.games.title(filed.index),
        "ply": ply,
        "move": moves[ply - 1] if ply else None,
        "position": str(position),
        "black": position.black.bit_count(),
        "white": position.white.bit_count(),
        "next": moves[ply] if ply < len(moves) else None,
        "over": position.is_over,
    }
    return json.dumps(values)


def _game_of_size(size: int | None) -> Game | None:
    from reversi.games.rules import game_named

    if size is not None and size not in SIZES:
        raise UsageError(f"--size: expected 3, 4, 6 or 8, got {size}")
    return None if size is None else game_named(SIZES[size])
