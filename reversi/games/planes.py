"""The network's input: four planes of N by N zeros and ones, from the view of the side to move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, Masks
from reversi.games.rules import legal_moves
from reversi.kernels.kernel import kernel

PLANES_VERSION = 1
"""Stored in every model; changes when the meaning or the order of the planes changes."""

PLANES = 4
"""C: own discs, opponent's discs, own legal moves, the opponent's legal moves (as if it were to move)."""


@kernel
def masks_of(game_id: int, own: np.uint64, opp: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the planes of a position as four masks."""
    return own, opp, legal_moves(game_id, own, opp), legal_moves(game_id, opp, own)


@kernel
def write_masks(game_id: int, own: Masks, opp: Masks, out: NDArray[np.uint64]) -> None:
    """Fill `out[b]` with the planes of position b as masks, a thirty-second of their size; the backend unpacks them.

    own, opp  uint64[B]
    out       uint64[B, 4]  written
    """
    for b in range(own.shape[0]):
        masks = masks_of(game_id, own[b], opp[b])
        for plane in range(PLANES):
            out[b, plane] = masks[plane]


@kernel
def write_planes(game_id: int, own: Masks, opp: Masks, out: NDArray[np.float32]) -> None:
    """Fill `out[b]` with the planes of position b.

    own, opp  uint64[B]
    out       float32[B, 4, N, N]  written: 1 where the plane's square is set, else 0
    """
    size = out.shape[2]
    for b in range(own.shape[0]):
        masks = masks_of(game_id, own[b], opp[b])
        for plane in range(PLANES):
            for row in range(size):
                line = masks[plane] >> np.uint64(8 * row)
                for col in range(size):
                    out[b, plane, row, col] = (line >> np.uint64(col)) & ONE
