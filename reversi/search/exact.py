"""Exact values, which need no network: the utility of a result, wipeouts in one move, and positions with few empty
squares, which the solver decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks, lowest_square, popcount
from reversi.games.rules import (
    TICTACTOE,
    UNFINISHED,
    action_of_square,
    legal_moves,
    outcome,
    play,
    squares_of,
    wipeouts,
)
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.search.params import SearchParams
from reversi.solver.solver import solve_small

MAX_MARGIN = 64
"""The largest margin, in discs."""

MIN_UTILITY, MAX_UTILITY = np.float32(-1), np.float32(1)
"""The range of every utility, a mix of the result and the margin as a share of the board."""


@bare_kernel
def utility(game_id: int, params: SearchParams, margin: int) -> np.float32:
    """Return the utility, in [-1, 1], of a game that ends with `margin` more discs for a side than for the other.

    (1 - margin_weight) * result + margin_weight * margin / squares, where the result is 1, 0 or -1: KataGo's score
    utility (arXiv 1902.10565) without its centre and its curve.
    """
    won = np.float32(int(margin > 0) - int(margin < 0))
    share = np.float32(margin) / np.float32(squares_of(game_id))
    return np.float32(won + params.margin_weight * (share - won))


@bare_kernel
def is_solvable(game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether the solver decides: at most `solve_empties` squares are empty, and at most a third of the board.

    Without the second condition the solver could play the whole game on 4x4 and leave nothing to learn.  False in
    tic-tac-toe.
    """
    squares = squares_of(game_id)
    empties = squares - popcount(own | opp)
    return empties <= params.solve_empties and 3 * empties <= squares and game_id != TICTACTOE


@bare_kernel
def wins_at_once(game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether `params.wipeouts` is on and the side to move has a move that flips every opposing disc."""
    return bool(params.wipeouts and wipeouts(game_id, own, opp) != ZERO)


@bare_kernel
def wipeout_utility(game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64) -> np.float32:
    """Return the utility of a wipeout: all discs, with the new one, are then the mover's."""
    return utility(game_id, params, popcount(own | opp) + 1)


@bare_kernel
def is_decided(game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether an unfinished position needs no search: the solver decides it, or a wipeout wins at once.

    Where margins count only a wipeout that fills the board decides: after another one there may be more to win.
    """
    if is_solvable(game_id, params, own, opp):
        return True
    return wins_at_once(game_id, params, own, opp) and wipeout_utility(game_id, params, own, opp) == MAX_UTILITY


@bare_kernel
def solved_utility(game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64) -> np.float32:
    """Return the utility of perfect play for the side to move; without margins only the result is solved: faster."""
    most = MAX_MARGIN if params.margin_weight > 0 else 1
    return utility(game_id, params, solve_small(game_id, own, opp, -most, most))


@bare_kernel
def solve_moves(game_id: int, own: np.uint64, opp: np.uint64, policy: NDArray[np.float32]) -> int:
    """Return the margin of perfect play in an unfinished position, and divide `policy` among the moves that reach it.

    policy  float32[A], zero before  written: equal shares for the moves with the best margin, or 1 for the pass
    """
    moves = legal_moves(game_id, own, opp)
    if moves == ZERO:
        policy[policy.shape[0] - 1] = 1
        return -solve_small(game_id, opp, own, -MAX_MARGIN, MAX_MARGIN)
    best, equals = -MAX_MARGIN - 1, 0
    while moves != ZERO:
        action = action_of_square(game_id, lowest_square(moves))
        moves &= moves - ONE
        after_own, after_opp = play(game_id, own, opp, action)
        margin = -solve_small(game_id, after_own, after_opp, -MAX_MARGIN, 1 - best)  # exact if it is at least the best
        if margin > best:
            best, equals = margin, 0
            policy[:] = 0
        if margin == best:
            policy[action] = 1
            equals += 1
    for action in range(policy.shape[0]):
        policy[action] /= np.float32(equals)
    return best


@bare_kernel
def decide_moves(
    game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64, policy: NDArray[np.float32]
) -> np.float32:
    """Return the utility of a decided position, and divide `policy` among the moves to play: the wipeouts, or, where
    the solver decides, the moves with the best margin.

    policy  float32[A], zero before  written
    """
    if is_solvable(game_id, params, own, opp):
        return utility(game_id, params, solve_moves(game_id, own, opp, policy))
    moves = wipeouts(game_id, own, opp)
    share = np.float32(1) / np.float32(popcount(moves))
    while moves != ZERO:
        policy[action_of_square(game_id, lowest_square(moves))] = share
        moves &= moves - ONE
    return wipeout_utility(game_id, params, own, opp)


@kernel
def solve_roots(
    game_id: int,
    params: SearchParams,
    own: Masks,
    opp: Masks,
    value: NDArray[np.float32],
    policy: NDArray[np.float32],
    action: NDArray[np.int32],
) -> None:
    """Write the results of unfinished positions that are decided (`is_decided`); other rows are unchanged.

    own, opp  uint64[B]
    value     float32[B]     the utility of perfect play for the side to move
    policy    float32[B, A]  as by `decide_moves`
    action    int32[B]       the first of the best moves
    """
    for b in range(own.shape[0]):
        if is_decided(game_id, params, own[b], opp[b]) and outcome(game_id, own[b], opp[b]) == UNFINISHED:
            policy[b] = 0
            value[b] = decide_moves(game_id, params, own[b], opp[b], policy[b])
            action[b] = policy[b].argmax()
