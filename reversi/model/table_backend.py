"""`TableBackend`: table lookup, without torch or OpenVINO."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import game_named
from reversi.kernels.kernel import kernel
from reversi.model.backend import OUTLOOKS, Answers, BackendName
from reversi.model.table import table_index
from reversi.model.weights import Weights


class TableBackend:
    """Evaluates in the caller's thread, already in `submit`."""

    name: BackendName = "table"
    device = "cpu"

    def __init__(self, weights: Weights, *, batch: int, slots: int) -> None:
        self.batch = batch
        actions = game_named(weights.game).actions
        self._answers = [
            (np.zeros((batch, actions), np.float32), np.zeros((batch, OUTLOOKS), np.float32)) for _ in range(slots)
        ]
        self._counts = [0] * slots
        self.take(self.prepare(weights))

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Look up in slot 0."""
        self.submit(0, own, opp)
        return self.collect(0)

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Look up all positions."""
        look_up(self._values, own, opp, self._answers[slot][0])
        self._counts[slot] = len(own)

    def collect(self, slot: int) -> Answers:
        """Return the values found."""
        logits, outlook = self._answers[slot]
        return logits[: self._counts[slot]], outlook[: self._counts[slot]]

    def prepare(self, weights: Weights) -> NDArray[np.float32]:
        """Copy the table."""
        return weights.arrays["q"].copy()

    def take(self, prepared: NDArray[np.float32]) -> None:
        """Use another table from now on."""
        self._values = prepared


@kernel
def look_up(values: NDArray[np.float32], own: Masks, opp: Masks, out: NDArray[np.float32]) -> None:
    """Fill `out[b]` with the values of position b's actions; the pass, the last one, gets 0.

    values    float32[19683, 9]
    own, opp  uint64[B]
    out       float32[B or more, A]  written
    """
    last = out.shape[1] - 1
    for b in range(own.shape[0]):
        row = table_index(own[b], opp[b])
        for action in range(last):
            out[b, action] = values[row, action]
        out[b, last] = 0
