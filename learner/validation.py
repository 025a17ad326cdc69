"""Games that are never trained on say how good the network is, and when to stop.

Every so many steps the averaged network looks at some thousands of their positions, always the same ones.  The network
with the smallest loss so far is kept: it is the candidate, and so many looks later without a better one training ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from learner.algorithms.config import SupervisedConfig
from learner.algorithms.losses import ValidationReport
from learner.algorithms.supervised import move_logits, places
from learner.batches import training_batch
from learner.replay.samples import Samples, samples_of
from learner.trainer import Network, Trainer
from reversi.errors import CorruptFileError
from reversi.model.network import fold
from reversi.model.weights import Weights
from reversi.record import Records

LOOK_POSITIONS = 4096
"""Positions of a look while training goes on: an accuracy of a half is known to 0.8 %, and the cost is bounded."""

BATCH = 512
"""Positions judged at once."""


class Validation:
    """The games kept aside, the best network so far, and the looks since."""

    def __init__(self, records: Records, config: SupervisedConfig, trainer: Trainer) -> None:
        self._config, self._trainer = config, trainer
        samples = samples_of(records)
        self._all = samples.take(np.flatnonzero(samples.policy_weight))
        rows = np.random.default_rng(0).permutation(len(self._all))[:LOOK_POSITIONS]
        self._some = self._all.take(np.sort(rows))
        self._best: Network | None = None
        self._offered = False
        self.newest: ValidationReport | None = None
        """The newest look."""

    @property
    def finished(self) -> bool:
        """Whether so many looks brought nothing better that training should end."""
        patience = self._config.patience
        return patience is not None and self.newest is not None and self.newest.looks_since_best >= patience

    @property
    def news(self) -> bool:
        """Whether there is a best network that was not handed out by `best` yet."""
        return self._best is not None and not self._offered

    def look_if_due(self, step: int) -> None:
        """Look at the averaged network as it is after step number `step`, if it is time to."""
        if step % self._config.validation_every_steps == 0 and len(self._some):
            self._look()

    def best(self, version: int) -> Weights | None:
        """Return the best weights so far; None before the first look."""
        if self._best is None:
            return None
        self._offered = True
        return fold(self._best, self._trainer.game, version)

    def last_look(self) -> ValidationReport | None:
        """Return what the best network makes of all positions; None if there are none."""
        if not len(self._all):
            return None
        if self._best is None:
            self._look()
        assert self._best is not None
        assert self.newest is not None
        loss, top1, top5 = self._judge(self._best, self._all)
        self.newest = replace(self.newest, positions=len(self._all), loss=loss, top1=top1, top5=top5)
        return self.newest

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the best network by the names of its tensors."""
        if self._best is None:
            return {}
        return {name: tensor.cpu().contiguous().numpy() for name, tensor in self._best.state_dict().items()}

    def state(self) -> dict[str, Any]:
        """Return the newest look and whether the best network was handed out."""
        return {"newest": None if self.newest is None else vars(self.newest), "offered": self._offered}

    def restore(self, arrays: dict[str, NDArray[Any]], state: dict[str, Any]) -> None:
        """Go on from `arrays()` and `state()`."""
        if arrays:
            self._best = self._trainer.average_copy()
            try:
                self._best.load_state_dict({name: torch.from_numpy(np.array(each)) for name, each in arrays.items()})
            except RuntimeError as error:
                raise CorruptFileError("learner state: the best network is of another shape than this job's") from error
        self.newest = None if state["newest"] is None else ValidationReport(**state["newest"])
        self._offered = state["offered"]

    def _look(self) -> None:
        network = self._trainer.average_copy()
        loss, top1, top5 = self._judge(network, self._some)
        best, since = (np.inf, 0) if self.newest is None else (self.newest.best_loss, self.newest.looks_since_best + 1)
        if loss < best:
            best, since = loss, 0
            self._best, self._offered = network, False
        self.newest = ValidationReport(
            positions=len(self._some), loss=loss, top1=top1, top5=top5, best_loss=best, looks_since_best=since
        )

    def _judge(self, network: Network, samples: Samples) -> tuple[float, float, float]:
        """Return loss, top-1 and top-5 accuracy of `network` in the positions of `samples`, at least one."""
        sums = torch.zeros(3, dtype=torch.float64)
        for first in range(0, len(samples), BATCH):
            part = samples[first : first + BATCH]
            batch = training_batch(self._trainer.game, part, np.zeros(len(part), np.int64)).to(self._trainer.device)
            outputs = self._trainer.outputs(network, batch)
            place = places(move_logits(outputs, batch), batch)
            loss = self._trainer.objective.losses(outputs, batch)[0] * len(part)
            sums += torch.stack((loss, (place < 1).sum(), (place < 5).sum())).cpu()
        loss, top1, top5 = (sums / len(samples)).tolist()
        return loss, top1, top5
