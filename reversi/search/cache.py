"""The cache of network answers: exact, shared by all games of an actor, bounded, emptied by one number.

A position and its seven images are one entry: the smallest image is what the network is asked about, and what is
stored.  So an answer out of the cache is, bit for bit, the one that the network gives.  Entries carry the generation
they were written in; new weights begin a new generation, and older entries are as good as gone.

Sets of four: the keys of a set fill one cache line, and a full set forgets its oldest entry.  Kernels on several
threads may look up together; storing is for one thread while nobody looks up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rules import Game
from reversi.kernel import kernel
from reversi.search.chance import scramble

WAYS = 4
"""Entries of a set."""

MISSING = -1
"""`find`'s answer for a position that is not there."""


class Cache(NamedTuple):
    """S sets; a cache without sets (S = 0) holds nothing and is never asked."""

    keys: NDArray[np.uint64]  # [S, WAYS, 2]  own, opp
    born: NDArray[np.int32]  # [S, WAYS]  generation an entry was written in; 0 is none
    oldest: NDArray[np.uint8]  # [S]  the way to overwrite next
    value: NDArray[np.float32]  # [S * WAYS]
    logits: NDArray[np.float32]  # [S * WAYS, A]  in the orientation of the key
    generation: NDArray[np.int32]  # [1]  the present one, from 1 on


def make_cache(game: Game, positions: int) -> Cache:
    """Return a cache for up to `positions`, rounded down to a power of two of sets; 0 makes one that holds nothing.

    An entry takes 4 A + 25 bytes: 173 on 6x6, 285 on 8x8.
    """
    sets = 1 << (positions // WAYS).bit_length() - 1 if positions >= WAYS else 0
    return Cache(
        keys=np.zeros((sets, WAYS, 2), np.uint64),
        born=np.zeros((sets, WAYS), np.int32),
        oldest=np.zeros(sets, np.uint8),
        value=np.empty(sets * WAYS, np.float32),
        logits=np.empty((sets * WAYS, game.actions), np.float32),
        generation=np.ones(1, np.int32),
    )


def pack_cache(cache: Cache) -> dict[str, NDArray[Any]]:
    """Return arrays that `unpack_cache` takes back: the entries of this generation, and what each set forgets next."""
    rows = np.flatnonzero(cache.born == cache.generation[0])
    return {
        "cache_rows": rows,
        "cache_keys": cache.keys.reshape(-1, 2)[rows],
        "cache_value": cache.value[rows],
        "cache_logits": cache.logits[rows],
        "cache_oldest": cache.oldest,
    }


def unpack_cache(cache: Cache, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give an empty cache the entries that were packed; one of another size stays empty."""
    if len(arrays["cache_oldest"]) != len(cache.oldest):
        return
    rows = arrays["cache_rows"]
    cache.keys.reshape(-1, 2)[rows] = arrays["cache_keys"]
    cache.born.reshape(-1)[rows] = cache.generation[0]
    cache.value[rows] = arrays["cache_value"]
    cache.logits[rows] = arrays["cache_logits"]
    cache.oldest[...] = arrays["cache_oldest"]


def forget_all(cache: Cache) -> None:
    """Begin a new generation: nothing that was stored before is found again."""
    cache.generation[0] += 1


@kernel
def _set_of(cache: Cache, own: np.uint64, opp: np.uint64) -> int:
    return int(scramble(own ^ scramble(opp)) & np.uint64(cache.keys.shape[0] - 1))


@kernel
def find(cache: Cache, own: np.uint64, opp: np.uint64) -> int:
    """Return the row of `value` and `logits` with the answer for a canonical position, or MISSING."""
    row = _set_of(cache, own, opp)
    for way in range(WAYS):
        if _holds(cache, row, way, own, opp):
            return row * WAYS + way
    return MISSING


@kernel
def _holds(cache: Cache, row: int, way: int, own: np.uint64, opp: np.uint64) -> bool:
    return bool(
        cache.keys[row, way, 0] == own
        and cache.keys[row, way, 1] == opp
        and cache.born[row, way] == cache.generation[0]
    )


@kernel
def store(cache: Cache, own: Masks, opp: Masks, logits: NDArray[np.float32], value: NDArray[np.float32]) -> None:
    """Put the answers for B canonical positions in.

    own, opp  uint64[B]
    logits    float32[B, A]
    value     float32[B]
    """
    if cache.keys.shape[0] == 0:
        return
    for b in range(own.shape[0]):
        row = _set_of(cache, own[b], opp[b])
        way = _way(cache, row, own[b], opp[b])
        cache.keys[row, way, 0] = own[b]
        cache.keys[row, way, 1] = opp[b]
        cache.born[row, way] = cache.generation[0]
        cache.value[row * WAYS + way] = value[b]
        cache.logits[row * WAYS + way] = logits[b]


@kernel
def _way(cache: Cache, row: int, own: np.uint64, opp: np.uint64) -> int:
    """Return the way of the set to write: the position's own if it is there, else the one written longest ago."""
    for way in range(WAYS):
        if _holds(cache, row, way, own, opp):
            return way
    way = int(cache.oldest[row])
    cache.oldest[row] = (way + 1) % WAYS
    return way
