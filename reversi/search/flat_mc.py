"""Random playouts, and flat Monte Carlo: the move whose uniformly random continuations win most, without a tree.

Playouts run in lockstep, a block of positions at a time: one loop finds all legal moves, one draws, one plays.  In a
loop the positions hide each other's latencies, which makes it 1.5 times as fast as one playout after another (790,000
against 530,000 8x8 games/s on one core of a Xeon with AVX-512).  Every playout has a random stream of its own,
numbered by its place in the call, so a result depends on the seed and not on the block size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks, lowest_square, popcount
from reversi.games.rules import UNFINISHED, action_of_square, legal_masks, legal_moves, outcome, play
from reversi.kernel import kernel
from reversi.search.chance import random_index, stream

BLOCK = 64
"""Playouts in lockstep; from 16 to 256 the speed is the same within 5 %."""


@kernel
def random_square(legal: np.uint64, start: np.uint64, draw: int) -> int:
    """Return a square of the mask `legal` (not empty), each with the same chance."""
    for _ in range(random_index(start, draw, popcount(legal))):
        legal &= legal - ONE
    return lowest_square(legal)


@kernel
def play_out(game_id: int, own: Masks, opp: Masks, streams: Masks, margins: NDArray[np.int16]) -> None:
    """Play B positions to their end, every legal move with the same chance.

    own, opp  uint64[B]  the positions (finished ones are allowed); overwritten with scratch
    streams   uint64[B]  a random stream for each, from `stream`; overwritten with scratch
    margins   int16[B]   written: own - opp at the end, from the view of the side to move at the start

    Positions that end are replaced by the last live one, so the live ones stay together.
    """
    live = own.shape[0]
    lane = np.arange(live)  # where the position's margin goes
    sign = np.ones(live, np.int8)  # -1 where the other side is to move
    legal = np.empty(live, np.uint64)
    square = np.empty(live, np.int64)
    ply = 0
    while live > 0:
        legal_masks(game_id, own[:live], opp[:live], legal[:live])
        b = 0
        while b < live:
            if legal[b] == ZERO:
                margin = outcome(game_id, own[b], opp[b])
                if margin != UNFINISHED:
                    margins[lane[b]] = sign[b] * margin
                    live -= 1
                    own[b], opp[b], streams[b], legal[b] = own[live], opp[live], streams[live], legal[live]
                    lane[b], sign[b] = lane[live], sign[live]
                    continue
                own[b], opp[b] = opp[b], own[b]
                sign[b] = -sign[b]
                legal[b] = legal_moves(game_id, own[b], opp[b])
            b += 1
        for b in range(live):
            square[b] = random_square(legal[b], streams[b], ply)
        ply += 1
        for b in range(live):
            own[b], opp[b] = play(game_id, own[b], opp[b], action_of_square(game_id, square[b]))
            sign[b] = -sign[b]


@kernel
def random_playouts(game_id: int, own: np.uint64, opp: np.uint64, seed: np.uint64, margins: NDArray[np.int16]) -> None:
    """Play one position to its end `len(margins)` times by uniformly random moves.

    margins  int16[n]  written: own - opp at the end, from the view of the side to move in the position
    """
    block_own, block_opp, streams = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    for start in range(0, margins.shape[0], BLOCK):
        size = min(BLOCK, margins.shape[0] - start)
        block_own[:size] = own
        block_opp[:size] = opp
        for b in range(size):
            streams[b] = stream(seed, start + b)
        play_out(game_id, block_own[:size], block_opp[:size], streams[:size], margins[start : start + size])


@kernel
def flat_monte_carlo(
    game_id: int,
    own: Masks,
    opp: Masks,
    playouts: int,
    seed: np.uint64,
    wins: NDArray[np.int32],
    tried: NDArray[np.int32],
) -> None:
    """Spend `playouts` random games on each of B unfinished positions, spread evenly over the legal actions.

    own, opp     uint64[B]
    tried        int32[B, A], 0 before  written: playouts begun by each action; no two legal ones differ by more than 1
    wins         int32[B, A], 0 before  written: those the side to move won, less those it lost

    If there are more actions than playouts, or they do not divide, the extra ones go to a run of actions that starts at
    random.  A position with one legal action has nothing to decide: that action counts as tried once, unplayed.
    """
    block_own, block_opp, streams = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    position, action = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    margins = np.empty(BLOCK, np.int16)
    candidates = np.empty(wins.shape[1], np.int64)
    filled = 0
    for b in range(own.shape[0]):
        count = list_actions(game_id, own[b], opp[b], candidates)
        if count == 1:
            tried[b, candidates[0]] = 1
            continue
        first = random_index(stream(seed, b * (playouts + 1)), 0, count)
        for playout in range(playouts):
            position[filled], action[filled] = b, candidates[(first + playout) % count]
            block_own[filled], block_opp[filled] = play(game_id, own[b], opp[b], action[filled])
            streams[filled] = stream(seed, b * (playouts + 1) + 1 + playout)
            filled += 1
            if filled == BLOCK:
                play_out(game_id, block_own, block_opp, streams, margins)
                _count(position, action, margins, wins, tried)
                filled = 0
    play_out(game_id, block_own[:filled], block_opp[:filled], streams[:filled], margins[:filled])
    _count(position[:filled], action[:filled], margins[:filled], wins, tried)


@kernel
def list_actions(game_id: int, own: np.uint64, opp: np.uint64, out: NDArray[np.int64]) -> int:
    """Write the legal actions of an unfinished position to the front of `out` (int64[A]); return how many there are."""
    legal = legal_moves(game_id, own, opp)
    if legal == ZERO:
        out[0] = action_of_square(game_id, 64)
        return 1
    count = 0
    while legal != ZERO:
        out[count] = action_of_square(game_id, lowest_square(legal))
        legal &= legal - ONE
        count += 1
    return count


@kernel
def _count(
    position: NDArray[np.int64],
    action: NDArray[np.int64],
    margins: NDArray[np.int16],
    wins: NDArray[np.int32],
    tried: NDArray[np.int32],
) -> None:
    """Add a block's results; `margins` are the other side's, since they count from the position after the action."""
    for b in range(margins.shape[0]):
        tried[position[b], action[b]] += 1
        wins[position[b], action[b]] += int(margins[b] < 0) - int(margins[b] > 0)
