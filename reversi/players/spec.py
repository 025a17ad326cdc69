"""Player specifications, as commands accept them.

    random          uniformly random legal moves
    greedy          the move that leaves it with most discs; ties at random
    flat-mc:N       flat Monte Carlo, N random games per move (150 by default), spread evenly over the legal moves
    uct:N           plain UCT: UCB1 over a tree, N random games per move
    alphabeta:D     alpha-beta of depth D with a simple evaluation (mobility, corners, discs)
    policy:M        model M without search: the move with the highest prior
    alphabeta:M:D   alpha-beta of depth D over the margins of model M, a network of patterns, with the exact solver
                    from 2 D empty squares on; or D is a time for each move, as in alphabeta:M:0.5s
    mcts:M:N        model M with N simulations, or with a time for each move, as in mcts:M:0.5s, without noise; options
                    of the search may follow, as in
                    mcts:M:64,margin=0.1,solve=8 (margin is margin_weight, solve is solve_empties, temperature
                    is policy_temperature, share is min_visit_share, backup is backup_temperature; c_puct; bounds
                    and wipeouts are 0 or 1)
    M               model M with the command's number of simulations or time
    gtp:COMMAND     an external program that speaks GTP, as in gtp:'edax -gtp -l 5'
    nboard:COMMAND  an external program that speaks the NBoard protocol

M is `gated`, `latest`, `shipped`, a version number or the path of a model; the player's name contains the version that
`gated` or `latest` stands for at the moment, so that the same player can be named again.  COMMAND is split like a
shell's command line and run without a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from reversi.alphabeta.alphabeta import MAX_DEPTH
from reversi.errors import UnknownPlayerError, UsageError, closest, did_you_mean
from reversi.games.rules import Game, game_named
from reversi.players.engines.engine import EngineLimits
from reversi.players.model import (
    PATTERN_SEARCH,
    PATTERN_SECONDS,
    AlphaBetaModelPlayer,
    alphabeta_of,
    model_player,
    playing_config,
    simulations_in,
)
from reversi.players.plain import AlphaBetaPlayer, FlatMonteCarloPlayer, GreedyPlayer, RandomPlayer, UctPlayer
from reversi.players.player import AnyPlayer, Player
from reversi.search.config import MAX_SIMULATIONS

ENGINES = ("gtp", "nboard")
"""Prefixes of external programs."""

PREFIXES = ("random", "greedy", "flat-mc", "uct", "alphabeta", "policy", "mcts", *ENGINES)
"""Prefixes, up to the first colon, of all specifications but a bare model."""

MOVING = ("gated", "latest")
"""Model names whose version changes over time."""

NAMES = (*MOVING, "shipped")
"""Names of models that are neither a version nor a path."""

PLAYOUTS = 150
"""Random games per decision of plain `flat-mc`."""

MAX_PLAYOUTS = 1_000_000
"""Maximum for `flat-mc` and `uct`."""


_TIME = re.compile(r"[0-9]{0,5}\.?[0-9]{1,6}s", re.ASCII)
"""A time of a player for each move, in seconds."""


def _switch(text: str) -> bool:
    """Read 0 or 1; raises ValueError otherwise."""
    return bool(("0", "1").index(text))


OPTIONS: dict[str, tuple[str, Callable[[str], float]]] = {
    "margin": ("margin_weight", float),
    "solve": ("solve_empties", int),
    "c_puct": ("c_puct", float),
    "temperature": ("policy_temperature", float),
    "share": ("min_visit_share", float),
    "backup": ("backup_temperature", float),
    "bounds": ("bounds", _switch),
    "wipeouts": ("wipeouts", _switch),
}
"""Options of `mcts`: the field of `SearchConfig` that each sets, and the parser of its value."""

SIMULATIONS = 64
"""Simulations of a model specified without a number."""


def make_player(
    spec: str,
    game: Game | str,
    *,
    registry: str | Path | None = None,
    seed: int,
    threads: int = 1,
    backend: str = "auto",
    simulations: int | None = SIMULATIONS,
) -> Player:
    """Return the player of this program that `spec` specifies (see the module docstring).

    simulations  for a model specified without a number; None is SIMULATIONS, or for a network of patterns a time,
                 PATTERN_SECONDS, of the search that is stronger with it

    Raises UnknownPlayerError or another UsageError for an invalid specification, also for an external program, and the
    errors of loading a model.
    """
    refuse_engine(spec)
    game, kind = game_named(game), spec.partition(":")[0]
    plain = _plain_player(spec, game, seed, threads)
    if plain is not None:
        return plain
    model, search = _model_and_search(spec)
    if not model and kind in ("policy", "mcts"):
        raise UsageError(f"expected a model in {spec!r}, as in {kind}:gated")
    if not model:
        guess = closest(kind, (*PREFIXES, *NAMES))
        question = did_you_mean(guess + spec[len(kind) :]) if guess else ""
        raise UnknownPlayerError(f"unknown player {spec!r}{question}")
    from reversi.model.lookup import choose

    if search is None and simulations is None:
        patterns = choose(model, registry, game).weights.network.head == "margin"
        search = f"{PATTERN_SECONDS:g}s" if patterns else str(SIMULATIONS)
        kind = PATTERN_SEARCH if patterns else "mcts"
    number, comma, options = (search or "").partition(",")
    seconds, depth = _seconds(number), None
    if kind == "alphabeta" and (seconds is None or options):
        seconds, depth = None, _number(spec, search or "", 1, MAX_DEPTH)
    elif seconds is not None:
        simulations = simulations_in(seconds)
    elif search is not None:
        simulations = _number(spec, number, 0, MAX_SIMULATIONS)
    simulations = SIMULATIONS if simulations is None else simulations
    changes = _options(spec, comma + options)
    if changes and simulations == 0:
        raise UsageError(f"expected at least one simulation with options of the search, got {spec!r}")
    chosen = choose(model, registry, game)
    weights = chosen.weights
    if model in MOVING:
        model = chosen.name
    if kind == "alphabeta":
        return AlphaBetaModelPlayer(
            f"alphabeta:{model}:{search}", alphabeta_of(game, weights), depth=depth, seconds=seconds
        )
    shown = f"{simulations}{comma}{options}" if seconds is None else search
    name = f"mcts:{model}:{shown}" if simulations else f"policy:{model}"
    config = playing_config(simulations, **changes)
    return model_player(name, game, weights, config, seconds=seconds, threads=threads, backend=backend)


def make_any_player(spec: str, game: Game | str, *, limits: EngineLimits | None = None, **options: Any) -> AnyPlayer:
    """Return the player that `spec` specifies, which may be an external program: it is started here.

    limits   for an external program; None means the usual ones
    options  the other arguments of `make_player`

    Raises what `make_player` raises, and EngineError for a program that does not start or does not support the game.
    """
    if not is_engine(spec):
        return make_player(spec, game, **options)
    from reversi.players.engines.player import engine_player

    return engine_player(spec, game_named(game), limits or EngineLimits())


def is_engine(spec: str) -> bool:
    """Return whether `spec` specifies an external program."""
    return spec.partition(":")[0] in ENGINES


def refuse_engine(spec: str) -> None:
    """Raise UsageError for an external program where positions are not those of one game."""
    if is_engine(spec):
        playing = "external programs only play games of `play`, `match` and `rate`"
        raise UsageError(f"expected a player of this program, got {spec!r}: {playing}")


def model_of_spec(spec: str) -> str | None:
    """Return the model in the specification of a player, None if it has none."""
    return _model_and_search(spec)[0] or None


def _model_and_search(spec: str) -> tuple[str, str | None]:
    """Return the model of a specification, "" if it has none, and the search that it asks for: N[,OPT=V...] or None."""
    kind, _, rest = spec.partition(":")
    if kind == "policy":
        return rest, "0"
    if kind in ("mcts", "alphabeta"):
        model, _, search = rest.rpartition(":")
        return (model, search) if model or kind == "alphabeta" else (rest, None)
    is_model = spec in NAMES or spec.isdecimal() or (kind not in PREFIXES and _is_file(spec))
    return spec if is_model else "", None


def _plain_player(spec: str, game: Game, seed: int, threads: int) -> Player | None:
    """Return the player without a network that `spec` specifies, or None."""
    kind, _, rest = spec.partition(":")
    rng = np.random.default_rng(seed)
    if spec == "random":
        return RandomPlayer(game, rng)
    if spec == "greedy":
        return GreedyPlayer(game, rng)
    if kind == "flat-mc":
        return FlatMonteCarloPlayer(game, _number(spec, rest, 1, MAX_PLAYOUTS) if rest else PLAYOUTS, rng, threads)
    if kind == "uct":
        if not rest:
            raise UsageError("uct needs a number of games, as in uct:1500")
        return UctPlayer(game, _number(spec, rest, 1, MAX_PLAYOUTS), seed, threads)
    if kind == "alphabeta" and ":" not in rest:
        return AlphaBetaPlayer(game, _number(spec, rest, 1, MAX_DEPTH), seed, threads)
    return None


def _options(spec: str, text: str) -> dict[str, Any]:
    """Read `,margin=0.1,solve=8` as arguments of `playing_config`."""
    options: dict[str, Any] = {}
    for option in text.split(",")[1:]:
        key, _, value = option.partition("=")
        try:
            name, read = OPTIONS[key]
            number = read(value)
        except (KeyError, ValueError):
            known = ", ".join(OPTIONS)
            raise UsageError(f"expected options {known} with numbers at the end of {spec!r}, got {option!r}") from None
        if name in options:
            raise UsageError(f"expected every option once at the end of {spec!r}, got {key} again")
        options[name] = number
    return options


def _is_file(spec: str) -> bool:
    """Return whether `spec` is the path of a file or folder."""
    try:
        return spec != "" and Path(spec).exists()
    except OSError:  # not a valid file name
        return False


def _seconds(text: str) -> float | None:
    """Read a time, as in `0.5s`; None for another text."""
    if not _TIME.fullmatch(text):
        return None
    return float(text[:-1]) or None


def _number(spec: str, text: str, low: int, high: int) -> int:
    if not text.isdecimal() or len(text) > len(str(high)) or not low <= int(text) <= high:
        raise UsageError(f"expected a whole number from {low} to {high} at the end of {spec!r}, got {text!r}")
    return int(text)
