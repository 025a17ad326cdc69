"""`SearchConfig`: the numbers of the tree search, with their meaning and the values of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reversi.errors import ConfigError
from reversi.settings import require, require_ranges

MAX_SIMULATIONS = 1_000_000
"""Bound of `simulations`: a tree of 8x8 Reversi reserves up to 1.4 kB of address space for each.  Sums of values in
float32 drift by a hundredth over as many, by a thousandth over a tenth of them."""

MAX_SOLVE_EMPTIES = 16
"""Bound of `solve_empties`: a leaf with more empty squares would cost as much as hundreds of evaluations."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """How a tree is grown.

    AlphaZero is Silver et al., Science 362 (2018) with its pseudo-code, AlphaGo Zero is Nature 550 (2017), AlphaGo is
    Nature 529 (2016), Gumbel AlphaZero is Danihelka et al., ICLR 2022.
    """

    simulations: int = 64
    """Visits of the root's actions per search, those of a kept subtree included; 0 is the bare network.
    AlphaZero: 800.  AlphaGo Zero: 1600.  Gumbel AlphaZero learns from 2 on and usually has 16 to 50."""

    first_simulations: int | None = None
    """Self-play: simulations when the run begins, growing in a straight line to `simulations` at its end; null is the
    same number all along.  Few win more per simulation early, many win more per position late."""

    full_share: float = 1.0
    """Self-play: playout-cap randomisation, the chance that a search is a full one, whose policy is trained on; the
    others take `fast_simulations`, without noise, for games that end sooner.  KataGo: 0.25 (Wu, arXiv 1902.10565,
    section 3.1); 1 is none."""

    fast_simulations: int = 16
    """Self-play: simulations of a search that is not a full one.  KataGo: a sixth of a full one."""

    method: Literal["puct", "gumbel"] = "puct"
    """`puct`: AlphaZero's search, whose target is the share of the visits; `gumbel`: sequential halving at the root and
    the improved policy as target, made for few simulations."""

    considered: int = 16
    """Gumbel: actions that the root draws, without replacement, to divide the simulations among; the paper's m: 16."""

    c_visit: float = 50.0
    """Gumbel: visits that the weight of values against logits begins with, `(c_visit + most visits) * c_scale` per unit
    of q = (value + 1) / 2.  The paper: 50."""

    c_scale: float = 0.5
    """Gumbel: see `c_visit`.  The paper: 1 in Go and chess, 0.1 in Atari.  Raised, it makes the target surer of itself,
    too sure where values are noise.  On 6x6 (32 simulations, 10 empty squares, solved) the targets of a trained network
    lost 0.061, 0.043, 0.033, 0.031, 0.036 of value with 0.1, 0.2, 0.5, 1, 2 (PUCT's visits 0.093, the prior 0.168), and
    the cross-entropy of the best moves was 0.064, 0.056, 0.071, 0.098, 0.132; in the middle game, and with a network
    trained for a minute, the order was much the same.  So 0.5: it loses hardly more than 1 and claims less."""

    c_puct: float = 1.5
    """Weight of prior against value in PUCT; raise it if the search overlooks moves, lower it if it wastes visits.
    AlphaZero: log((1 + N + 19652) / 19652) + 1.25, which is 1.25 to 1.29 up to 800 visits; so a constant here."""

    fpu_reduction: float = 0.2
    """First-play urgency: an unvisited action counts as its node's value less this times the root of the priors
    already visited.  KataGo: 0.2 (`fpuReductionMax`).  Leela Chess Zero: 0.33.  AlphaZero: unvisited counts as 0."""

    policy_temperature: float = 1.0
    """Priors are the softmax of the network's logits divided by this: above 1 a search of few simulations looks at
    moves that the network thinks little of.  1 with Gumbel, which improves the policy as it is.  AlphaZero: 1.  Leela
    Chess Zero: 1.36 (`PolicyTemperature`)."""

    min_visit_share: float = 1.0
    """PUCT: an action is played only with at least this share of the most visits, and among such the one with the best
    mean value; 1 plays the most visited.  AlphaZero: 1.  KataGo and Leela Zero compare lower confidence bounds of the
    values likewise, KataGo from a share of 0.15 (`minVisitPropForLCB`)."""

    dirichlet_alpha: float = 10.0
    """Self-play: an action's concentration in the root noise is this divided by the number of legal actions, so that
    noise keeps its shape whatever their number.  AlphaZero: 0.3 in chess and 0.03 in Go, about 10 divided by the usual
    number."""

    dirichlet_weight: float = 0.25
    """Self-play: share of the noise in the root's priors; 0 is none.  AlphaZero: 0.25."""

    margin_weight: float = 0.0
    """Share of the margin, in shares of the board, in the utility that a search maximises; the rest is the result, 1, 0
    or -1.  A network that is paid for winning does not care for discs: a little of it ends won games well and lost ones
    gracefully.  AlphaZero: 0.  KataGo: a curve of the score, weights 0.1 and 0.3 (`staticScoreUtilityFactor`)."""

    solve_empties: int = 0
    """Positions with at most so many empty squares, and no more than a third of the board, are decided by the exact
    solver: leaves get their true utility, and at the root the best move is known; 0 turns it off, since it is not
    "zero".  On 6x6 a leaf costs 2, 8 and 35 us with 8, 10 and 12 empty squares, on 8x8 3, 11 and 46; some six times as
    much where margins count.  Without effect in tic-tac-toe.  AlphaZero: 0."""

    bounds: bool = False
    """PUCT: results that are certain, of finished games and solved positions, bound the nodes above, as in
    score-bounded Monte Carlo tree search (`bounds.py`): moves that cannot be better are not searched, and a search
    whose root is settled ends.  AlphaZero: false."""

    wipeouts: bool = False
    """Where the side to move can turn every disc of the other, the game is won, and the network is not asked: a win
    that comes early, in one move, and from positions that look lost.  Where margins count it is no more than a lower
    bound.  Without effect in tic-tac-toe.  AlphaZero: false."""

    leaves: int = 1
    """Leaves gathered per tree and round: 1 for many games at once, 8-32 where one game must fill a batch alone."""

    virtual_loss: int = 1
    """Losses that a leaf under evaluation counts as, so that the next leaf of its round is sought elsewhere.
    AlphaGo: 3.  KataGo: 1.  With Gumbel it is a number of visits and no loss.  Without effect if `leaves` is 1."""

    keep_subtree: bool = False
    """Self-play: go on with the subtree of the action played.  AlphaGo Zero: true.  False gives every ply the same
    number of new evaluations, and root noise that no earlier visit dilutes."""

    def __post_init__(self) -> None:
        require(self.method in ("puct", "gumbel"), "search.method", "one of puct, gumbel", self.method)
        if self.method == "gumbel" and self.keep_subtree:
            raise ConfigError(
                "search.keep_subtree must be false with search.method=gumbel: its schedule begins at an unvisited root"
            )
        if self.method == "gumbel" and self.bounds:
            raise ConfigError("search.bounds must be false with search.method=gumbel: its schedule visits every move")
        if self.method == "gumbel":
            temperature = self.policy_temperature
            require(temperature == 1, "search.policy_temperature", "1 with search.method=gumbel", temperature)
        if self.first_simulations is not None:
            require_ranges(self, "search", first_simulations=(0, self.simulations))
        for name, most in (("full_share", 1), ("min_visit_share", 1), ("dirichlet_alpha", 1000)):
            value = getattr(self, name)
            require(0 < value <= most, f"search.{name}", f"above 0 and at most {most}", value)
        require_ranges(
            self,
            "search",
            simulations=(0, MAX_SIMULATIONS),
            fast_simulations=(0, MAX_SIMULATIONS),
            considered=(1, 64),
            c_visit=(0, 10_000),
            c_scale=(0, 100),
            c_puct=(0, 100),
            fpu_reduction=(0, 2),
            policy_temperature=(0.1, 100),
            dirichlet_weight=(0, 1),
            margin_weight=(0, 1),
            solve_empties=(0, MAX_SOLVE_EMPTIES),
            leaves=(1, 1024),
            virtual_loss=(0, 100),
        )
