"""`PatternBackend`: pattern tables, looked up in the caller's thread, without torch or OpenVINO."""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import Masks
from reversi.games.rules import game_named
from reversi.model.backend import OUTLOOKS, Answers, BackendName
from reversi.model.config import PatternConfig
from reversi.model.weights import Weights
from reversi.patterns.evaluate import judge_positions
from reversi.patterns.shapes import shapes_of
from reversi.patterns.tables import PatternTables, tables_of


class PatternBackend:
    """Evaluates already in `submit`; search and self-play read `tables` themselves, which is faster."""

    name: BackendName = "patterns"
    device = "cpu"

    def __init__(self, weights: Weights, *, batch: int, slots: int) -> None:
        self.batch = batch
        self._game = game_named(weights.game)
        self._answers = [
            (np.zeros((batch, self._game.actions), np.float32), np.zeros((batch, OUTLOOKS), np.float32))
            for _ in range(slots)
        ]
        self._counts = [0] * slots
        self.tables = self.prepare(weights)

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Evaluate in slot 0."""
        self.submit(0, own, opp)
        return self.collect(0)

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Evaluate all positions."""
        judge_positions(self.tables, self._game.id, own, opp, *self._answers[slot])
        self._counts[slot] = len(own)

    def collect(self, slot: int) -> Answers:
        """Return the evaluations."""
        logits, outlook = self._answers[slot]
        return logits[: self._counts[slot]], outlook[: self._counts[slot]]

    def prepare(self, weights: Weights) -> PatternTables:
        """Give every raw index its own copy of the weight that it shares."""
        network = weights.network
        assert isinstance(network, PatternConfig), f"expected a pattern network, got {network}"
        return tables_of(shapes_of(network.patterns, self._game.size), network.phase_discs, **weights.arrays)

    def take(self, prepared: PatternTables) -> None:
        """Use other tables from now on."""
        self.tables = prepared
