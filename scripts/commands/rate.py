"""Rate players by a round robin: all pairs play from the same openings, and a single Elo number is fitted per player.

Results are stored in a file (--results, by default in the current folder), one line per batch of games.  A second call
plays only the games that are missing, so you can add a player or continue an interrupted rating.  --ladder names the
players and the rules: a file of conf/ladder, or your own; the default `dozen` has players that never change, and the
registry's champion without search, with search, and as it was halfway.  --size, --players, --games, --anchor and
--one-sided override the ladder.  A file of your own needs three keys, and may have all of those in conf/ladder:

    size: 6
    players: [random, alphabeta:3, mcts:gated:64]
    games: 100
    champions: false  # true adds the registry's champion, as in `dozen`

The table has Elo relative to --anchor with 95 % error bars of that difference; `over next` is the probability that a
player is stronger than the one below.  Residuals are observed minus expected points per 100 games of each pair: what a
single number per player cannot explain, such as rock, paper, scissors.

--truth FILE instead measures how many positions of a labelled set (`reversi label`) each player gets right, by default
the champion without and with search.  Errors are standard errors of the means; in JSON, `less_first` has each player's
results minus the first one's, whose errors are smaller in general, as all players answer the same positions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator import MOST_GAMES
from reversi.capacity import cores
from scripts.arguments.common import (
    add_engines,
    add_json,
    add_players,
    add_registry,
    add_seed,
    add_simulations,
    add_size,
    add_threads,
    engine_limits,
    file_path,
    game_of_players,
    natural_up_to,
    positive,
)
from scripts.arguments.openings import add_openings, check_openings, choose_openings

if TYPE_CHECKING:
    from evaluator.config import LadderConfig
    from evaluator.entrants import Entrant
    from evaluator.ladder import Ladder
    from reversi.games.rules import Game

EXAMPLES = """
reversi rate --size 6
reversi rate --size 6 --players random uct:1500 gated --picture ladder.svg
reversi rate --truth labels6.safetensors --players policy:gated mcts:gated:64
reversi rate --truth labels6.safetensors --players gated latest --brief
reversi rate --size 8 --players random "gtp:edax -gtp -l 3" --engine-move 10
reversi rate --ladder edax8
"""

NOT_WITH_TRUTH = (
    *(
        "ladder",
        "size",
        "games",
        "anchor",
        "one_sided",
        "results",
        "openings",
        "balanced",
        "bound",
        "opening_plies",
        "workers",
    ),
    *("engine_start", "engine_move", "engine_restarts"),
)
"""Arguments about games, which --truth does not play."""

LADDER = "dozen"
"""Default of --ladder."""

ONLY_WITH_TRUTH = ("brief", "threads")
"""Arguments that only --truth uses."""

POOL = 200
"""Fewest openings drawn; up to 400 games per pair, a longer rating therefore extends a shorter one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the players, how they meet, where results are stored and the output format."""
    parser.add_argument(
        "--ladder",
        metavar="NAME",
        help=f"name of a file of conf/ladder, or the path of your own (default {LADDER})",
    )
    parser.add_argument("--players", nargs="+", metavar="PLAYER", help="players to rate (default: the ladder's)")
    parser.add_argument("--anchor", metavar="PLAYER", help="player fixed at 0 Elo (default: the first one)")
    add_size(parser, "the ladder's; without one that of the first model in --players, else 6")
    parser.add_argument(
        "--games",
        type=natural_up_to(MOST_GAMES),
        metavar="G",
        help="games per pair, even; rounded up to batches of 20 (default: the ladder's, 100)",
    )
    parser.add_argument(
        "--one-sided",
        type=positive,
        metavar="G",
        help="stop a pair once one player has won all of its first G games (default: play all)",
    )
    parser.add_argument(
        "--results",
        type=file_path,
        metavar="FILE",
        help="results file (default: ladder-reversiN.jsonl in the current folder)",
    )
    parser.add_argument(
        "--truth",
        type=file_path,
        metavar="FILE",
        help="measure the players on exactly labelled positions instead of by games",
    )
    parser.add_argument(
        "--brief", action="store_true", default=None, help="with --truth: leave out the results by empty squares"
    )
    add_openings(parser)
    add_engines(parser)
    add_simulations(parser, "for a model given without a number, and for --balanced")
    add_registry(parser)
    add_seed(parser, "the openings and the players")
    parser.add_argument(
        "--workers", type=positive, metavar="W", help="batches of games played at the same time (default: all cores)"
    )
    parser.add_argument(
        "--picture",
        type=file_path,
        metavar="FILE",
        help="draw the ratings, or with --truth the accuracy by empty squares, as an SVG picture",
    )
    add_threads(parser, "with --truth: CPU threads for the network")
    parser.set_defaults(threads=None)  # games are played one per core, each on one thread
    add_json(parser, "one JSON object")
    add_players(parser)


def run(args: argparse.Namespace) -> int:
    """Play the missing games, then print and draw the ratings; with --truth compare moves with exact scores."""
    if args.truth is not None:
        return _truth(args)
    from evaluator.ladder import Ladder, in_batches
    from evaluator.ledger import Ledger
    from reversi.games.rules import reversi_of_size
    from scripts.rate.report import as_json, as_text

    _check_games(args)
    config = _config(args)
    game = reversi_of_size(config.size)
    check_openings(args, game)
    entrants = _entrants(args, config, game)
    anchor = _anchor(args, config, game, entrants)
    ledger = Ledger(args.results or Path(f"ladder-{game.name}.jsonl"))
    needed = in_batches(config.games) // 2
    openings = choose_openings(args, game, needed if args.balanced else max(needed, POOL))
    ladder = Ladder(game, entrants, openings, ledger, games=config.games, seed=args.seed, one_sided=config.one_sided)
    _play(ladder, args.workers)
    ratings, forfeits = ladder.ratings(anchor), ladder.forfeits()
    if args.picture is not None:
        from reversi.files import write_output
        from scripts.rate.picture import draw

        write_output(args.picture, draw(ratings, game).encode())
    if args.json:
        print(as_json(ladder, ratings, forfeits))
    else:
        print(as_text(ladder, ratings, forfeits))
    return 0


def _truth(args: argparse.Namespace) -> int:
    """Measure the players on labelled positions."""
    _check_truth(args)
    from evaluator.labels import load_labels
    from reversi.errors import unreadable
    from reversi.games.rules import game_named
    from reversi.players import make_player
    from scripts.rate import truth as rate_truth

    try:
        args.truth.stat()
    except OSError as error:
        raise unreadable(args.truth, "a labels archive", error) from error
    labels = load_labels(args.truth)
    game = game_named(labels.game)
    specs = args.players or ["policy:gated", f"mcts:gated:{args.simulations}"]
    threads = args.threads or cores()
    options = {"registry": args.registry, "seed": args.seed, "simulations": args.simulations, "threads": threads}
    truths = rate_truth.judge(labels, [make_player(spec, game, **options) for spec in specs])
    if args.picture is not None:
        from reversi.files import write_output

        write_output(args.picture, rate_truth.draw(truths, labels).encode())
    show = rate_truth.as_json if args.json else rate_truth.as_text
    print(show(labels, args.truth, truths, brief=bool(args.brief)))
    return 0


def _check_truth(args: argparse.Namespace) -> None:
    """Raise UsageError for players that cannot be asked about single positions, and for arguments about games."""
    from reversi.errors import UsageError
    from reversi.players.spec import refuse_engine

    for spec in args.players or []:
        refuse_engine(spec)
    for name in NOT_WITH_TRUTH:
        if getattr(args, name) is not None:
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"expected no {option} with --truth, which plays no games: positions and board are its own"
            )


def _check_games(args: argparse.Namespace) -> None:
    """Raise UsageError for arguments that only --truth uses."""
    from reversi.errors import UsageError

    for name in ONLY_WITH_TRUTH:
        if getattr(args, name) is not None:
            raise UsageError(f"expected --truth FILE with --{name}, which is about comparisons with exact scores")


def _config(args: argparse.Namespace) -> LadderConfig:
    """Return the ladder with the overrides of the other arguments."""
    import dataclasses

    from scripts.rate.ladders import load_ladder

    named = load_ladder(args.ladder or LADDER)
    given = {"size": args.size, "games": args.games, "anchor": args.anchor, "one_sided": args.one_sided}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if args.players is not None:
        changes |= {"players": tuple(args.players), "champions": False, "anchor": args.anchor}
        if args.ladder is None and args.size is None:
            changes["size"] = _size_of_players(args, named.size)
    return dataclasses.replace(named, **changes, engines=engine_limits(args, named.engines))


def _size_of_players(args: argparse.Namespace, usual: int) -> int:
    """Return the board of the first model in --players, `usual` for players without one and for another game."""
    from reversi.games.rules import TICTACTOE

    game = game_of_players(args.players, args.registry, usual)
    return usual if game.id == TICTACTOE else game.size


def _entrants(args: argparse.Namespace, config: LadderConfig, game: Game) -> list[Entrant]:
    """Return the ladder's players, each once."""
    from evaluator.entrants import distinct

    champions = _champions(args.registry, game) if config.champions else []
    return distinct([_enter(args, config, game, spec) for spec in (*config.players, *champions)])


