"""Play and analyse in a browser: a page with the board, a choice of opponents, the evaluation of every move, and a
review of the whole game.

The page can change to the other boards of Reversi, where the models that come with this program play and analyse, and
on 4x4 the solver.  It goes on with the registry's next champion once there is one; --model with a number or a folder
never changes.  The server listens on this machine only, unless --host says otherwise; anyone who can reach it can use
it.  Ctrl-C ends it.  docs/web.md shows the page and describes the server's JSON interface.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from reversi.analysis.of_model import SIMULATIONS, analysed_empties, search_analyzer, solving
from scripts.arguments.common import add_address_arguments, game_of_size
from scripts.arguments.engine import (
    add_engine_arguments,
    check_engine_arguments,
    game_of_model,
    game_to_play,
    player_analyzer,
    reviewer,
    solve_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reversi.analysis.analyzer import Analyzer
    from reversi.frontends.web.follower import Source
    from reversi.frontends.web.selection import Opponent, Selection
    from reversi.frontends.web.server import WebServer
    from reversi.games.rules import Game
    from reversi.model.choice import Choice
    from reversi.model.registry import Registry

EXAMPLES = """
reversi serve
reversi serve --registry runs/long/registry --seconds 2
reversi serve --player alphabeta:6 --size 8 --port 9000
"""

PORT = 8765

BEGINNERS = {
    "random": "Random moves",
    "greedy": "Greedy: most discs now",
    "alphabeta:2": "Alpha-beta, depth 2",
    "flat-mc:150": "Monte Carlo, 150 games a move",
}
"""Opponents without a network that are always offered, weakest first."""

SIZES = (4, 6, 8)
"""The boards of Reversi."""

START_DISCS = 4
"""On every board."""

LEVELS = (0, 64, 400)
"""Simulations of the model's levels, besides the strongest."""

REPLY_S = 0.4
"""Seconds of a move with a network of patterns, if no limit is given: a reply is shown no sooner anyway (play.js)."""

STRONGEST = 4000
"""Simulations of the model's strongest level, which also solves endings exactly, if no limit is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the model or player, its limits and the address."""
    add_engine_arguments(
        parser,
        f"of the strongest level; default {STRONGEST} without --seconds, {SIMULATIONS} for --player, {REPLY_S:g} s for "
        "a network of patterns",
    )
    add_address_arguments(parser, PORT)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    import asyncio

    from reversi.frontends.web.site import open_in_browser, serve

    server = server_of(args)

    def ready(url: str) -> None:
        print(f"{server.title}: {url}  (Ctrl-C ends)", flush=True)
        if args.open:
            open_in_browser(url)

    asyncio.run(serve(server.application(), args.host, args.port, ready))
    return 0


