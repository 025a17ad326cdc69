"""`ActionValues`: adapts a backend whose network outputs the value of every action to policy and value.

The action values divided by a temperature are logits, so that the best legal action is the likeliest and the search has
a prior; the value of a position is that of its best legal action.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks
from reversi.games.rules import game_named, legal_moves, square_of_action
from reversi.kernels.kernel import kernel
from reversi.model.backend import Answers, Backend
from reversi.model.weights import Weights

Q_TEMPERATURE = 0.2
"""Divisor that converts action values to logits: a move worth 0.2 more, a tenth of the range from loss to win, has a
prior 2.7 times as large."""


class ActionValues:
    """Converts the action values of another backend, in its buffers, to logits and an outlook."""

    def __init__(self, backend: Backend, weights: Weights, slots: int) -> None:
        self.name, self.device, self.batch = backend.name, backend.device, backend.batch
        self._backend = backend
        self._game = game_named(weights.game)
        self._masks = [np.zeros((2, backend.batch), np.uint64) for _ in range(slots)]
        self._counts = [0] * slots

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Evaluate now, in slot 0."""
        return self._judged(own, opp, self._backend.run(own, opp))

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Keep the masks, which `collect` needs for the legal moves, and submit them."""
        count = self._counts[slot] = len(own)
        self._masks[slot][0, :count], self._masks[slot][1, :count] = own, opp
        self._backend.submit(slot, own, opp)

    def collect(self, slot: int) -> Answers:
        """Wait for the slot's batch."""
        own, opp = self._masks[slot][:, : self._counts[slot]]
        return self._judged(own, opp, self._backend.collect(slot))

    def prepare(self, weights: Weights) -> Any:
        """Delegate to the other backend."""
        return self._backend.prepare(weights)

    def take(self, prepared: Any) -> None:
        """Delegate to the other backend."""
        self._backend.take(prepared)

    def _judged(self, own: Masks, opp: Masks, answers: Answers) -> Answers:
        judge_actions(self._game.id, own, opp, *answers)
        return answers


@kernel
def judge_actions(
    game_id: int, own: Masks, opp: Masks, logits: NDArray[np.float32], outlook: NDArray[np.float32]
) -> None:
    """Convert action values to logits, in place, and write the outlook.

    own, opp  uint64[B]
    logits    float32[B, A]  read as values, the pass included, and divided by `Q_TEMPERATURE`
    outlook   float32[B, 2]  written: the largest value of a legal move, clipped to [-1, 1], and the margin 0.  The
                             value is 0 where the side to move can only pass, since the pass has no learned value
    """
    actions = logits.shape[1]
    for b in range(own.shape[0]):
        legal = legal_moves(game_id, own[b], opp[b])
        best = -np.inf
        for action in range(actions - 1):
            if (legal >> np.uint64(square_of_action(game_id, action))) & ONE:
                best = max(best, logits[b, action])
        outlook[b, 0] = 0.0 if legal == ZERO else min(max(best, -1.0), 1.0)
        outlook[b, 1] = 0.0
        for action in range(actions):
            logits[b, action] /= Q_TEMPERATURE
