"""The interfaces of an algorithm: `Training` for the learner, `Objective` for the trainer of networks.

To add one, write its configuration in `config.py`, its samples in `sample_kinds.py`, its report in `reports.py`, and
either an `Objective`, which `learner/training/trainer.py` minimises, or a `Training` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from learner.algorithms.reports import Losses
from learner.replay.columns import SampleColumns
from reversi.model.weights import Weights

if TYPE_CHECKING:
    from torch import Tensor, nn


class Training(Protocol):
    """A model trained by samples, one step at a time.  The types of batches and step results are its own."""

    step_count: int
    """Steps since the run began."""

    ahead: int
    """Batches to assemble ahead of the steps on another thread."""

    def batch(self, samples: SampleColumns, rng: np.random.Generator) -> Any:
        """Return the batch of `samples`, its transfer to the device started; may run on another thread than `step`."""

    def step(self, batch: Any, progress: float) -> Any:
        """Train on one batch at `progress` (0 to 1) of the run; the result is an argument of `mean`."""

    def mean(self, steps: Sequence[Any]) -> tuple[Losses, float]:
        """Return the mean losses and the mean gradient norm (0 without a gradient) of one or more steps."""

    def learning_rate(self, progress: float) -> float:
        """Return the learning rate of the next step."""

    def averaged(self, version: int) -> Weights:
        """Return the averaged weights for inference."""

    def begin_from(self, weights: Weights) -> None:
        """Begin with the weights of a model of the same game and network, before the first step; all else is new."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays."""

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Restore `arrays()` as of `step_count` steps."""


class Objective(Protocol):
    """How samples become a batch, and a batch losses.  The other methods are for objectives with state of their own."""

    def batch(self, samples: SampleColumns, rng: np.random.Generator, pinned: bool) -> Any:
        """Return samples as a `Batch` in new memory, pinned for a copy to a GPU if `pinned`."""

    def outputs(self, network: nn.Module, planes: Tensor) -> Any:
        """Return what `losses` needs of `network` for `planes` f32[B, C, N, N]."""
        return network(planes)

    def losses(self, outputs: Any, batch: Any) -> Tensor:
        """Return f32[K], the losses in the field order of the algorithm's report; the first is minimised."""

    def before_step(self, step: int, network: nn.Module) -> None:
        """Hook called with the network before step `step`."""
        return

    def played(self, weights: Weights) -> Weights:
        """Return the weights converted from what was trained to what players read."""
        return weights

    def trained(self, weights: Weights) -> Weights:
        """Return the inverse of `played`."""
        return weights

    def arrays(self) -> dict[str, Tensor]:
        """Return the objective's own state as named tensors."""
        return {}

    def restore(self, arrays: dict[str, Tensor]) -> None:
        """Restore `arrays()`."""
        return
