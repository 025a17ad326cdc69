"""`Backend`: the interface of the inference backends, and their batch sizes.

`openvino_backend`, `torch_backend`, `cuda_backend`, `pattern_backend` and `table_backend` implement it, and
`action_values` wraps another one; `evaluate` opens them.  No heavy imports.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.model.weights import Weights

Answers = tuple[NDArray[np.float32], NDArray[np.float32]]
"""(logits [B, A], outlook [B, 2]).  The outlook is, for the side to move, the value P(win) - P(loss) and the expected
final margin as a share of the board, both from -1 to 1.  A network without a value head has an outlook of zeros; one
with action values returns them as logits, which `action_values` converts to logits and an outlook."""

OUTLOOKS = 2
"""Columns of an outlook."""

BackendName = Literal["openvino", "torch", "patterns", "table"]
Precision = Literal["bf16", "float32"]

FINE_BATCH = 32
"""Batches up to this are padded to a power of two, larger ones to a multiple of half of it (see `padded`)."""


class NoGpuError(Exception):
    """There is no usable GPU; the message says why, in one line."""


class Backend(Protocol):
    """One network, ready to evaluate up to `batch` positions at a time in each of its slots.

    All calls but `prepare` come from one thread.
    """

    name: BackendName
    device: str
    batch: int

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Evaluate 1 to batch positions now, in slot 0; its next use overwrites the outputs."""

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Start evaluating 1 to batch positions and return; the masks may change afterwards."""

    def collect(self, slot: int) -> Answers:
        """Wait, without the GIL, for the slot's batch; the slot's next use overwrites the outputs."""

    def prepare(self, weights: Weights) -> Any:
        """Do the slow part of loading another version of the same network; in any thread, during other calls."""

    def take(self, prepared: Any) -> None:
        """Use the result of `prepare` for batches submitted from now on; returns at once."""


def padded(count: int, batch: int) -> int:
    """Return the size that a run of `count` positions is padded to, 1 <= count <= result <= batch.

    Backends prepare for every new batch size (OpenVINO: 5-10 ms each), so they should meet few.  Sizes are powers of
    two up to 32, then multiples of 16, or of a sixteenth of a large batch: self-play with 256 games evaluates 244
    positions on average, and multiples of 32 wasted 5 % of the network's time.
    """
    if count <= FINE_BATCH:
        size = 1 << (count - 1).bit_length()
    else:
        step = max(FINE_BATCH // 2, batch // 16)
        size = -(-count // step) * step
    return min(size, batch)
