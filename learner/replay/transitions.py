"""Transitions: a decision, its immediate reward and the position it led to, and how records become them.

A decision is a ply that the network's side chose: UNSEARCHED in the record, and not a pass.  A transition's target is

    Q(position, action) = reward + factor * max over the legal actions of Q(next position)

with factor 0 where the game ended first.  Values are from the view of the side to move in each position, so the sign of
`factor` says whether the same side moves in both: -1 in self-play (+1 if there is a pass between them), and always +1
against an opponent whose plies are not decisions, and with `skip` and `share`.  Source: Mnih et al. 2015, "Human-level
control through deep reinforcement learning"; n steps as in Sutton and Barto, "Reinforcement Learning" (2018), section
7.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learner.replay.columns import PerSample, SampleColumns
from reversi.games.bitboard import ONE, ZERO
from reversi.games.rules import UNFINISHED, game_named, legal_moves, outcome, play, square_of_action
from reversi.kernels.kernel import kernel
from reversi.record import UNSEARCHED, Records


@dataclass(frozen=True, kw_only=True)
class Transitions(SampleColumns):
    """B decisions and the positions they led to; `own` is the side that decides, `next_own` the side to move next."""

    action: PerSample[np.uint8]  # the action chosen, never a pass
    reward: PerSample[np.float32]  # from the view of `own`
    next_own: PerSample[np.uint64]  # a position with a legal move; 0 where the game ended first
    next_opp: PerSample[np.uint64]
    factor: PerSample[np.float32]  # of the next position's value; 0 where the game ended first


class TargetConfig(NamedTuple):
    """The parameters of a decision's target."""

    n_step: int
    """Decisions between a position and the one its target is bootstrapped from."""

    discount: float
    """Discount per decision."""

    win: bool
    """True: the reward is 1 for a win, otherwise 0, and the opponent's value v counts as 1 - v.  False: it is 1, 0 or
    -1, and the opponent's value counts as -v."""

    every_move: bool
    """Whether every other legal move of a decision also gives a one-step transition."""

    skip: bool = False
    """Whether the other side's decisions do not count: a decision leads to the same side's next one."""

    share: bool = False
    """Whether the next position's value is of the side that decides, whoever is to move in it."""


def transitions_of(records: Records, config: TargetConfig) -> Transitions:
    """Return the transitions of all decisions of `records`, in order; the records must have passed `check`.

    With `every_move` each is followed by those of the other legal moves.
    """
    game = game_named(records.game)
    decisions = int(((records.ply_kind == UNSEARCHED) & (records.actions != game.pass_action)).sum())
    most = decisions * (game.squares if config.every_move else 1)
    out = Transitions.empty(most, game.actions)
    count = unroll_transitions(game.id, game.pass_action, config, records.arrays(), out.arrays())
    return out[:count]


@kernel
def unroll_transitions(game_id: int, pass_action: int, config: TargetConfig, records: Records, out: Transitions) -> int:
    """Play every game through and write its transitions; return how many.

    records  every game checked, as plies are played without a check
    out      written, and long enough: one row per decision, with `every_move` one per square

    Cost: one flip per ply, and with `every_move` another one, and up to two move generations, per legal move.
    """
    n_step, discount, win = config.n_step, config.discount, config.win
    plies, actions, ply_kind = records.plies, records.actions, records.ply_kind
    longest = 0
    for g in range(plies.shape[0]):
        longest = max(longest, plies[g])
    seen_own, seen_opp = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    at = np.empty(longest, np.int64)  # the ply of each decision
    first, row = 0, 0
    for g in range(plies.shape[0]):
        own, opp = records.start_own[g], records.start_opp[g]
        decisions = 0
        for ply in range(plies[g]):
            action = actions[first + ply]
            if ply_kind[first + ply] == UNSEARCHED and action != pass_action:
                seen_own[decisions], seen_opp[decisions], at[decisions] = own, opp, ply
                decisions += 1
            own, opp = play(game_id, own, opp, action)
        for i in range(decisions):
            ply = at[i]
            later, after = n_steps_on(at[:decisions], i, n_step, config.skip)
            action = actions[first + ply]
            out.own[row], out.opp[row], out.action[row] = seen_own[i], seen_opp[i], action
            if later < decisions:
                same = config.share or (at[later] - ply) % 2 == 0
                out.next_own[row], out.next_opp[row] = seen_own[later], seen_opp[later]
                out.reward[row], out.factor[row] = judged_by_next(discount**n_step, same, win)
            else:
                own_margin = records.margin[g] if ply % 2 == 0 else -records.margin[g]
                out.next_own[row], out.next_opp[row], out.factor[row] = ZERO, ZERO, 0
                out.reward[row] = discount**after * worth(own_margin, win)
            row += 1
            if not config.every_move:
                continue
            legal = legal_moves(game_id, seen_own[i], seen_opp[i])
            for other in range(pass_action):
                if other == action or (legal >> np.uint64(square_of_action(game_id, other))) & ONE == ZERO:
                    continue
                out.own[row], out.opp[row], out.action[row] = seen_own[i], seen_opp[i], other
                own, opp = play(game_id, seen_own[i], seen_opp[i], other)
                result = outcome(game_id, own, opp)
                if result != UNFINISHED:
                    out.next_own[row], out.next_opp[row], out.factor[row] = ZERO, ZERO, 0
                    out.reward[row] = worth(-result, win)
                else:
                    passes = legal_moves(game_id, own, opp) == ZERO
                    out.next_own[row], out.next_opp[row] = (opp, own) if passes else (own, opp)
                    out.reward[row], out.factor[row] = judged_by_next(discount, config.share or passes, win)
                row += 1
        first += plies[g]
    return row


@kernel
def n_steps_on(at: NDArray[np.int64], i: int, n_step: int, skip: bool) -> tuple[int, int]:
    """Return the decision `n_step` after the `i`th, or how many there are if the game ends first, and how many lie
    after the `i`th until then.

    at    int64[D]  the plies of a game's decisions
    skip  whether only those of the same side count, which are an even number of plies away
    """
    after = 0
    for later in range(i + 1, at.shape[0]):
        if skip and (at[later] - at[i]) % 2:
            continue
        after += 1
        if after == n_step:
            return later, after
    return at.shape[0], after


@kernel
def worth(margin: int, win: bool) -> float:
    """Return the reward of a game that ends with this margin: 1, 0 or -1, or with `win` 1 or 0."""
    if margin > 0:
        return 1.0
    return -1.0 if margin < 0 and not win else 0.0


@kernel
def judged_by_next(discounted: float, same: bool, win: bool) -> tuple[float, float]:
    """Return (reward, factor) for a next position with the discount `discounted`, where `same` side moves or not."""
    if same:
        return 0.0, discounted
    return (discounted if win else 0.0), -discounted
