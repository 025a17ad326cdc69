"""The search signature: one integer that changes if and only if the behaviour of the search changes.

It searches fixed positions of every game with a fixed evaluator in integer arithmetic, so that every machine gets the
same number.  A commit that changes it says so.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import GAMES, Game, legal_actions_mask, play_batch
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig

_CONFIGS = (
    SearchConfig.puct(simulations=128, c_puct=1.5, fpu_reduction=0.2),
    SearchConfig.puct(simulations=128, c_puct=1.5, fpu_reduction=0.2, leaves=8, virtual_loss=1),
    SearchConfig.gumbel(simulations=32, considered=16, c_visit=50, c_scale=1),
    SearchConfig.gumbel(simulations=128, considered=6, c_visit=10, c_scale=0.5, leaves=8, virtual_loss=1),
)


def signature() -> int:
    """Return the signature: a CRC-32 over visits, values, policies and actions.

    Takes milliseconds once the kernels are compiled.
    """
    total = 0
    for game in GAMES.values():
        own, opp = _positions(game)
        for config in _CONFIGS:
            search = Search(game, config, HashEvaluator(game), len(own))
            result = search.run(own, opp)
            total = zlib.crc32(result.visits.astype("<i4").tobytes(), total)
            total = zlib.crc32(result.value.astype("<f4").tobytes(), total)
            total = zlib.crc32(result.policy.astype("<f4").tobytes(), total)
            total = zlib.crc32(result.action.astype("<i4").tobytes(), total)
    return total


class HashEvaluator:
    """An `Evaluate` whose outputs are hashes of the position, as exact binary fractions."""

    def __init__(self, game: Game) -> None:
        self._actions = np.arange(1, game.actions + 1, dtype=np.uint64)

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits in [-2, 2) in steps of 1/64 and values in [-1, 1) in steps of 1/128."""
        position = _mix(own ^ _mix(opp))
        logits = (_mix(position[:, None] ^ self._actions) >> np.uint64(56)).astype(np.float32) / np.float32(
            64
        ) - np.float32(2)
        value = (position >> np.uint64(56)).astype(np.float32) / np.float32(128) - np.float32(1)
        return logits, value


def _mix(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return splitmix64 of every element (Steele et al., OOPSLA 2014)."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


def _positions(game: Game) -> tuple[Masks, Masks]:
    """Return (own, opp) of every position of one game, from the start to the end; hashes choose the plies."""
    own, opp = np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)
    seen = [(own[0], opp[0])]
    legal = np.empty((1, game.actions), np.uint8)
    evaluate = HashEvaluator(game)
    legal_actions_mask(game.id, own, opp, legal)
    while legal.any():
        logits, _ = evaluate(own, opp)
        play_batch(game.id, own, opp, np.where(legal, logits, -np.inf).argmax(axis=1).astype(np.int32))
        seen.append((own[0], opp[0]))
        legal_actions_mask(game.id, own, opp, legal)
    return np.array([mover for mover, _ in seen]), np.array([other for _, other in seen])
