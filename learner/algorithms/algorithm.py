"""What an algorithm is to the learner: a `Training`; and what one that trains by gradients is to its trainer.

Adding one: its configuration in `config.py`, its samples in `learner/replay/kinds.py`, its losses in `losses.py`, and
either an `Objective`, which the `Trainer` of `learner/trainer.py` follows, or a `Training` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from learner.algorithms.losses import Losses
from learner.replay.rows import Rows
from reversi.model.weights import Weights

if TYPE_CHECKING:
    from torch import Tensor, nn


class Training(Protocol):
    """Whatever becomes better by samples, one step at a time.  Batches and steps' results are its own business."""

    step_count: int
    """Steps since the run began."""

    last_good: str
    """What an error names as the place to go back to."""

    ahead: int
    """Batches that are worth making ahead of the steps, on another thread."""

    def batch(self, samples: Rows, rng: np.random.Generator) -> Any:
        """Return samples as a step wants them, on their way to the device; may run on another thread than `step`."""

    def step(self, batch: Any, progress: float) -> Any:
        """Learn from one batch, `progress` (0 to 1) into the run; the result is for `mean`."""

    def mean(self, steps: Sequence[Any]) -> tuple[Losses, float]:
        """Return the mean losses and the mean norm of the gradient (0 where there is none) of steps, at least one."""

    def learning_rate(self, progress: float) -> float:
        """Return the learning rate of the next step."""

    def averaged(self, version: int) -> Weights:
        """Return the averaged weights as they play."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state by name."""

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Take back what `arrays()` gave after so many steps."""


class Objective(Protocol):
    """What a network is trained for."""

    def batch(self, samples: Rows, rng: np.random.Generator, pinned: bool) -> Any:
        """Return samples as a `Batch` in new memory, `pinned` if a GPU shall copy it."""

    def losses(self, outputs: Any, batch: Any) -> Tensor:
        """Return f32[K], the algorithm's losses in the order of their names; the first is to be minimised."""

    def before_step(self, step: int, network: nn.Module) -> None:
        """Look at the network as it is before step number `step`."""

    def played(self, weights: Weights) -> Weights:
        """Return the network's weights as they are published, where what it learned is not what a player reads."""

    def arrays(self) -> dict[str, Tensor]:
        """Return what of the objective is part of the training's state, by name."""

    def restore(self, arrays: dict[str, Tensor]) -> None:
        """Take back what `arrays()` gave."""
