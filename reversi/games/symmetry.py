"""The eight symmetries of a square board, applied to masks, positions and actions.

Symmetry `s` (0-7) transposes the board if bit 2 is set, then reverses the rows if bit 1 is set, then reverses the
columns if bit 0 is set.  The rules are invariant under all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks, mirror_columns, mirror_rows, transpose
from reversi.games.rules import GAMES, Game
from reversi.kernels.kernel import kernel

SYMMETRIES = 8

_GAP = np.array([8 - game.size for game in GAMES.values()], np.int64)  # int64[games] unused rows of the 8x8 layout


@kernel
def transform_mask(game_id: int, mask: np.uint64, s: int) -> np.uint64:
    """Return `mask` under symmetry `s`; bits off the game's board must be 0 and stay 0.

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


def transform_masks(game_id: int, masks: Masks, s: int) -> Masks:
    """Return uint64[B]: each mask under symmetry `s`."""
    return np.array([transform_mask(game_id, mask, s) for mask in masks], np.uint64)


@kernel
def canonical(game_id: int, own: np.uint64, opp: np.uint64) -> tuple[np.uint64, np.uint64, int]:
    """Return (own, opp, s): the smallest of the position's eight images and the first symmetry that maps to it.

    Two positions are equal up to symmetry if and only if these images are equal.
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


def canonical_key(game: Game, own: int | np.uint64, opp: int | np.uint64) -> tuple[int, int]:
    """Return a dict key that is the same for all positions equal up to symmetry: the masks of `canonical`."""
    image_own, image_opp, _ = canonical(game.id, np.uint64(own), np.uint64(opp))
    return int(image_own), int(image_opp)


def symmetries_of(game: Game, own: int | np.uint64, opp: int | np.uint64) -> list[int]:
    """Return the symmetries that map a position to itself, in ascending order; 0, which does nothing, is one."""
    masks = np.uint64(own), np.uint64(opp)
    return [s for s in range(SYMMETRIES) if all(transform_mask(game.id, mask, s) == mask for mask in masks)]


def are_first(game: Game, own: int | np.uint64, opp: int | np.uint64) -> NDArray[np.bool_]:
    """Return bool[A]: of the actions that symmetries of a position exchange, which have one value, whether it is the
    first."""
    symmetries = symmetries_of(game, own, opp)
    if len(symmetries) == 1:
        return np.ones(game.actions, np.bool_)
    first: NDArray[np.bool_] = action_table(game)[symmetries].min(axis=0) == np.arange(game.actions)
    return first


def action_table(game: Game) -> NDArray[np.int32]:
    """Return int32[8, A]: the image of action `a` under symmetry `s`; the pass maps to itself.

    The policy `p` of a position becomes the policy `q` of its image by `q[table[s]] = p`.
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
