"""Players without a network, from random to plain searches: the fixed reference points of every rating."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks, popcount
from reversi.games.rules import Game, legal_actions_mask, list_actions, play
from reversi.kernels.kernel import kernel
from reversi.kernels.threads import Threads
from reversi.players.alphabeta import alphabeta
from reversi.players.flat_mc import flat_monte_carlo
from reversi.players.uct import uct


class RandomPlayer:
    """Plays uniformly random legal actions."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self.name = "random"
        self.game, self._rng = game, rng

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Draw one legal action per position."""
        legal = np.zeros((len(own), self.game.actions), np.uint8)
        legal_actions_mask(self.game.id, own, opp, legal)
        return _best(legal, self._rng)


class GreedyPlayer:
    """Plays the move after which it has the most discs, a weak strategy."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self.name = "greedy"
        self.game, self._rng = game, rng

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Count the discs after each legal action and draw among the best."""
        discs = np.full((len(own), self.game.actions), -1, np.int16)
        discs_after(self.game.id, own, opp, discs)
        return _best(discs, self._rng)


class FlatMonteCarloPlayer:
    """Plays the action whose random playouts score best (wins minus losses per playout); ties at random."""

    def __init__(self, game: Game, playouts: int, rng: np.random.Generator, threads: int = 1) -> None:
        """`playouts` is the number of random games per decision, over all legal actions together."""
        self.name = f"flat-mc:{playouts}"
        self.game, self._playouts, self._rng, self._threads = game, playouts, rng, Threads(threads)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Play the random games of all positions; the result does not depend on the threads."""
        seed = int(self._rng.integers(2**64, dtype=np.uint64))
        wins, tried = flat_monte_carlo(self.game, own, opp, self._playouts, seed=seed, threads=self._threads)
        return _best(np.where(tried > 0, wins / np.maximum(tried, 1), -2.0), self._rng)


class UctPlayer:
    """Plays the most visited action of a UCT tree of random playouts; it depends only on the seed and the position."""

    def __init__(self, game: Game, playouts: int, seed: int, threads: int = 1) -> None:
        """`playouts` is the number of random games per decision."""
        self.name = f"uct:{playouts}"
        self.game, self._playouts, self._seed, self._threads = game, playouts, seed, Threads(threads)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Grow one tree per position; the result depends neither on the batch nor on the threads."""
        return uct(self.game, own, opp, self._playouts, seed=self._seed, threads=self._threads).action


class AlphaBetaPlayer:
    """Plays the best action of an alpha-beta search with a plain evaluation; the seed breaks ties."""

    def __init__(self, game: Game, depth: int, seed: int, threads: int = 1) -> None:
        """`depth` is the search depth in moves; passes are not counted."""
        self.name = f"alphabeta:{depth}"
        self.game, self._depth, self._seed, self._threads = game, depth, seed, Threads(threads)

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        """Search each position independently."""
        return alphabeta(self.game, own, opp, self._depth, seed=self._seed, threads=self._threads).action


@kernel
def discs_after(game_id: int, own: Masks, opp: Masks, out: NDArray[np.int16]) -> None:
    """Fill `out[b, a]` (int16[B, A]) with the mover's discs after each legal action `a`; others are unchanged."""
    actions = np.empty(out.shape[1], np.int64)
    for b in range(own.shape[0]):
        for index in range(list_actions(game_id, own[b], opp[b], actions)):
            _, discs = play(game_id, own[b], opp[b], actions[index])
            out[b, actions[index]] = popcount(discs)


def _best(scores: NDArray[np.generic], rng: np.random.Generator) -> NDArray[np.int32]:
    """Return the action with the highest score in each row; ties are broken uniformly at random."""
    lots = np.where(scores == scores.max(axis=1, keepdims=True), rng.random(scores.shape), -1.0)
    return np.asarray(lots.argmax(axis=1), np.int32)
