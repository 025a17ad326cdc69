"""Which kind of samples each algorithm learns from."""

from __future__ import annotations

from functools import partial

from learner.algorithms.config import AlgorithmConfig, DqnConfig, QTableConfig, TdConfig
from learner.replay.columns import SampleKind
from learner.replay.game_samples import GAMES
from learner.replay.samples import POSITIONS
from learner.replay.transitions import TargetConfig, Transitions, transitions_of


def sample_kind(algorithm: AlgorithmConfig) -> SampleKind:
    """Return the kind of samples that `algorithm` learns from; it can be pickled."""
    if isinstance(algorithm, TdConfig):
        return GAMES
    if isinstance(algorithm, DqnConfig):
        config = TargetConfig(
            n_step=algorithm.n_step,
            discount=algorithm.discount,
            win=algorithm.reward == "win" and algorithm.opponent_turns != "share",
            every_move=algorithm.every_move,
            skip=algorithm.opponent_turns == "skip",
            share=algorithm.opponent_turns == "share",
        )
    elif isinstance(algorithm, QTableConfig):
        config = TargetConfig(n_step=1, discount=algorithm.discount, win=False, every_move=False)
    else:
        return POSITIONS
    return SampleKind("transitions", Transitions, partial(transitions_of, config=config))
