"""The cache of network outputs: exact, bounded, shared by all games of an actor, and emptied by raising one number.

A position and its seven symmetric images share one entry: the smallest image is evaluated by the network and stored.
So a cached output equals the network's, bit for bit.  Each entry records the generation in which it was written; new
weights begin a new generation, in which older entries are not found.

The cache is set-associative, with four contiguous entries per set; a full set replaces its oldest one.  Several threads
may look up at the same time; storing needs exclusive access.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rng import scramble
from reversi.games.rules import Game
from reversi.kernels.kernel import bare_kernel, kernel

WAYS = 4
"""Entries of a set."""

MISSING = -1
"""The way that `find` returns for a position that is not cached."""


ENTRY = np.dtype(
    [
        ("own", np.uint64),
        ("opp", np.uint64),
        ("value", np.float32),
        ("born", np.int32),  # generation the entry was written in; 0 is none
    ],
    align=True,
)


class Cache(NamedTuple):
    """S sets; a cache with S = 0 is empty, and callers must not look up in it."""

    entries: NDArray[np.void]  # ENTRY[S, WAYS]
    logits: NDArray[np.float32]  # [S, WAYS, A]  in the orientation of the entry's position
    oldest: NDArray[np.uint8]  # [S]  the way to overwrite next
    generation: NDArray[np.int32]  # [1]  the current generation, from 1 on


def make_cache(game: Game, positions: int) -> Cache:
    """Return a cache for up to `positions`, rounded down to a power of two of sets; with 0 it stores nothing.

    An entry takes 4 A + 24 bytes: 172 on 6x6, 284 on 8x8.
    """
    sets = 1 << (positions // WAYS).bit_length() - 1 if positions >= WAYS else 0
    return Cache(
        entries=np.zeros((sets, WAYS), ENTRY),
        logits=np.empty((sets, WAYS, game.actions), np.float32),
        oldest=np.zeros(sets, np.uint8),
        generation=np.ones(1, np.int32),
    )


def cache_bytes(game: Game, positions: int) -> int:
    """Return the memory of `make_cache`, to a power of two."""
    return positions * (ENTRY.itemsize + 4 * game.actions)


def pack_cache(cache: Cache) -> dict[str, NDArray[Any]]:
    """Return arrays for `unpack_cache`: the entries of this generation, and which one each set replaces next."""
    held = cache.entries["born"] == cache.generation[0]
    entries = cache.entries[held]
    entries["born"] = 0  # saved bytes do not depend on how often the cache was emptied
    return {
        "cache_rows": np.flatnonzero(held),
        "cache_entries": entries.view(np.uint8),
        "cache_logits": cache.logits[held],
        "cache_oldest": cache.oldest,
    }


def unpack_cache(cache: Cache, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Restore packed entries into an empty cache; a cache of another size stays empty."""
    if len(arrays["cache_oldest"]) != len(cache.oldest):
        return
    places = np.divmod(arrays["cache_rows"], WAYS)
    cache.entries[places] = arrays["cache_entries"].view(ENTRY)
    cache.entries["born"][places] = cache.generation[0]
    cache.logits[places] = arrays["cache_logits"]
    cache.oldest[...] = arrays["cache_oldest"]


def forget_all(cache: Cache) -> None:
    """Begin a new generation: entries stored before are not found again."""
    cache.generation[0] += 1


@bare_kernel
def find(cache: Cache, own: np.uint64, opp: np.uint64) -> tuple[int, int]:
    """Return (set, way) of the entry of a canonical position; the way is MISSING if there is none."""
    row = _set_of(cache, own, opp)
    for way in range(WAYS):
        entry = cache.entries[row, way]
        if entry.own == own and entry.opp == opp and entry.born == cache.generation[0]:
            return row, way
    return row, MISSING


@bare_kernel
def _set_of(cache: Cache, own: np.uint64, opp: np.uint64) -> int:
    return int(scramble(own ^ scramble(opp)) & np.uint64(cache.entries.shape[0] - 1))


@kernel
def store(cache: Cache, own: Masks, opp: Masks, logits: NDArray[np.float32], value: NDArray[np.float32]) -> None:
    """Store the network's outputs for B canonical positions.

    own, opp  uint64[B]
    logits    float32[B, A]
    value     float32[B]
    """
    if cache.entries.shape[0] == 0:
        return
    for b in range(own.shape[0]):
        row, way = find(cache, own[b], opp[b])
        if way == MISSING:
            way = int(cache.oldest[row])
            cache.oldest[row] = (way + 1) % WAYS
        entry = cache.entries[row, way]
        entry.own = own[b]
        entry.opp = opp[b]
        entry.value = value[b]
        entry.born = cache.generation[0]
        cache.logits[row, way] = logits[b]