def _enter(args: argparse.Namespace, config: LadderConfig, game: Game, spec: str) -> Entrant:
    from evaluator.entrants import entrant_of

    return entrant_of(spec, game, registry=args.registry, simulations=args.simulations, limits=config.engines)


def _champions(url: str | None, game: Game) -> list[str]:
    """Return the champion without and with search, and the model halfway to it; empty where none is named nor found.

    NoGatedModelError if there is no promoted model of the game in the registry at `url`.
    """
    from reversi.errors import NoGatedModelError
    from reversi.model.lookup import load_model, promoted_registry

    registry = promoted_registry(url, game)
    if registry is None:
        try:
            load_model("gated", None, game)
        except NoGatedModelError as error:
            print(f"rating without a model: {error}", file=sys.stderr)
            return []
        return ["policy:shipped", "mcts:shipped:64"]
    if registry.gated().game != game.name:
        raise NoGatedModelError(f"{registry.name}: expected models of {game.name}, got {registry.gated().game}")
    models = [model for model in registry.models() if model.verdict != "rejected"]
    *earlier, champion = (model.version for model in models)
    halfway = [f"mcts:{earlier[len(earlier) // 2]}:64"] if earlier else []
    return [*halfway, f"policy:{champion}", f"mcts:{champion}:64"]


def _anchor(args: argparse.Namespace, config: LadderConfig, game: Game, entrants: list[Entrant]) -> str:
    """Return the name of the player fixed at 0 Elo."""
    from reversi.errors import UsageError

    if config.anchor is None:
        return entrants[0].name
    names = [entrant.name for entrant in entrants]
    if config.anchor in names:
        return config.anchor
    name = _enter(args, config, game, config.anchor).name
    if name not in names:
        raise UsageError(f"expected one of the players as the anchor ({', '.join(names)}), got {config.anchor!r}")
    return name


def _play(ladder: Ladder, workers: int | None) -> None:
    """Play the missing games; show progress if standard error is a terminal."""
    shows = sys.stderr.isatty()
    try:
        for entry in ladder.play(workers or cores()):
            if shows:
                line = f"\r\033[K{ladder.missing} games left; {entry.key.a} - {entry.key.b}"
                print(line, end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"\n{ladder.missing} games are left; run the same command again to continue", file=sys.stderr)
        raise
    if shows:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
