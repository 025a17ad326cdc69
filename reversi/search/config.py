"""`SearchConfig`: the parameters of the tree search, with their meaning and the papers' values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from reversi.errors import ConfigError
from reversi.settings import above, between, require, require_ranges

MAX_SIMULATIONS = 1_000_000
"""Maximum of `simulations`: a tree of 8x8 Reversi reserves up to 1.7 kB of address space for each.  Over this many,
sums of values in float32 drift by a hundredth; over a tenth of them, by a thousandth."""

MAX_SOLVE_EMPTIES = 16
"""Maximum of `solve_empties`: a leaf with more empty squares would cost as much as hundreds of evaluations."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Parameters of the tree search.  Those of self-play are in `conf/search`; `puct` and `gumbel` make plain searches.

    AlphaZero is Silver et al., Science 362 (2018) with its pseudo-code, AlphaGo Zero is Nature 550 (2017), AlphaGo is
    Nature 529 (2016), Gumbel AlphaZero is Danihelka et al., ICLR 2022.
    """

    simulations: Annotated[int, between(0, MAX_SIMULATIONS)]
    """Visits of the root's actions per search, those of a kept subtree included; 0 is the bare network.
    AlphaZero: 800.  AlphaGo Zero: 1600.  Gumbel AlphaZero learns from 2 on and usually has 16 to 50."""

    first_simulations: int | None
    """Self-play: simulations at the start of the run, growing linearly to `simulations` at its end; null keeps
    `simulations` throughout.  Early in a run few simulations gain more per simulation; late, many gain more per
    position."""

    full_share: Annotated[float, above(0, 1)]
    """Self-play: playout-cap randomisation: the probability that a search is full and its policy a training target.
    The other searches take `fast_simulations`, without noise, so that games end sooner.  KataGo: 0.25 (Wu, arXiv
    1902.10565, section 3.1); 1 turns it off."""

    fast_simulations: Annotated[int, between(0, MAX_SIMULATIONS)]
    """Self-play: simulations of a search that is not full.  KataGo: a sixth of a full search."""

    method: Literal["puct", "gumbel"]
    """`puct`: AlphaZero's search, whose policy target is each action's share of the visits; `gumbel`: sequential
    halving at the root with the improved policy as target, designed for few simulations."""

    considered: Annotated[int, between(1, 64)]
    """Gumbel: actions that the root samples without replacement to divide the simulations among; the paper's m: 16."""

    c_visit: Annotated[float, between(0, 10_000)]
    """Gumbel: offset in the weight of values against logits, `(c_visit + most visits) * c_scale` per unit of
    q = (value + 1) / 2.  The paper: 50."""

    c_scale: Annotated[float, between(0, 100)]
    """Gumbel: see `c_visit`.  The paper: 1 in Go and chess, 0.1 in Atari.  A larger value makes the target more
    confident, too confident where values are noise.  On 6x6 (32 simulations, 10 empty squares, solved) the targets of a
    trained network lost 0.061, 0.043, 0.033, 0.031, 0.036 of value with 0.1, 0.2, 0.5, 1, 2 (PUCT's visits 0.093, the
    prior 0.168), and the cross-entropy of the best moves was 0.064, 0.056, 0.071, 0.098, 0.132; in the middle game, and
    with a network trained for a minute, the order was nearly the same.  So 0.5: it loses hardly more value than 1 and
    is less overconfident."""

    c_puct: Annotated[float, between(0, 100)]
    """Weight of prior against value in PUCT; raise it if the search overlooks moves, lower it if it wastes visits.
    AlphaZero: log((1 + N + 19652) / 19652) + 1.25, which is 1.25 to 1.29 up to 800 visits; so a constant here."""

    fpu_reduction: Annotated[float, between(0, 2)]
    """First-play urgency: the value of an unvisited action is its node's value minus this times the square root of the
    sum of the visited actions' priors.  KataGo: 0.2 (`fpuReductionMax`).  Leela Chess Zero: 0.33.  AlphaZero: an
    unvisited action has the value 0."""

    policy_temperature: Annotated[float, between(0.1, 100)]
    """Priors are the softmax of the network's logits divided by this: above 1 a search of few simulations also visits
    moves with low network priors.  Must be 1 with Gumbel.  AlphaZero: 1.  Leela Chess Zero: 1.36
    (`PolicyTemperature`)."""

    min_visit_share: Annotated[float, above(0, 1)]
    """PUCT: the action played is the one with the best mean value among those with at least this share of the most
    visits; 1 plays the most visited.  AlphaZero: 1.  KataGo and Leela Zero compare lower confidence bounds of the
    values in the same way, KataGo from a share of 0.15 (`minVisitPropForLCB`)."""

    backup_temperature: Annotated[float, between(0, 100)]
    """PUCT: 0 backs up means, as AlphaZero does: a node's value is that of all simulations through it, those spent on
    finding out that a move is bad included, so values are too close to 0.  Above 0 a move counts less in its node's
    value by the factor e for every `backup_temperature` that its mean is below the best one's (`tree.py`).  On labelled
    6x6 positions 0.2 takes a third off the value's error at 64 simulations and almost half at 400; the moves played are
    as strong.  With a network of patterns a node has the value of its best move, and an unvisited action one of its
    own: neither this nor `fpu_reduction` has an effect."""

    dirichlet_alpha: Annotated[float, above(0, 1000)]
    """Self-play: an action's concentration in the root noise is this divided by the number of legal actions, so that
    the noise is similar for any number of them.  AlphaZero: 0.3 in chess and 0.03 in Go, about 10 divided by the
    typical number."""

    dirichlet_weight: Annotated[float, between(0, 1)]
    """Self-play: weight of the noise in the root's priors; 0 turns it off.  AlphaZero: 0.25."""

    margin_weight: Annotated[float, between(0, 1)]
    """Weight of the margin, as a share of the board, in the utility that a search maximises; the rest is the result, 1,
    0 or -1.  A network trained on results alone is indifferent to discs; a small weight makes it win by more and lose
    by less.  AlphaZero: 0.  KataGo: a curve of the score, weights 0.1 and 0.3 (`staticScoreUtilityFactor`)."""

    solve_empties: Annotated[int, between(0, MAX_SOLVE_EMPTIES)]
    """The exact solver decides positions with at most this many empty squares, and at most a third of the board: leaves
    get their exact utility, and at the root the best move is known.  0 turns it off: solver knowledge is not part of
    AlphaZero.  On 6x6 a leaf costs 2, 8 and 35 us with 8, 10 and 12 empty squares, on 8x8 3, 11 and 46; about six times
    as much where margins count.  No effect in tic-tac-toe."""

    bounds: bool
    """PUCT: exact results of finished games and solved positions bound the nodes above them, as in score-bounded Monte
    Carlo tree search (`bounds.py`): moves that cannot be better are not searched, and the search ends once the root is
    settled.  AlphaZero: false."""

    wipeouts: bool
    """A position whose side to move can flip every opposing disc is won, and is not sent to the network: such wins come
    early, take one move, and arise in positions that look lost.  Where margins count a wipeout that leaves squares
    empty is only a lower bound.  No effect in tic-tac-toe.  AlphaZero: false."""

    leaves: Annotated[int, between(1, 1024)]
    """Leaves gathered per tree and round: 1 for many games at once, 8-32 where a single game must fill the batch."""

    virtual_loss: Annotated[int, between(0, 100)]
    """Losses that a leaf under evaluation counts as, so that the other simulations of its round go elsewhere.  AlphaGo:
    3.  KataGo: 1.  With Gumbel they count as visits, not as losses.  No effect if `leaves` is 1."""

    keep_subtree: bool
    """Self-play: keep the subtree of the action played.  AlphaGo Zero: true.  With false every ply gets the same number
    of new evaluations, and no earlier visits dilute the root noise."""

    @classmethod
    def puct(cls, *, simulations: int, c_puct: float, fpu_reduction: float, **options: Any) -> SearchConfig:
        """Return a search by PUCT with nothing added to it but `options`, such as `solve_empties=10`."""
        chosen = {"simulations": simulations, "c_puct": c_puct, "fpu_reduction": fpu_reduction}
        return cls(**(_NOTHING_ADDED | {"considered": 1, "c_visit": 0, "c_scale": 0} | chosen | options))

    @classmethod
    def gumbel(
        cls, *, simulations: int, considered: int, c_visit: float, c_scale: float, **options: Any
    ) -> SearchConfig:
        """Return a Gumbel search with nothing added to it but `options`."""
        chosen = {"simulations": simulations, "considered": considered, "c_visit": c_visit, "c_scale": c_scale}
        return cls(**(_NOTHING_ADDED | {"method": "gumbel", "c_puct": 0, "fpu_reduction": 0} | chosen | options))

    def __post_init__(self) -> None:
        require(self.method in ("puct", "gumbel"), "search.method", "one of puct, gumbel", self.method)
        if self.method == "gumbel" and self.keep_subtree:
            raise ConfigError(
                "search.keep_subtree must be false with search.method=gumbel: its schedule begins at an unvisited root"
            )
        if self.method == "gumbel" and self.bounds:
            raise ConfigError("search.bounds must be false with search.method=gumbel: its schedule visits every move")
        if self.method == "gumbel" and self.backup_temperature > 0:
            raise ConfigError("search.backup_temperature must be 0 with search.method=gumbel: it has values of its own")
        if self.method == "gumbel":
            temperature = self.policy_temperature
            require(temperature == 1, "search.policy_temperature", "1 with search.method=gumbel", temperature)
        first = self.first_simulations
        fits = first is None or 0 <= first <= self.simulations
        require(fits, "search.first_simulations", f"from 0 to {self.simulations}", first)
        require_ranges(self, "search")


_NOTHING_ADDED: dict[str, Any] = {
    "method": "puct",
    "first_simulations": None,
    "full_share": 1.0,
    "fast_simulations": 0,
    "policy_temperature": 1.0,
    "min_visit_share": 1.0,
    "backup_temperature": 0.0,
    "dirichlet_alpha": 1.0,
    "dirichlet_weight": 0.0,
    "margin_weight": 0.0,
    "solve_empties": 0,
    "bounds": False,
    "wipeouts": False,
    "leaves": 1,
    "virtual_loss": 1,
    "keep_subtree": False,
}
"""The value of each option with which it has no effect."""
