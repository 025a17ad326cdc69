"""Which kind of samples each algorithm learns from, and how records become them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from learner.algorithms.config import AlgorithmConfig, DqnConfig, QTableConfig
from learner.replay.columns import SampleColumns
from learner.replay.samples import Samples, samples_of
from learner.replay.transitions import TargetConfig, Transitions, transitions_of
from reversi.record import Records


@dataclass(frozen=True)
class SampleKind:
    """One kind of sample."""

    name: str
    """Its name in saved replays."""

    columns: type[SampleColumns]
    """The class of its samples."""

    of: Callable[[Records], SampleColumns]
    """Makes samples from checked records."""


def sample_kind(algorithm: AlgorithmConfig | None) -> SampleKind:
    """Return the kind of samples that `algorithm` learns from; None stands for any that learns from positions."""
    if isinstance(algorithm, DqnConfig):
        config = TargetConfig(
            n_step=algorithm.n_step,
            discount=algorithm.discount,
            win=algorithm.reward == "win",
            every_move=algorithm.every_move,
        )
    elif isinstance(algorithm, QTableConfig):
        config = TargetConfig(n_step=1, discount=algorithm.discount, win=False, every_move=False)
    else:
        return SampleKind("positions", Samples, samples_of)
    return SampleKind("transitions", Transitions, lambda records: transitions_of(records, config))
