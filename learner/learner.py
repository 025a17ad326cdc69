"""The learner: draws samples, trains, publishes averaged weights and offers candidates, in rounds of about a second.

What it needs of the others is declared here: samples come from a `BatchSource`, weights go to a `WeightSink`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from learner.algorithms.alphazero import Losses
from learner.algorithms.config import AlphaZeroConfig
from learner.batches import TrainingBatch, training_batch
from learner.config import LearnerConfig
from learner.prefetch import prefetched
from learner.replay.samples import COLUMNS, Samples
from learner.trainer import Trainer, mean_losses
from reversi import archive
from reversi.errors import CorruptFileError
from reversi.games.rules import Game
from reversi.games.symmetry import SYMMETRIES
from reversi.model.config import ResNetConfig

STATE_FORMAT = 1

CUDA_PREFETCH = 2
"""Batches made ahead of a GPU unless `learner.prefetch` says otherwise; a CPU makes its own in 0.5 % of a step."""


class BatchSource(Protocol):
    """Where samples come from."""

    def sample(self, n_batches: int, batch: int) -> Samples | None:
        """Return `n_batches * batch` samples, or None while there are not enough fresh ones."""


class WeightSink(Protocol):
    """Where weights go."""

    def publish(self, data: bytes, candidate: bool) -> None:
        """Take a weights archive; `candidate` offers it to the gate."""


@dataclass(frozen=True, kw_only=True)
class LearnerReport:
    """What one round of training did."""

    steps: int
    """Steps of this round."""
    samples: int
    """Samples trained on in this round."""
    step: int
    """Steps since the run began."""
    version: int
    """Version published last."""
    losses: Losses | None
    """Mean losses of the round; None if there was nothing to train on."""
    learning_rate: float
    """Learning rate of the last step."""
    gradient_norm: float
    """Mean norm of the gradient before clipping."""
    training_s: float
    """Seconds of training steps, publication included."""
    waiting_s: float
    """Seconds without a step because the next batch was not there: its samples on their way, or it was assembled."""
    finished: bool = False
    """Whether training is done and nothing more is to be learned."""


class Learner:
    """Trains in rounds.  Its state, the random choice of symmetries included, comes back bit for bit."""

    def __init__(
        self,
        *,
        config: LearnerConfig,
        algorithm: AlphaZeroConfig,
        network: ResNetConfig,
        game: Game,
        source: BatchSource,
        sink: WeightSink,
        seed: int,
        newest: int = -1,
    ) -> None:
        """`newest` is the highest version that anyone has seen: versions never change, so new ones lie above it."""
        self.config, self.game, self.algorithm = config, game, algorithm
        self.trainer = Trainer(game, network, config, algorithm, seed)
        self._source, self._sink = source, sink
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1 << 20,)))
        self._ahead = self._prefetch()
        self._drawn: list[Samples] = []
        self._version = newest
        self._published: bytes | None = None
        self._began = False

    def round(self, progress: float) -> LearnerReport:
        """Train for about `round_s` seconds, or until the source has no more; `progress` is the run's, 0 to 1."""
        self._begin()
        deadline = time.monotonic() + self.config.round_s
        values: list[torch.Tensor] = []
        norms: list[torch.Tensor] = []
        samples = 0
        training_s = waiting_s = 0.0
        with prefetched(self._batches(deadline), self._ahead) as batches:
            while True:
                start = time.monotonic()
                batch = next(batches, None)
                there = time.monotonic()
                waiting_s += there - start
                if batch is None:
                    break
                loss, norm = self.trainer.step(batch, progress)
                values.append(loss)
                norms.append(norm)
                samples += len(batch)
                self._publish_if_due()
                training_s += time.monotonic() - there
        return LearnerReport(
            steps=len(values),
            samples=samples,
            step=self.trainer.step_count,
            version=self._version,
            losses=mean_losses(torch.stack(values)) if values else None,
            learning_rate=self.trainer.learning_rate(progress),
            gradient_norm=float(torch.stack(norms).mean()) if norms else 0.0,
            training_s=training_s,
            waiting_s=waiting_s,
        )

    def offer_candidate(self) -> None:
        """Publish the averaged weights as they are now and offer them to the gate."""
        self._publish(candidate=True)

    def hold(self, samples: Samples) -> None:
        """Take samples that the source drew but did not hand out: part of `state()`, and trained on before others."""
        self._drawn.append(samples)

    def saved(self, place: str) -> None:
        """Note where the last good checkpoint lies; an error in training names it."""
        self.trainer.last_good = place

    def state(self) -> bytes:
        """Return network, average, optimiser, counters, random state, the weights published last, and the samples that
        are held, as an archive."""
        arrays = self.trainer.arrays()
        if self._published is not None:
            arrays["published"] = np.frombuffer(self._published, np.uint8)
        if self._drawn:
            arrays |= {f"drawn.{name}": np.concatenate([getattr(s, name) for s in self._drawn]) for name in COLUMNS}
        header = {
            "game": self.game.name,
            "algorithm": self.algorithm.name,
            "step": self.trainer.step_count,
            "version": self._version,
            "random": self._rng.bit_generator.state,
        }
        return archive.pack("learner", STATE_FORMAT, arrays, header)

    def restore(self, data: bytes) -> None:
        """Go on from `state()`; another game, algorithm or network is refused."""
        arrays, header = archive.unpack(data, "learner", STATE_FORMAT, "learner state")
        found = (header["game"], header["algorithm"])
        if found != (self.game.name, self.algorithm.name):
            raise CorruptFileError(f"learner state: expected {self.algorithm.name} on {self.game.name}, got {found}")
        published = arrays.pop("published", None)
        drawn = {name: arrays.pop(f"drawn.{name}") for name in COLUMNS if f"drawn.{name}" in arrays}
        self.trainer.restore(arrays, header["step"])
        self._version = max(self._version, header["version"])
        self._published = None if published is None else published.tobytes()
        self._rng.bit_generator.state = header["random"]
        self._drawn = [Samples(**drawn)] if drawn else []

    def _prefetch(self) -> int:
        if self.config.prefetch is not None:
            return self.config.prefetch
        return CUDA_PREFETCH if self.trainer.device.type == "cuda" else 0

    def _begin(self) -> None:
        """Publish first weights: version 0, the gate's first model; or, resumed, what had been published last."""
        if self._began:
            return
        self._began = True
        if self._published is None:
            self._publish(candidate=True)
        else:
            self._sink.publish(self._published, False)

    def _batches(self, deadline: float) -> Iterator[TrainingBatch]:
        """Draw until `deadline`, or until there is no more, and make batches of it, on their way to the device.

        What is drawn is also trained on in this round: between two rounds nothing is under way.
        """
        while time.monotonic() < deadline:
            samples = self._draw()
            if samples is None:
                return
            for first in range(0, len(samples), self.config.batch):
                part = samples[first : first + self.config.batch]
                symmetry = self._rng.integers(0, SYMMETRIES, len(part))
                mix, transfer = self.algorithm.value_mix, self.trainer.transfer
                yield transfer.send(training_batch(self.game, part, symmetry, mix, pinned=transfer.pinned))

    def _draw(self) -> Samples | None:
        """Return the next samples; those that were drawn before come first."""
        if self._drawn:
            return self._drawn.pop(0)
        return self._source.sample(self.config.chunk_batches, self.config.batch)

    def _publish_if_due(self) -> None:
        if self.trainer.step_count % self.config.publish_every_steps == 0:
            self._publish(self.trainer.step_count % self.config.candidate_every_steps == 0)

    def _publish(self, candidate: bool) -> None:
        self._version += 1
        self._published = self.trainer.averaged(self._version).to_bytes()
        self._sink.publish(self._published, candidate)
