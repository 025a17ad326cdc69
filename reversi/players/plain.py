"""Players without a network: from pure chance to plain searches, the fixed points of every rating."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks, popcount
from reversi.games.rules import Game, legal_actions_mask, play
from reversi.kernel import kernel
from reversi.search.alphabeta import alphabeta
from reversi.search.flat_mc import flat_monte_carlo, list_actions
from reversi.search.parallel import Threads
from reversi.search.uct import uct


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


class UctPlayer:
    """Plays the most visited action of a UCT tree of random playouts; the seed and the position decide which."""

    def __init__(self, game: Game, playouts: int, seed: int, threads: int = 1) -> None:
        """`playouts` is the number of random games per decision."""
        self.name = f"uct:{playouts}"
        self._game, self._playouts, self._seed, self._threads = game, playouts, seed, Threads(threads)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Grow one tree per position, the same ones in any batch and on any number of threads."""
        return uct(self._game, own, opp, self._playouts, self._seed, self._threads).action


class AlphaBetaPlayer:
    """Plays the best action of an alpha-beta search with a plain evaluation; the seed decides among equals."""

    def __init__(self, game: Game, depth: int, seed: int, threads: int = 1) -> None:
        """`depth` is the number of moves looked ahead; passes come on top."""
        self.name = f"alphabeta:{depth}"
        self._game, self._depth, self._seed, self._threads = game, depth, seed, Threads(threads)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search all positions, each by itself."""
        return alphabeta(self._game, own, opp, self._depth, self._seed, self._threads).action


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
