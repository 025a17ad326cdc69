"""Play and analyse in a browser: a page with the board, a choice of opponents, the evaluation of every move, and a
review of the whole game.

The server listens on this machine only, unless --host says otherwise; anyone who can reach it can use it.  Ctrl-C ends
it.  docs/web.md shows the page and describes the server's JSON interface.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scripts.arguments.common import natural_up_to
from scripts.arguments.engine import (
    SIMULATIONS,
    add_engine_arguments,
    check_engine_arguments,
    game_to_play,
    model_of,
    player_analyzer,
    search_analyzer,
    solve_of,
    solving,
)

if TYPE_CHECKING:
    from reversi.frontends.web.thinking import Thinker

EXAMPLES = """
reversi serve
reversi serve --registry runs/long/registry --seconds 2
reversi serve --player alphabeta:6 --size 8 --port 9000
"""

HOST, PORT = "127.0.0.1", 8765
"""Default address: this machine only."""

BEGINNERS = {
    "random": "Random moves",
    "greedy": "Greedy: most discs now",
    "alphabeta:2": "Alpha-beta, depth 2",
    "flat-mc:150": "Monte Carlo, 150 games a move",
}
"""Opponents without a network that are always offered, weakest first."""

LEVELS = (0, 64, 400)
"""Simulations of the model's levels, besides the strongest."""

STRONGEST = 4000
"""Simulations of the model's strongest level, which also solves endings exactly, if no limit is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the model or player, its limits and the address."""
    add_engine_arguments(
        parser, f"of the strongest level; default {STRONGEST} without --seconds, {SIMULATIONS} for --player"
    )
    parser.add_argument(
        "--host", default=HOST, metavar="ADDRESS", help=f"address to listen on (default {HOST}: this machine only)"
    )
    parser.add_argument(
        "--port",
        type=natural_up_to(65_535),
        default=PORT,
        metavar="P",
        help=f"port to listen on (default {PORT}; 0 takes a free one)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in your browser")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    import asyncio

    from reversi.frontends.web.server import WebServer, serve

    check_engine_arguments(args)
    thinker = _of_model(args) if args.player is None else _of_player(args)
    opponents = thinker.opponents
    server = WebServer(thinker, args.host, opponents[thinker.default].analyzer.name)

    def ready(url: str) -> None:
        print(f"{thinker.game.name} against {opponents[thinker.default].label}: {url}  (Ctrl-C ends)", flush=True)
        if args.open:
            import threading
            import webbrowser

            # a browser in the terminal returns when it is left, and needs the server meanwhile
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    asyncio.run(serve(server, thinker, args.host, args.port, ready))
    return 0


def _of_model(args: argparse.Namespace) -> Thinker:
    """Return what thinks with a model: its levels, and the analysis."""
    from reversi.frontends.analysis import Limit
    from reversi.frontends.web.thinking import Opponent, Thinker

    game, weights = model_of(args)
    search = search_analyzer(weights, game, threads=args.threads, margin=args.margin)
    exact = solving(search, args.solve, winner_takes_empties=False)  # as the page counts
    levels = [Opponent(f"model:{number}", _level(weights.version, number), search, Limit(number)) for number in LEVELS]
    beginners = [Opponent(spec, label, player_analyzer(args, spec, game), Limit()) for spec, label in BEGINNERS.items()]
    asked = Limit(args.simulations, args.seconds)
    if asked.simulations == 0 and solve_of(args) == 0:
        return Thinker(game, [*beginners, *levels], "model:0", exact)
    limit = Limit(STRONGEST) if asked == Limit() else asked
    until = [
        *([] if limit.simulations is None else [_simulations(limit.simulations)]),
        *([] if limit.seconds is None else [f"{limit.seconds:g} s a move"]),
    ]
    strongest = f"Model {weights.version}, {' or '.join(until)}{'' if exact is search else ', exact endings'}"
    levels.append(Opponent("model", strongest, exact, limit))
    return Thinker(game, [*beginners, *levels], "model:64" if asked == Limit() else "model", exact)


def _level(version: int, simulations: int) -> str:
    return f"Model {version}, {_simulations(simulations)}"


def _simulations(number: int) -> str:
    return f"{number:,} simulations" if number else "no search"


def _of_player(args: argparse.Namespace) -> Thinker:
    """Return what thinks without a model: the player of --player and those for beginners; there is no analysis."""
    from reversi.frontends.analysis import Limit
    from reversi.frontends.web.thinking import Opponent, Thinker

    game = game_to_play(args)
    labels = {spec: label for spec, label in BEGINNERS.items() if spec != args.player} | {args.player: args.player}
    opponents = [Opponent(spec, label, player_analyzer(args, spec, game), Limit()) for spec, label in labels.items()]
    return Thinker(game, opponents, args.player, None)
