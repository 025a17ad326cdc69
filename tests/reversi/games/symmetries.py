"""Symmetries of whole batches, for tests."""

import numpy as np
from numpy.typing import NDArray

from reversi.games.symmetry import transform_mask

INVERSE = np.array([0, 1, 2, 3, 4, 6, 5, 7], np.int64)
"""int64[8]: the inverse of each symmetry; only the two quarter turns, 5 and 6, are not their own inverses."""


def transform_masks(game_id: int, masks: NDArray[np.uint64], s: int) -> NDArray[np.uint64]:
    """Return uint64[B]: each mask under symmetry `s`."""
    return np.array([transform_mask(game_id, mask, s) for mask in masks], np.uint64)
