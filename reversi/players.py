"""Players: everything that can choose a move, behind one protocol, a batch of positions at a time.

    random          uniformly random legal moves
    greedy          the move after which it has most discs; equals at random
    flat-mc:N       flat Monte Carlo, N random games per decision (150 by default), spread evenly over the legal moves
    policy:M        model M's bare policy, the likeliest move
    mcts:M:S        model M searched with S simulations, without noise, the most visited move
    M               the same with the command's number of simulations

M is `gated`, `latest`, a version number or the path of a model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from reversi.errors import UsageError
from reversi.games.bitboard import Masks, popcount
from reversi.games.rules import Game, legal_actions_mask, play
from reversi.kernel import kernel
from reversi.search.apv_mcts import Search
from reversi.search.config import MAX_SIMULATIONS, SearchConfig
from reversi.search.evaluate import Evaluate
from reversi.search.flat_mc import flat_monte_carlo, list_actions
from reversi.search.parallel import Threads

if TYPE_CHECKING:
    from reversi.model.weights import Weights

KINDS = "random, greedy, flat-mc:150, policy:M, mcts:M:64 or M, where M is gated, latest, a version or a model's path"
"""What `make_player` understands, for messages."""

PLAYOUTS = 150
"""Random games per decision of plain `flat-mc`."""

SIMULATIONS = 64
"""Simulations of a model that is named without a number."""

_BATCH = 256
"""Positions searched at once; the network gains nothing from more."""


class Player(Protocol):
    """Chooses moves in many positions of one game at once."""

    @property
    def name(self) -> str:
        """What the player is, as it can be asked for again."""
        ...

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Return a legal action for each of B unfinished positions; B is any number from 0.

        own, opp  uint64[B]  discs of the side to move and of the other side
        """
        ...


class RandomPlayer:
    """Plays every legal action with the same chance."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self.name = "random"
        self._game, self._rng = game, rng

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Draw one legal action per position."""
        legal = np.zeros((len(own), self._game.actions), np.uint8)
        legal_actions_mask(self._game.id, own, opp, legal)
        return _best(legal, self._rng)


class GreedyPlayer:
    """Plays for the most discs after its own move, which loses to almost any plan."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self.name = "greedy"
        self._game, self._rng = game, rng

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Count the discs after each legal action and draw among the best."""
        discs = np.full((len(own), self._game.actions), -1, np.int16)
        discs_after(self._game.id, own, opp, discs)
        return _best(discs, self._rng)


class FlatMonteCarloPlayer:
    """Plays the action whose random continuations score best (won less lost, per playout); equals at random."""

    def __init__(self, game: Game, playouts: int, rng: np.random.Generator, threads: int = 1) -> None:
        """`playouts` is the number of random games per decision, all legal actions together."""
        self.name = f"flat-mc:{playouts}"
        self._game, self._playouts, self._rng, self._threads = game, playouts, rng, Threads(threads)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Play all positions' random games, the same ones on any number of threads."""
        seed = int(self._rng.integers(2**64, dtype=np.uint64))
        wins, tried = flat_monte_carlo(self._game, own, opp, self._playouts, seed, self._threads)
        return _best(np.where(tried > 0, wins / np.maximum(tried, 1), -2.0), self._rng)


class SearchPlayer:
    """Plays what a search without noise would: PUCT's most visited action; with 0 simulations the likeliest."""

    def __init__(self, name: str, game: Game, evaluate: Evaluate, config: SearchConfig) -> None:
        """The same positions get the same answers: there is no randomness in it, and no memory between calls."""
        self.name = name
        self._capacity = batch_of(config.simulations)
        self._search = Search(game, config, evaluate, self._capacity, np.random.default_rng(0))

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search all positions, as many at a time as there are trees."""
        actions = np.empty(len(own), np.int32)
        for start in range(0, len(own), self._capacity):
            part = slice(start, start + self._capacity)
            actions[part] = self._search.run(own[part], opp[part]).action
        return actions


def make_player(
    spec: str,
    game: Game,
    *,
    registry: str | None = None,
    seed: int,
    threads: int = 1,
    backend: str = "auto",
    simulations: int = SIMULATIONS,
) -> Player:
    """Return the player that `spec` names (see the top of this file); `simulations` is for a model named without any.

    Raises UsageError for what names no player, and what loading a model raises.
    """
    kind, _, rest = spec.partition(":")
    rng = np.random.default_rng(seed)
    if spec == "random":
        return RandomPlayer(game, rng)
    if spec == "greedy":
        return GreedyPlayer(game, rng)
    if kind == "flat-mc":
        return FlatMonteCarloPlayer(game, _number(spec, rest, 1, 1_000_000) if rest else PLAYOUTS, rng, threads)
    if kind in ("policy", "mcts") and not rest:
        raise UsageError(f"expected a model in {spec!r}, as in {kind}:gated")
    model = spec
    if kind == "policy":
        model, simulations = rest, 0
    elif kind == "mcts":
        model, _, last = rest.rpartition(":")
        if model:
            simulations = _number(spec, last, 0, MAX_SIMULATIONS)
        else:
            model = rest
    elif not (spec in ("gated", "latest") or spec.isdecimal() or (spec and Path(spec).exists())):
        raise UsageError(f"expected a player ({KINDS}), got {spec!r}")
    from reversi.model.registry import load_model

    weights = load_model(model, registry)
    name = f"mcts:{model}:{simulations}" if simulations else f"policy:{model}"
    return model_player(name, game, weights, simulations=simulations, threads=threads, backend=backend)


def model_player(
    name: str, game: Game, weights: Weights, *, simulations: int, threads: int = 1, backend: str = "auto"
) -> SearchPlayer:
    """Return the player that searches with `weights`; they must be of `game`."""
    from reversi.model.evaluate import open_evaluator

    weights.check_game(game)
    evaluate = open_evaluator(weights, backend=backend, batch=batch_of(simulations), threads=threads)
    return SearchPlayer(name, game, evaluate, playing_config(simulations))


def playing_config(simulations: int) -> SearchConfig:
    """Return how a search of `simulations` plays: no noise, and as many leaves at a time as it can bear.

    A search of thousands of simulations gathers several leaves at a time, which fills the network's batch even where
    one position is searched; below 256 simulations it takes one leaf after another, the strongest use of few.
    """
    return SearchConfig(simulations=simulations, leaves=max(1, min(32, simulations // 128)))


def batch_of(simulations: int) -> int:
    """Return how many positions are searched at once: fewer if trees are large, so that all fit 150 MB or so."""
    return max(1, min(_BATCH, 2**19 // (simulations + 1)))


@kernel
def discs_after(game_id: int, own: Masks, opp: Masks, out: NDArray[np.int16]) -> None:
    """Fill `out[b, a]` (int16[B, A]) with the mover's discs after each legal action `a`; others stay as they are."""
    actions = np.empty(out.shape[1], np.int64)
    for b in range(own.shape[0]):
        for index in range(list_actions(game_id, own[b], opp[b], actions)):
            _, discs = play(game_id, own[b], opp[b], actions[index])
            out[b, actions[index]] = popcount(discs)


def _best(scores: NDArray[np.generic], rng: np.random.Generator) -> NDArray[np.int32]:
    """Return the action of the highest score in each row, drawn uniformly among equals."""
    lots = np.where(scores == scores.max(axis=1, keepdims=True), rng.random(scores.shape), -1.0)
    return np.asarray(lots.argmax(axis=1), np.int32)


def _number(spec: str, text: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise UsageError(f"expected a whole number from {low} to {high} at the end of {spec!r}, got {text!r}")
    return int(text)
