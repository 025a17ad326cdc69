"""How a network, a table or patterns are trained: batch, optimiser, schedule, averaging and publication of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from reversi.settings import FINITE_ABOVE_0, FROM_0_TO_BELOW_1, above, at_least, between, require, require_ranges


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """What every learner has: its batch, its rounds, its candidates and the end of its learning rate."""

    kind: Literal["network", "table", "patterns"]
    """What is trained: a `network` by gradients (`NetworkLearnerConfig`), a `table` (`TableLearnerConfig`) or
    `patterns` (`PatternLearnerConfig`)."""

    batch: Annotated[int, at_least(1)]
    """Samples per step.  AlphaZero: 4,096; a small network on few games needs fewer."""

    final_learning_rate: Annotated[float, between(0, 1)]
    """Learning rate at the end of the run as a share of the one it begins with, 0 to 1, reached by a cosine.  1:
    constant."""

    publish_every_steps: Annotated[int, at_least(1)]
    """Steps between two publications of the weights to the actors (a network's averaged ones).  AlphaZero: always."""

    candidate_every_steps: Annotated[int, at_least(1)]
    """Steps between two candidates for the gate, a multiple of `publish_every_steps`; more with `candidate_growth`.
    AlphaGo Zero: 1,000."""

    candidate_growth: Annotated[float, between(0, 1)]
    """The steps between two candidates as a share of all steps so far, 0 to 1, once that exceeds
    `candidate_every_steps`; rounded down to a multiple of it.  In a run of hours the matches then take a smaller and
    smaller share of the time.  0: the steps between candidates stay the same."""

    publish_every_s: Annotated[float | None, above(0)]
    """Seconds between two publications, 1 in the first minute of training, instead of `publish_every_steps`; null
    counts steps.  With `cluster=serial` steps count in any case, so that a run repeats exactly."""

    candidate_every_s: Annotated[float | None, above(0)]
    """Seconds between two candidates, likewise; at least `candidate_growth` of the seconds trained so far."""

    chunk_batches: Annotated[int, at_least(1)]
    """Batches drawn from the replay in one call."""

    round_s: Annotated[float, above(0)]
    """Seconds of training per round; between rounds a learner can be stopped."""

    def __post_init__(self) -> None:
        require_ranges(self, "learner")
        both = (self.publish_every_s is None) == (self.candidate_every_s is None)
        expected = "a number if learner.publish_every_s is one, else null"
        require(both, "learner.candidate_every_s", expected, self.candidate_every_s)
        require(
            self.candidate_every_steps % self.publish_every_steps == 0,
            "learner.candidate_every_steps",
            f"a multiple of learner.publish_every_steps ({self.publish_every_steps})",
            self.candidate_every_steps,
        )


@dataclass(frozen=True, kw_only=True)
class TableLearnerConfig(TrainingConfig):
    """The learner of a table, on one core; its learning rate is `algorithm.learning_rate`."""

    kind: Literal["table"]
    device: ClassVar[Literal["cpu"]] = "cpu"
    threads: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class PatternLearnerConfig(TrainingConfig):
    """The learner of patterns; its step size is `algorithm.rate`, and its batches are games."""

    kind: Literal["patterns"]
    device: ClassVar[Literal["cpu"]] = "cpu"

    threads: Annotated[int, at_least(1)]
    """Threads that learn, each from its part of a batch, in the same tables without locks (Recht et al. 2011, Hogwild);
    with 1 a run repeats exactly."""


@dataclass(frozen=True, kw_only=True)
class NetworkLearnerConfig(TrainingConfig):
    """The learner of a network: its hardware, its optimiser and its averaged weights."""

    kind: Literal["network"]

    device: Literal["auto", "cpu", "cuda"]
    """Where the network is trained; `auto` takes a GPU where torch finds one."""

    threads: Annotated[int, at_least(1)]
    """CPU threads of the training step.  A second one makes it 1.2 times as fast on a core that is otherwise idle, and
    no faster beside an actor."""

    precision: Literal["auto", "bf16", "float32"]
    """Precision of the convolutions; weights, heads and losses stay float32.  `auto` takes bf16 where the hardware
    supports it (AMX, AVX512-BF16, CUDA)."""

    optimiser: Literal["adamw", "adam", "sgd", "rmsprop", "muon"]
    """The optimiser; `muon` is Muon for the weights of convolutions and dense layers and AdamW for the rest, which
    learns most from each sample.  AlphaZero: SGD with momentum; DQN: RMSProp; KataGo: SGD with momentum, later Muon."""

    momentum: Annotated[float, FROM_0_TO_BELOW_1]
    """Momentum, 0 to below 1; for sgd and rmsprop only, the others have their own.  AlphaZero: 0.9."""

    learning_rate: Annotated[float, FINITE_ABOVE_0]
    """Learning rate after the warm-up.  (AlphaZero used SGD with momentum, from 0.2 down to 0.0002.)"""

    warmup_steps: Annotated[int, at_least(0)]
    """Steps over which the learning rate rises from 0."""

    weight_decay: Annotated[float, between(0, 1)]
    """Decay of convolution and dense weights; norms and biases have none.  AdamW and Muon decouple it from the
    gradient, the others add it to the gradient as L2.  AlphaZero: L2 of 1e-4."""

    gradient_clip: Annotated[float, above(0)]
    """Largest norm of the gradient; a larger one is scaled down to it."""

    ema_decay: Annotated[float, between(0, 1)]
    """Decay per step of the averaged weights that are published, 0 (no average) to 1.  0.999 averages over some 1,000
    steps; shorter runs need less.  AlphaZero: none; KataGo and Leela Chess Zero average."""

    prefetch: Annotated[int | None, at_least(0)]
    """Batches that a thread assembles and sends to the device ahead of the step; 0 assembles each before its step.
    null is 2 on a GPU and 0 on a CPU, where a batch takes 0.5 % of its step.  The batches are the same."""

    compile: bool
    """Whether to compile the step with torch.compile, which takes up to a minute.  Worth trying on a GPU; on a CPU the
    default step is faster.  If compilation fails, training continues without it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.momentum == 0 or self.optimiser in ("sgd", "rmsprop"),
            "learner.momentum",
            f"0 for learner.optimiser={self.optimiser}",
            self.momentum,
        )


LearnerConfig = NetworkLearnerConfig | TableLearnerConfig | PatternLearnerConfig