def arguments(*given: str) -> argparse.Namespace:
    """Return this command's arguments, for a server that has the page beside its own."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(given)


def server_of(args: argparse.Namespace) -> WebServer:
    """Return the server of the page."""
    from reversi.frontends.web.server import WebServer

    check_engine_arguments(args)
    selection, source, models = _players(args)
    return WebServer(selection, args.host, source, models, _other_boards(args, selection.game))


def _players(args: argparse.Namespace) -> tuple[Selection, Source | None, Registry | None]:
    """Return who plays, where newer models come from, and the registry whose champion it is, if it is one."""
    from reversi.model.champion import ChampionFollower
    from reversi.model.lookup import choose, promoted_registry

    if args.player is not None:
        return _of_player(args), None, None
    game = game_of_size(args)
    if args.model in (None, "gated") and (registry := promoted_registry(args.registry, game)) is not None:
        follower = ChampionFollower(registry, lambda choice: _of_model(args, choice))
        return follower.current, follower, registry
    return _of_model(args, choose(args.model or "gated", args.registry, game)), None, None


def _of_model(args: argparse.Namespace, choice: Choice, game: Game | None = None) -> Selection:
    """Return who plays with a model: its levels, and the analysis; on `game`, by default that of --size or its own."""
    from reversi.analysis.analyzer import Limit
    from reversi.frontends.web.selection import Opponent, Selection

    weights = choice.weights
    game, version = game or game_of_model(args, weights), weights.version
    search = search_analyzer(weights, game, threads=args.threads, margin=args.margin)
    exact = solving(search, args.solve, winner_takes_empties=False)  # as the page counts
    judge = reviewer(search, args.solve, choice.margin_errors)
    levels = [Opponent(f"model:{number}", _level(version, number), search, Limit(number), version) for number in LEVELS]
    beginners = _opponents(args, BEGINNERS, game)
    asked = Limit(args.simulations, args.seconds)
    if asked.simulations == 0 and solve_of(args) == 0:
        return Selection([*beginners, *levels], "model:0", search.name, exact, judge)
    patterns = weights.network.head == "margin"
    usual = Limit(seconds=REPLY_S) if patterns else Limit(STRONGEST)
    limit = usual if asked == Limit() else asked
    until = [
        *([] if limit.simulations is None else [_simulations(limit.simulations)]),
        *([] if limit.seconds is None else [f"{limit.seconds:g} s a move"]),
    ]
    strongest = f"Model {version}, {' or '.join(until)}{'' if exact is search else ', exact endings'}"
    levels.append(Opponent("model", strongest, exact, limit, version))
    default = "model:64" if asked == Limit() and not patterns else "model"
    return Selection([*beginners, *levels], default, search.name, exact, judge)


def _level(version: int, simulations: int) -> str:
    return f"Model {version}, {_simulations(simulations)}"


def _simulations(number: int) -> str:
    return f"{number:,} simulations" if number else "no search"


def _of_player(args: argparse.Namespace) -> Selection:
    """Return who plays without a model of the user's: the player of --player and those for beginners."""
    labels = {spec: label for spec, label in BEGINNERS.items() if spec != args.player} | {args.player: args.player}
    return _without_model(args, game_to_play(args), labels)


def _without_model(args: argparse.Namespace, game: Game, labels: Mapping[str, str]) -> Selection:
    """Return the players that `labels` names, the last of which plays first, with the analysis of the board's shipped
    model, or of the solver alone where that reaches every position."""
    from reversi.errors import NoGatedModelError
    from reversi.frontends.web.selection import Selection
    from reversi.model.lookup import choose

    opponents = _opponents(args, labels, game)
    default, name = opponents[-1].name, opponents[-1].analyzer.name
    search: Analyzer
    errors = None
    try:
        shipped = choose("shipped", None, game)
        search, errors = search_analyzer(shipped.weights, game, threads=args.threads), shipped.margin_errors
    except NoGatedModelError:
        if analysed_empties(game, args.solve) < game.squares - START_DISCS:
            return Selection(opponents, default, name)
        search = opponents[0].analyzer
    exact = solving(search, args.solve, winner_takes_empties=False)
    return Selection(opponents, default, name, exact, reviewer(search, args.solve, errors))


def _other_boards(args: argparse.Namespace, game: Game) -> dict[int, Callable[[], Selection]]:
    """Return by size what makes the selection of the other boards of Reversi: with their shipped models if they have
    one."""
    from reversi.games.rules import TICTACTOE, reversi_of_size

    if game.id == TICTACTOE:
        return {}
    return {size: partial(_of_board, args, reversi_of_size(size)) for size in SIZES if size != game.size}


def _of_board(args: argparse.Namespace, game: Game) -> Selection:
    from reversi.errors import NoGatedModelError
    from reversi.model.lookup import choose

    try:
        return _of_model(args, choose("shipped", None, game), game)
    except NoGatedModelError:
        return _without_model(args, game, BEGINNERS)


def _opponents(args: argparse.Namespace, labels: Mapping[str, str], game: Game) -> list[Opponent]:
    """Return the players without a limit that `labels` names."""
    from reversi.analysis.analyzer import Limit
    from reversi.frontends.web.selection import Opponent

    return [Opponent(spec, label, player_analyzer(args, spec, game), Limit()) for spec, label in labels.items()]
