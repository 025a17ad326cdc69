"""The eight symmetries of a square board, on masks, on positions and on actions.

Symmetry `s` (0-7) exchanges rows and columns if bit 2 is set, then turns the rows upside down if bit 1 is set, then
mirrors the columns if bit 0 is set.  The rules look the same under every one of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks, mirror_columns, mirror_rows, transpose
from reversi.games.rules import GAMES, Game
from reversi.kernel import kernel

SYMMETRIES = 8

INVERSE = np.array([0, 1, 2, 3, 4, 6, 5, 7], np.int64)
"""int64[8]: the symmetry that undoes s; only the two quarter turns, 5 and 6, are not their own."""

_GAP = np.array([8 - game.size for game in GAMES.values()], np.int64)  # int64[games] rows of the 8x8 layout left free


@kernel
def transform_mask(game_id: int, mask: np.uint64, s: int) -> np.uint64:
    """Return `mask` under symmetry `s`; squares off the game's board must be empty and stay so.

    The whole 8x8 layout is transformed, then shifted back into the top-left corner.
    """
    gap = np.uint64(_GAP[game_id])
    if s & 4:
        mask = transpose(mask)
    if s & 2:
        mask = mirror_rows(mask) >> (gap * np.uint64(8))
    if s & 1:
        mask = mirror_columns(mask) >> gap
    return mask


@kernel
def transform_masks(game_id: int, masks: Masks, symmetries: NDArray[np.int64], out: Masks) -> None:
    """Fill `out[b]` with `masks[b]` under `symmetries[b]`; `out` may be `masks`.

    masks, out  uint64[B]
    symmetries  integers[B], 0-7
    """
    for b in range(masks.shape[0]):
        out[b] = transform_mask(game_id, masks[b], symmetries[b])


@kernel
def canonical(game_id: int, own: np.uint64, opp: np.uint64) -> tuple[np.uint64, np.uint64, int]:
    """Return (own, opp, s): the smallest of the position's eight images and the first symmetry that leads to it.

    Two positions are equal up to symmetry exactly when their images are equal.
    """
    best_own, best_opp, best = own, opp, 0
    for s in range(1, SYMMETRIES):
        image_own = transform_mask(game_id, own, s)
        if image_own > best_own:
            continue
        image_opp = transform_mask(game_id, opp, s)
        if image_own < best_own or image_opp < best_opp:
            best_own, best_opp, best = image_own, image_opp, s
    return best_own, best_opp, best


def action_table(game: Game) -> NDArray[np.int32]:
    """Return int32[8, A]: where action `a` goes under symmetry `s`; the pass stays.

    A policy `p` of a position is `q` of its image with `q[table[s]] = p`, which is `q = p[table[INVERSE[s]]]`.
    """
    table = np.empty((SYMMETRIES, game.actions), np.int32)
    row, col = np.divmod(np.arange(game.squares), game.size)
    last = game.size - 1
    for s in range(SYMMETRIES):
        image_row, image_col = (col, row) if s & 4 else (row, col)
        image_row = last - image_row if s & 2 else image_row
        image_col = last - image_col if s & 1 else image_col
        table[s, :-1] = image_row * game.size + image_col
        table[s, -1] = game.pass_action
    return table
