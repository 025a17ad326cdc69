"""Counter-based random numbers for kernels: numbered draws of numbered streams, independent of the order of drawing.

Every game, playout or tree has its own stream; a draw is identified by the stream and its number.  The generator is
SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np

from reversi.games.bitboard import ONE, lowest_square, popcount
from reversi.kernels.kernel import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@kernel
def scramble(counter: np.uint64) -> np.uint64:
    """Return SplitMix64's output for a counter: a 64-bit bijection in which any input bit flips half of the output."""
    counter = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    counter = (counter ^ (counter >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return counter ^ (counter >> np.uint64(31))


@kernel
def stream(seed: np.uint64, number: int) -> np.uint64:
    """Return the starting state of random stream `number` of `seed`."""
    return scramble(scramble(seed) + np.uint64(number) * _GOLDEN)


@kernel
def random_index(start: np.uint64, draw: int, count: int) -> int:
    """Return draw number `draw` (from 0) of the stream that begins at `start`, as an index below `count` (< 2**32).

    The high half of a 32-bit draw times `count` (Lemire, arXiv 1805.10941, without rejection: every index's probability
    is exact within 2**-32).
    """
    return int(((scramble(start + np.uint64(draw + 1) * _GOLDEN) >> _HALF) * np.uint64(count)) >> _HALF)


@kernel
def random_square(legal: np.uint64, start: np.uint64, draw: int) -> int:
    """Return a uniformly random square of the mask `legal` (not empty)."""
    for _ in range(random_index(start, draw, popcount(legal))):
        legal &= legal - ONE
    return lowest_square(legal)


@kernel
def random_uniform(start: np.uint64, draw: int) -> float:
    """Return draw number `draw` (from 0) of the stream that begins at `start`, as a number in (0, 1)."""
    return (float(scramble(start + np.uint64(draw + 1) * _GOLDEN) >> np.uint64(11)) + 0.5) * 2.0**-53


@kernel
def random_gumbel(start: np.uint64, draw: int) -> float:
    """Return a draw of the standard Gumbel distribution."""
    return float(-np.log(-np.log(random_uniform(start, draw))))


@kernel
def random_gamma(start: np.uint64, shape: float) -> float:
    """Return a draw of the gamma distribution with `shape` > 0 and scale 1; nothing else may draw from `start`.

    Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000), section 4; for shapes
    below 1 their section 6, which multiplies by a power of a uniform number.  Normal draws use Box-Muller.
    """
    draw = 1
    boosted = shape + 1.0 if shape < 1.0 else shape
    d = boosted - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        radius = np.sqrt(-2.0 * np.log(random_uniform(start, draw)))
        x = radius * np.cos(2.0 * np.pi * random_uniform(start, draw + 1))
        v = (1.0 + c * x) ** 3
        u = random_uniform(start, draw + 2)
        draw += 3
        if v > 0 and np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
            break
    return float(d * v * random_uniform(start, 0) ** (1.0 / shape) if shape < 1.0 else d * v)
