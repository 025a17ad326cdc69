"""`Backend`: what computes a network's answers, and the batch sizes it meets.

`openvino_backend`, `torch_backend`, `cuda_backend` and `table_backend` fulfil it, and `action_values` for another one;
`evaluate` opens them.  No heavy imports.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.model.weights import Weights

Answers = tuple[NDArray[np.float32], NDArray[np.float32]]
"""(logits [B, A], outlook [B, 2]); the outlook is, for the side to move, its value P(win) - P(loss) and the margin that
it may expect at the end, in shares of the board: both from -1 to 1.  A network without a value head has an outlook of
zeros, and the logits of one with action values are those, until `action_values` makes them logits and an outlook."""

OUTLOOKS = 2
"""Columns of an outlook."""

BackendName = Literal["openvino", "torch", "table"]
Precision = Literal["bf16", "float32"]

FINE_BATCH = 32
"""Batches up to this are padded to a power of two, larger ones to a multiple of half of it (see `padded`)."""


class NoGpuError(Exception):
    """A GPU that is not there or cannot be used; the message says why, in one line."""


class Backend(Protocol):
    """One network, ready to judge up to `batch` positions at a time in each of its slots; it writes its own input.

    Calls come from one thread, but for `prepare`.
    """

    name: BackendName
    device: str
    batch: int

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Judge 1 to batch positions now, in slot 0; its next use overwrites the answers."""

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Begin to judge 1 to batch positions and return; the masks may change afterwards."""

    def collect(self, slot: int) -> Answers:
        """Wait, without the GIL, for the slot's batch; the slot's next use overwrites the answers."""

    def prepare(self, weights: Weights) -> Any:
        """Do all that is slow about another version of the same network; in any thread, while the others go on."""

    def take(self, prepared: Any) -> None:
        """Answer what is submitted from now on with what `prepare` returned; at once."""


def padded(count: int, batch: int) -> int:
    """Return the size that a run of `count` positions is padded to, 1 <= count <= result <= batch.

    Backends prepare themselves for every batch size they meet (OpenVINO: 5-10 ms each), so that they should meet few.
    Sizes are powers of two up to 32, then multiples of 16, or of a sixteenth of a large batch: self-play at 256 games
    asks for 244 on average, and multiples of 32 wasted 5 % of the network.
    """
    if count <= FINE_BATCH:
        size = 1 << (count - 1).bit_length()
    else:
        step = max(FINE_BATCH // 2, batch // 16)
        size = -(-count // step) * step
    return min(size, batch)
