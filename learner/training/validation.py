"""Validation on games that are never trained on: the best network so far, and early stopping.

Every `validation_every_steps` the averaged network is evaluated on some thousands of their positions, always the same
ones.  The network with the lowest loss so far is kept: it is the candidate.  After `patience` validations without a
better one training ends.  Without early stopping the newest network is the candidate.  The run's last candidate is
evaluated on all positions, which can take many minutes and is therefore divided into calls of about a second or two,
with the same result.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from learner.algorithms.config import SupervisedConfig
from learner.algorithms.reports import FullValidation, ValidationReport
from learner.algorithms.supervised import move_logits, ranks
from learner.batches import training_batch
from learner.replay.samples import Samples, samples_of
from learner.training.trainer import Network, Trainer
from reversi.errors import CorruptFileError
from reversi.model.network import fold
from reversi.model.weights import Weights
from reversi.record import Records

SUBSET_POSITIONS = 4096
"""Positions of a validation during training: the standard error of an accuracy of a half is 0.8 %."""

BATCH = 512
"""Positions evaluated at once."""


class Validation:
    """The validation games, the candidate, and the newest report."""

    def __init__(self, records: Records, config: SupervisedConfig, trainer: Trainer) -> None:
        self._config, self._trainer = config, trainer
        samples = samples_of(records)
        self._all = samples.take(np.flatnonzero(samples.policy_weight))
        rows = np.random.default_rng(0).permutation(len(self._all))[:SUBSET_POSITIONS]
        self._some = self._all.take(np.sort(rows))
        self._candidate: Network | None = None
        self._offered = False
        self._sums, self._summed = np.zeros(3), 0  # of the candidate, over the first positions of `_all`
        self.newest: ValidationReport | None = None
        """The newest validation; None before the first."""

    @property
    def finished(self) -> bool:
        """Whether `patience` validations have passed without a better network."""
        patience = self._config.patience
        return patience is not None and self.newest is not None and self.newest.looks_since_best >= patience

    @property
    def has_new_candidate(self) -> bool:
        """Whether there is a candidate that `candidate` has not returned yet."""
        return self._candidate is not None and not self._offered

    def validate_if_due(self, step: int) -> None:
        """Validate the averaged network after step `step`, if that is a multiple of `validation_every_steps`."""
        if step % self._config.validation_every_steps == 0 and len(self._some):
            self._validate()

    def candidate(self, version: int) -> Weights | None:
        """Return the candidate's weights; None before the first validation."""
        if self._candidate is None:
            return None
        self._offered = True
        return fold(self._candidate, self._trainer.game, version)

    def validate_candidate(self, round_s: float = inf) -> FullValidation:
        """Validate the candidate on all positions, for about `round_s` seconds; the next call continues there."""
        if not len(self._all):
            return FullValidation()
        if self._candidate is None:
            self._validate()
        assert self._candidate is not None
        assert self.newest is not None
        deadline = time.monotonic() + round_s
        while self._summed < len(self._all):
            part = self._all[self._summed : self._summed + BATCH]
            self._sums += self._batch_sums(self._candidate, part)
            self._summed += len(part)
            if time.monotonic() >= deadline:
                break
        if self._summed < len(self._all):
            return FullValidation(positions=self._summed, all_positions=len(self._all))
        loss, top1, top5 = (self._sums / len(self._all)).tolist()
        self.newest = replace(self.newest, positions=len(self._all), loss=loss, top1=top1, top5=top5)
        return FullValidation(positions=self._summed, all_positions=len(self._all), report=self.newest)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the candidate's tensors by name; none before the first validation."""
        if self._candidate is None:
            return {}
        return {name: tensor.cpu().contiguous().numpy() for name, tensor in self._candidate.state_dict().items()}

    def state(self) -> dict[str, Any]:
        """Return the newest report, whether the candidate was returned, and how far `validate_candidate` is."""
        return {
            "newest": None if self.newest is None else vars(self.newest),
            "offered": self._offered,
            "summed": [self._summed, len(self._all), *self._sums.tolist()],
        }

    def restore(self, arrays: dict[str, NDArray[Any]], state: dict[str, Any]) -> None:
        """Restore `arrays()` and `state()`."""
        if arrays:
            self._candidate = self._trainer.average_copy()
            try:
                self._candidate.load_state_dict(
                    {name: torch.from_numpy(np.array(each)) for name, each in arrays.items()}
                )
            except RuntimeError as error:
                raise CorruptFileError("learner state: the candidate is of another shape than this job's") from error
        self.newest = None if state["newest"] is None else ValidationReport(**state["newest"])
        self._offered = state["offered"]
        summed, positions, *sums = state["summed"]
        if positions == len(self._all):  # else the run was resumed with other games
            self._sums, self._summed = np.array(sums), int(summed)

    def _validate(self) -> None:
        network = self._trainer.average_copy()
        loss, top1, top5 = self._evaluate(network, self._some)
        best, since = (np.inf, 0) if self.newest is None else (self.newest.best_loss, self.newest.looks_since_best + 1)
        if loss < best:
            best, since = loss, 0
        if since == 0 or self._config.patience is None:
            self._candidate, self._offered = network, False
            self._sums, self._summed = np.zeros(3), 0
        self.newest = ValidationReport(
            positions=len(self._some), loss=loss, top1=top1, top5=top5, best_loss=best, looks_since_best=since
        )

    def _evaluate(self, network: Network, samples: Samples) -> tuple[float, float, float]:
        """Return loss, top-1 and top-5 accuracy of `network` on one or more samples."""
        sums = np.zeros(3)
        for first in range(0, len(samples), BATCH):
            sums += self._batch_sums(network, samples[first : first + BATCH])
        loss, top1, top5 = (sums / len(samples)).tolist()
        return loss, top1, top5

    def _batch_sums(self, network: Network, part: Samples) -> NDArray[np.float64]:
        """Return the sums of loss, top-1 and top-5 hits of `network` on at most `BATCH` samples, as float64[3]."""
        batch = training_batch(self._trainer.game, part, np.zeros(len(part), np.int64)).to(self._trainer.device)
        outputs = self._trainer.outputs(network, batch)
        place = ranks(move_logits(outputs, batch), batch)
        loss = self._trainer.objective.losses(outputs, batch)[0] * len(part)
        sums: NDArray[np.float64] = torch.stack((loss, (place < 1).sum(), (place < 5).sum())).double().cpu().numpy()
        return sums
