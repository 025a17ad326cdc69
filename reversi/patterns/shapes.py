"""`PatternShapes`: the shapes of a pattern network on a board, their images, and the weights that these share.

A pattern is a list of squares.  Its images under the eight symmetries, each set of squares once, are its instances, and
all instances share the pattern's weights: one for every arrangement of own, opposing and empty squares.  Where a
symmetry maps an instance to itself, the arrangements that it exchanges share a weight too.  So the eight images of a
position have the same value.

The raw index of an instance is its pattern's offset plus the sum of `state * 3**i` over its squares: 0 empty, 1 own,
2 opposing.  `canonical` gives the shared weight of every raw index.

Source: Buro, "Improving heuristic mini-max search by supervised learning" (Artificial Intelligence 134, 2002).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reversi.errors import ConfigError
from reversi.games.notation import action_name
from reversi.games.rules import Game, reversi_of_size
from reversi.games.symmetry import SYMMETRIES, action_table
from reversi.patterns.index import LARGEST_SHORT, MAX_INSTANCES, PatternIndex, index_of
from reversi.settings import require

MAX_SQUARES = 12
"""Most squares of a pattern: 531,441 raw entries a phase."""

MAX_ENTRIES = 1 << 22
"""Most raw entries of a phase."""


@dataclass(frozen=True, eq=False)
class PatternShapes:
    """The instances of the patterns of one board."""

    lookup: PatternIndex
    """What kernels need to find the raw indices of a position."""
    canonical: NDArray[np.int32]  # [R]  the shared weight of each raw index, from 0 to W - 1
    weights: int
    """Shared weights of a phase, W."""


@functools.cache
def shapes_of(patterns: tuple[str, ...], size: int) -> PatternShapes:
    """Return the shapes of `patterns`, each the names of its squares (`a1 b1 c1`), on a board of `size` squares a side.

    Raises ConfigError, which names the pattern, for one with more than 12 squares, a square twice or off the board, and
    for patterns that leave a square uncovered.
    """
    game = reversi_of_size(size)
    squares = [_squares(pattern, game) for pattern in patterns]
    entries = sum(3 ** len(pattern) for pattern in squares)
    images = [_images(pattern, game) for pattern in squares]
    instances = [instance for each in images for instance in each]
    require(entries <= MAX_ENTRIES, "network.patterns", f"at most {MAX_ENTRIES} numbers a phase", entries)
    require(len(instances) <= MAX_INSTANCES, "network.patterns", f"at most {MAX_INSTANCES} images", len(instances))
    offsets, canonical, weights = list[int](), list[NDArray[np.int64]](), 0
    for pattern, each in zip(squares, images, strict=True):
        offsets += [sum(map(len, canonical))] * len(each)
        shared, count = _shared(pattern, each[pattern])
        canonical.append(shared + weights)
        weights += count
    missing = set(range(game.squares)) - {square for instance in instances for square in instance}
    if missing:
        names = ", ".join(action_name(game, square) for square in sorted(missing))
        raise ConfigError(f"network.patterns must cover every square of {size}x{size}, got none with {names}")
    longest = max(map(len, squares))
    lookup = index_of(instances, offsets, game, np.uint16 if longest <= LARGEST_SHORT else np.uint32)
    return PatternShapes(lookup, np.concatenate(canonical).astype(np.int32), weights)


def instances_of(patterns: tuple[str, ...], size: int) -> list[tuple[int, ...]]:
    """Return the actions of every instance's squares, in the order of their powers of three."""
    game = reversi_of_size(size)
    return [instance for pattern in patterns for instance in _images(_squares(pattern, game), game)]


def _squares(pattern: str, game: Game) -> tuple[int, ...]:
    """Return the actions of the squares that `pattern` names."""
    known = {action_name(game, action): action for action in range(game.squares)}
    names = pattern.lower().split()
    unknown = [name for name in names if name not in known]
    what = f"network.patterns, {pattern!r}:"
    if unknown:
        raise ConfigError(f"{what} expected squares from a1 to {action_name(game, game.squares - 1)}, got {unknown[0]}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{what} expected every square once, got {twice} again")
    if not 1 <= len(names) <= MAX_SQUARES:
        raise ConfigError(f"{what} expected 1 to {MAX_SQUARES} squares, got {len(names)}")
    return tuple(known[name] for name in names)


def _images(pattern: tuple[int, ...], game: Game) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the pattern's instances, itself first, each with all images of the pattern on the same squares."""
    table = action_table(game)
    images: dict[frozenset[int], list[tuple[int, ...]]] = {}
    for symmetry in range(SYMMETRIES):
        image = tuple(table[symmetry, list(pattern)].tolist())
        images.setdefault(frozenset(image), []).append(image)
    return {same[0]: same for same in images.values()}


def _shared(pattern: tuple[int, ...], images: Sequence[tuple[int, ...]]) -> tuple[NDArray[np.int64], int]:
    """Return int64[3**n], the shared weight of each raw index of a pattern, and their number.

    images  of the pattern on its own squares: each is an order in which the same arrangement can be read
    """
    raw = np.arange(3 ** len(pattern))
    states = [raw // 3**i % 3 for i in range(len(pattern))]
    smallest = raw.copy()
    for image in images:
        read = sum(states[image.index(square)] * 3**i for i, square in enumerate(pattern))
        smallest = np.minimum(smallest, read)
    _, shared = np.unique(smallest, return_inverse=True)
    return shared, int(shared.max()) + 1
