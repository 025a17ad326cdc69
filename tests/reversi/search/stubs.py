"""Evaluators whose answers a test writes down, and positions to ask them about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.position import Position
from reversi.games.rules import Game, legal_actions_mask, play_batch
from reversi.search.signature import HashEvaluator

Answer = tuple[dict[str, float], float]
"""Priors by move, and the value for the side to move."""


class TableEvaluator:
    """Knows the answers of some positions; elsewhere priors are equal and the value is 0.  Keeps what it was asked."""

    def __init__(self, game: Game, answers: dict[Position, Answer] | None = None) -> None:
        self.game = game
        self.answers = {(p.own, p.opp): answer for p, answer in (answers or {}).items()}
        self.asked: list[list[tuple[int, int]]] = []

    def __call__(
        self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        batch = [(int(mover), int(other)) for mover, other in zip(own, opp, strict=True)]
        self.asked.append(batch)
        logits, value = np.zeros((len(batch), self.game.actions), np.float32), np.zeros(len(batch), np.float32)
        for b, masks in enumerate(batch):
            priors, value[b] = self.answers.get(masks, ({}, 0.0))
            position = Position(self.game, *masks)
            for action, move in zip(position.legal_actions(), position.legal_moves(), strict=True):
                logits[b, action] = np.log(priors[move]) if priors else 0
        return logits, value


class CountingHashEvaluator(HashEvaluator):
    """A HashEvaluator that counts its batches and positions."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.batches: list[int] = []

    def __call__(
        self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.batches.append(len(own))
        return super().__call__(own, opp)


def random_positions(
    game: Game, count: int, seed: int, *, plies: int | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return `count` positions after random plies (`plies`, or any number), finished games among them."""
    rng = np.random.default_rng(seed)
    own, opp = np.full(count, game.start_own, np.uint64), np.full(count, game.start_opp, np.uint64)
    left = np.full(count, plies) if plies is not None else rng.integers(0, game.squares, count)
    legal = np.empty((count, game.actions), np.uint8)
    while True:
        legal_actions_mask(game.id, own, opp, legal)
        playing = np.flatnonzero(legal.any(axis=1) & (left > 0))
        if not len(playing):
            return own, opp
        left[playing] -= 1
        actions = (legal[playing] * (1 - rng.random((len(playing), game.actions)))).argmax(axis=1).astype(np.int32)
        some_own, some_opp = own[playing], opp[playing]
        play_batch(game.id, some_own, some_opp, actions)
        own[playing], opp[playing] = some_own, some_opp
