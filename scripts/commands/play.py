"""Play in the terminal against any player; type `help` during the game for the commands.

Every game of Reversi is added to runs/played.ggf, and `reversi replay` shows the newest.  After a game you may play
again with colours changed.

With --start the game begins at a position (N*N characters of X, O and -, a space, the side to move), after the moves of
a game (a transcript such as c2b4, GGF or SGF), or where the game in a file stops, such as one that `save game.ggf`
wrote.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from reversi.capacity import cores
from scripts.arguments.common import (
    add_ascii,
    add_game,
    add_players,
    add_registry,
    add_seed,
    add_simulations,
    any_player_of,
    board_style,
    file_path,
    game_of,
    game_of_models,
    given,
)

if TYPE_CHECKING:
    from reversi.analysis.analyzer import Analyzer
    from reversi.formats.ggf import GgfGame
    from reversi.games.position import Position
    from reversi.games.rules import Game
    from reversi.players import AnyPlayer

EXAMPLES = """
reversi play
reversi play --color white --simulations 400
reversi play --size 8 --opponent flat-mc:150
reversi play --start c2b4c5 --save game.ggf
reversi play --start game.ggf
reversi play --game tictactoe --opponent uct:1500 --first-random
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the opponent, the game, where it begins and the side."""
    parser.add_argument("player", nargs="?", metavar="PLAYER", help="the opponent, the same as --opponent")
    parser.add_argument("--opponent", metavar="PLAYER", help="player to play against (default: gated, the champion)")
    parser.add_argument(
        "--color",
        "--colour",
        type=_side,
        choices=("black", "white"),
        help="your colour (default: the one to move, at the start of a game black)",
    )
    add_game(parser, "the model's, else that of --start, else 6")
    parser.add_argument(
        "--start",
        type=given,
        metavar="GAME",
        help="begin at a position, after the moves of a game, or where the game in a file stops",
    )
    parser.add_argument(
        "--save",
        type=file_path,
        metavar="FILE",
        help="write the games to FILE in GGF instead, however they end",
    )
    add_simulations(parser, "for a model given without a number; a network of patterns takes half a second", None)
    add_registry(parser)
    add_seed(parser, "the opponent and --first-random", default=None)
    parser.add_argument("--first-random", action="store_true", help="begin the game with a random move")
    add_ascii(parser)
    add_players(parser)


def _side(text: str) -> str:
    """Return black or white for a word that names a side, other text as it is."""
    from reversi.games.notation import parse_side

    return {True: "black", False: "white", None: text}[parse_side(text)]


def run(args: argparse.Namespace) -> int:
    """Play games; the exit code is 0 even if one is left early, except by Ctrl-C or by an opponent that fails."""
    from reversi.errors import UsageError
    from reversi.files import expect_writable, write_output
    from reversi.frontends.console import Console
    from reversi.games.position import Position
    from reversi.games.rules import TICTACTOE
    from reversi.players import HistoryPlayer

    if args.player and args.opponent:
        raise UsageError(f"expected one opponent, got {args.player!r} and --opponent {args.opponent!r}")
    spec = args.player or args.opponent or "gated"
    start, moves = _start(args, spec)
    if args.save is not None:
        if start.game.id == TICTACTOE:
            raise UsageError(f"expected a game of Reversi with --save, which writes GGF, got {start.game.name}")
        expect_writable(args.save)
    seed = time.time_ns() % 2**32 if args.seed is None else args.seed
    opponent = any_player_of(args, spec, start.game, seed=seed)
    if isinstance(opponent, HistoryPlayer) and start != Position.start(start.game):
        raise UsageError(f"expected --start with the moves of a game for {spec!r}, which follows games, got a position")
    played: list[GgfGame] = []
    black = start.black_to_move == (len(moves) % 2 == 0) if args.color is None else args.color == "black"
    again = True
    while again:
        console = Console(
            start,
            opponent,
            person_is_black=black,
            ask=_ask,
            say=print,
            style=board_style(args),
            moves=moves,
            first_move=_random_move(start.game, seed + len(played)) if args.first_random else None,
            analyzer=lambda: _analyzer(args, spec, start.game, opponent),
        )
        try:
            again = console.play()
        except KeyboardInterrupt:  # the console has said goodbye
            return 130
        finally:
            played.append(console.record())
            if args.save is not None:
                write_output(args.save, "".join(f"{game}\n" for game in played).encode())
            elif len(console.history) > len(moves) and start.game.id != TICTACTOE:
                _keep(played[-1])
        black = not black
        again = again and _says_yes(f"Again, as {'Black' if black else 'White'}? [y/n] ")
    return 0


def _keep(game: GgfGame) -> None:
    """Add a game to those played so far; where that cannot be, say so."""
    from reversi.runs import PLAYED

    try:
        PLAYED.parent.mkdir(exist_ok=True)
        with PLAYED.open("a") as file:
            file.write(f"{game}\n")
    except OSError as error:
        print(f"The game is not saved: {PLAYED}: {error.strerror}.")
    else:
        print(f"Saved in {PLAYED}; `reversi replay` shows it.")


def _says_yes(question: str) -> bool:
    """Ask until the answer is yes or no; the end of the input and Ctrl-C are no: the game is over and saved."""
    try:
        while (answer := _ask(question).strip().lower()) not in ("y", "yes", "n", "no"):
            pass
        return answer in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False


def _start(args: argparse.Namespace, spec: str) -> tuple[Position, list[str]]:
    """Return the start position of the game, and the moves so far."""
    from reversi.errors import UsageError
    from reversi.games.position import Position
    from reversi.games.rules import reversi_of_size

    game = game_of(args) or game_of_models([spec], args.registry)
    if args.start is None:
        return Position.start(game or reversi_of_size(6)), []
    if args.first_random:
        raise UsageError("expected --start or --first-random, got both")
    from scripts.arguments.game_files import read_start

    return read_start(args.start, game)


def _analyzer(args: argparse.Namespace, spec: str, game: Game, opponent: AnyPlayer) -> Analyzer | None:
    """Return what evaluates moves for hints: near the end the exact solver, before it the opponent's model or else the
    shipped one; a player without either only says its move, and for an external program the answer is None."""
    from reversi.analysis.analyzer import PlayerAnalyzer
    from reversi.analysis.of_model import search_analyzer, solving
    from reversi.model.lookup import SHIPPED, load_model
    from reversi.players import HistoryPlayer
    from reversi.players.spec import model_of_spec

    model = model_of_spec(spec)
    if model is not None or (SHIPPED / game.name).is_dir():
        analyzer = search_analyzer(load_model(model or "shipped", args.registry, game), game, threads=cores())
        if model is None:
            analyzer.name = "the shipped model"
    elif isinstance(opponent, HistoryPlayer):
        return None
    else:
        analyzer = PlayerAnalyzer(game, opponent)
    return solving(analyzer, None, winner_takes_empties=False)  # as the result is counted


def _random_move(game: Game, seed: int) -> str:
    """Return a random first move of the game."""
    from random import Random

    from reversi.games.position import Position

    return Random(seed).choice(Position.start(game).legal_moves())


def _ask(prompt: str) -> str:
    """Read a line, and echo it if there is no terminal, so that a scripted game reads like a played one."""
    line = input(prompt)
    if not sys.stdin.isatty():
        print(line)
    return line
