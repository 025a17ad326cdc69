"""What needs no network: the utility of a result, positions that can be won at once by turning every disc, and those
with few empty squares, which the solver decides."""

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
from reversi.kernel import bare_kernel, kernel
from reversi.search.endgame import solve_small
from reversi.search.rule import Rule

MOST = 64
"""No margin is larger."""


@bare_kernel
def utility(game_id: int, rule: Rule, margin: int) -> np.float32:
    """Return what a result is worth to a side that ends with `margin` more discs than the other, in [-1, 1].

    The result, 1, 0 or -1, and in place of `margin_weight` of it the margin in shares of the board: KataGo's score
    utility (arXiv 1902.10565) without its centre and its curve.
    """
    won = np.float32(int(margin > 0) - int(margin < 0))
    share = np.float32(margin) / np.float32(squares_of(game_id))
    return np.float32(won + rule.margin_weight * (share - won))


@bare_kernel
def is_solvable(game_id: int, rule: Rule, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether so few squares are empty that the solver decides: `solve_empties`, and a third of the board.

    On 4x4 the solver could play the whole game, and nothing would be left to be learned.  Never in tic-tac-toe.
    """
    squares = squares_of(game_id)
    empties = squares - popcount(own | opp)
    return empties <= rule.solve_empties and 3 * empties <= squares and game_id != TICTACTOE


@bare_kernel
def wins_at_once(game_id: int, rule: Rule, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether `rule.wipeouts` count and the side to move has one."""
    return bool(rule.wipeouts and wipeouts(game_id, own, opp) != ZERO)


@bare_kernel
def wipeout_utility(game_id: int, rule: Rule, own: np.uint64, opp: np.uint64) -> np.float32:
    """Return the utility of turning every disc of the other side: all discs are the mover's then, one of them new."""
    return utility(game_id, rule, popcount(own | opp) + 1)


@bare_kernel
def is_decided(game_id: int, rule: Rule, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether an unfinished position needs no search: the solver decides, or turning every disc wins at once.

    Where margins count, more may be had than by turning every disc now.
    """
    won = rule.margin_weight == 0 and wins_at_once(game_id, rule, own, opp)
    return is_solvable(game_id, rule, own, opp) or won


@bare_kernel
def solved_utility(game_id: int, rule: Rule, own: np.uint64, opp: np.uint64) -> np.float32:
    """Return the utility of perfect play for the side to move; the result alone is solved faster than the margin."""
    most = MOST if rule.margin_weight > 0 else 1
    return utility(game_id, rule, solve_small(game_id, own, opp, -most, most))


@bare_kernel
def solve_moves(game_id: int, own: np.uint64, opp: np.uint64, policy: NDArray[np.float32]) -> int:
    """Return the margin of perfect play in an unfinished position, and share `policy` among the moves that reach it.

    policy  float32[A], zero before  written: equal shares of the moves with the best margin, or the pass
    """
    moves = legal_moves(game_id, own, opp)
    if moves == ZERO:
        policy[policy.shape[0] - 1] = 1
        return -solve_small(game_id, opp, own, -MOST, MOST)
    best, equals = -MOST - 1, 0
    while moves != ZERO:
        action = action_of_square(game_id, lowest_square(moves))
        moves &= moves - ONE
        after_own, after_opp = play(game_id, own, opp, action)
        margin = -solve_small(game_id, after_own, after_opp, -MOST, 1 - best)  # exact if it is at least the best
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
def decide_moves(game_id: int, rule: Rule, own: np.uint64, opp: np.uint64, policy: NDArray[np.float32]) -> np.float32:
    """Return the utility of a decided position, and share `policy` among the moves to play: those that turn every disc,
    or, where the solver decides, those with the best margin.

    policy  float32[A], zero before  written
    """
    if is_solvable(game_id, rule, own, opp):
        return utility(game_id, rule, solve_moves(game_id, own, opp, policy))
    moves = wipeouts(game_id, own, opp)
    share = np.float32(1) / np.float32(popcount(moves))
    while moves != ZERO:
        policy[action_of_square(game_id, lowest_square(moves))] = share
        moves &= moves - ONE
    return wipeout_utility(game_id, rule, own, opp)


@kernel
def solve_roots(
    game_id: int,
    rule: Rule,
    own: Masks,
    opp: Masks,
    value: NDArray[np.float32],
    policy: NDArray[np.float32],
    action: NDArray[np.int32],
) -> None:
    """Answer for the unfinished positions that are decided, and leave the others alone.

    own, opp  uint64[B]
    value     float32[B]                 written: the utility of perfect play for the side to move
    policy    float32[B, A], zero there  written: as by `decide_moves`
    action    int32[B]                   written: the first of the best moves
    """
    for b in range(own.shape[0]):
        if is_decided(game_id, rule, own[b], opp[b]) and outcome(game_id, own[b], opp[b]) == UNFINISHED:
            value[b] = decide_moves(game_id, rule, own[b], opp[b], policy[b])
            action[b] = policy[b].argmax()
