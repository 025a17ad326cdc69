"""The learner: draws samples, trains, publishes averaged weights and offers candidates, in rounds of about a second.

Samples come from a `BatchSource`, weights go to a `WeightSink`; both protocols are declared here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from learner.algorithms.algorithm import Training
from learner.algorithms.compatibility import check_learner, check_network
from learner.algorithms.config import AlgorithmConfig, QTableConfig, SupervisedConfig, TdConfig
from learner.algorithms.reports import FullValidation, Losses, ValidationReport
from learner.algorithms.sample_kinds import sample_kind
from learner.config import LearnerConfig, NetworkLearnerConfig, PatternLearnerConfig, TableLearnerConfig
from learner.prefetch import prefetched
from learner.replay.columns import SampleColumns
from learner.schedule import Publications
from reversi import archive
from reversi.errors import CorruptFileError
from reversi.games.rules import Game
from reversi.model.config import NetworkConfig, PatternConfig, TableConfig
from reversi.model.weights import Weights
from reversi.record import Records

if TYPE_CHECKING:
    from learner.training.validation import Validation

STATE_FORMAT = 3


class BatchSource(Protocol):
    """Where samples come from."""

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        """Return `n_batches * batch` samples, or None while the learner has to wait for new positions."""


class WeightSink(Protocol):
    """Where weights go."""

    def publish(self, data: bytes, candidate: bool) -> None:
        """Publish a weights archive; `candidate` also offers it to the gate."""


@dataclass(frozen=True, kw_only=True)
class LearnerReport:
    """Results of one round of training."""

    steps: int
    """Steps of this round."""
    samples: int
    """Samples trained on in this round."""
    step: int
    """Steps since the run began."""
    version: int
    """Newest published version."""
    losses: Losses | None
    """Mean losses of the round; None if there were no samples."""
    learning_rate: float
    """Learning rate of the last step."""
    gradient_norm: float
    """Mean norm of the gradient before clipping."""
    training_s: float
    """Seconds spent in training steps, validation and publication."""
    waiting_s: float
    """Seconds spent waiting for the next batch: for its samples, or until it was assembled."""
    finished: bool = False
    """Whether early stopping has ended training."""
    validation: ValidationReport | None = None
    """The newest validation; None without validation games, and before the first one."""


class Learner:
    """Trains in rounds, with any algorithm.  Its state, random state included, is restored bit for bit."""

    def __init__(
        self,
        *,
        config: LearnerConfig,
        algorithm: AlgorithmConfig,
        network: NetworkConfig,
        game: Game,
        source: BatchSource,
        sink: WeightSink,
        seed: int,
        newest: int = -1,
        validation: Records | None = None,
    ) -> None:
        """`newest` is the highest version published so far: a version's weights never change, so new ones are higher.

        `validation` are games that are never trained on; only supervised learning uses them.
        Raises ConfigError for a network that the algorithm cannot train.
        """
        check_network(algorithm, network, game)
        check_learner(algorithm, config)
        self.config, self.game, self.algorithm = config, game, algorithm
        self.trainer, self._validation = _trainer(game, network, config, algorithm, seed, validation)
        self._source, self._sink = source, sink
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1 << 20,)))
        self._drawn: list[SampleColumns] = []
        self._publications = Publications(config)
        self._version = newest
        self._published: bytes | None = None
        self._began = False

    def round(self, progress: float, draws: int | None = None) -> LearnerReport:
        """Train for about `round_s` seconds, or until the source has no samples; `progress` is the run's, 0 to 1.

        With `draws` a round is at most that many draws, whatever the time, so that it repeats exactly.
        """
        self._begin()
        steps: list[Any] = []
        samples = 0
        training_s = waiting_s = 0.0
        with prefetched(self._batches(draws), self.trainer.ahead) as batches:
            while not self._finished:
                start = time.monotonic()
                batch = next(batches, None)
                ready = time.monotonic()
                waiting_s += ready - start
                if batch is None:
                    break
                steps.append(self.trainer.step(batch, progress))
                samples += len(batch)
                if self._validation is not None:
                    self._validation.validate_if_due(self.trainer.step_count)
                self._publish_if_due(time.monotonic() - start, draws is None)
                training_s += time.monotonic() - ready
        losses, gradient_norm = self.trainer.mean(steps) if steps else (None, 0.0)
        return LearnerReport(
            steps=len(steps),
            samples=samples,
            step=self.trainer.step_count,
            version=self._version,
            losses=losses,
            learning_rate=self.trainer.learning_rate(progress),
            gradient_norm=gradient_norm,
            training_s=training_s,
            waiting_s=waiting_s,
            finished=self._finished,
            validation=self._validation.newest if self._validation is not None else None,
        )

    def offer_candidate(self) -> FullValidation:
        """Validate the averaged weights, or the best validated ones, on all validation games; then publish them and
        offer them to the gate.

        For many games and a large network the validation takes minutes.  A call does about `round_s` seconds of it;
        until it is done nothing is offered, and this is to be called again.
        """
        full = (
            FullValidation() if self._validation is None else self._validation.validate_candidate(self.config.round_s)
        )
        if full.done:
            self._publish(candidate=True)
        return full

    def begin_from(self, data: bytes) -> None:
        """Begin with the weights in the archive `data`, which are version 0, instead of untrained ones."""
        weights = Weights.from_bytes(data, "the model to begin with")
        weights.check_game(self.game)
        self.trainer.begin_from(weights)

    def hold(self, samples: SampleColumns) -> None:
        """Add samples that the source drew but did not deliver: they are part of `state()`, and trained on first."""
        self._drawn.append(samples)

    def state(self) -> bytes:
        """Return network, average, optimiser, counters, random state, the newest published weights and the samples that
        `hold` added, as an archive."""
        arrays = {f"training.{name}": array for name, array in self.trainer.arrays().items()}
        if self._published is not None:
            arrays["published"] = np.frombuffer(self._published, np.uint8)
        if self._drawn:
            drawn = type(self._drawn[0]).concatenate(self._drawn)
            arrays |= {f"drawn.{name}": column for name, column in drawn.columns().items()}
        header = {
            "game": self.game.name,
            "algorithm": self.algorithm.name,
            "step": self.trainer.step_count,
            "version": self._version,
            "random": self._rng.bit_generator.state,
            "seconds": self._publications.state(),
        }
        if self._validation is not None:
            arrays |= {f"validation.{name}": array for name, array in self._validation.arrays().items()}
            header["validation"] = self._validation.state()
        return archive.pack("learner", STATE_FORMAT, arrays, header)

    def restore(self, data: bytes) -> None:
        """Continue from `state()`; CorruptFileError if it is of another game, algorithm or network."""
        arrays, header = archive.unpack(data, "learner", STATE_FORMAT, "learner state")
        with archive.believing("learner state"):
            self._restore(arrays, header)

    def _restore(self, arrays: dict[str, NDArray[Any]], header: archive.Header) -> None:
        game, algorithm = header["game"], header["algorithm"]
        if (game, algorithm) != (self.game.name, self.algorithm.name):
            raise CorruptFileError(
                f"learner state: expected {self.algorithm.name} on {self.game.name}, got {algorithm} on {game}"
            )
        published, drawn = arrays.get("published"), archive.under("drawn.", arrays)
        self.trainer.restore(archive.under("training.", arrays), header["step"])
        if self._validation is not None and "validation" in header:
            self._validation.restore(archive.under("validation.", arrays), header["validation"])
        self._drawn = [sample_kind(self.algorithm).columns(**drawn)] if drawn else []
        self._published = None if published is None else published.tobytes()
        self._version = max(self._version, header["version"])
        self._publications.restore(header["seconds"])
        self._rng.bit_generator.state = header["random"]

    def _begin(self) -> None:
        """Publish the first weights: version 0, the gate's first model, or in a resumed run the last published ones."""
        if self._began:
            return
        self._began = True
        if self._published is None:
            self._publish(candidate=True)
        else:
            self._sink.publish(self._published, False)

    @property
    def _finished(self) -> bool:
        return self._validation is not None and self._validation.finished

    def _batches(self, draws: int | None) -> Iterator[Any]:
        """Draw for `round_s` seconds or `draws` times, or until the source has no samples; yield batches in transfer to
        the device.

        All samples drawn are trained on in the same round: between two rounds no batch is pending.
        """
        deadline, drawn = time.monotonic() + self.config.round_s, 0
        while time.monotonic() < deadline if draws is None else drawn < draws:
            drawn += 1
            samples = self._draw()
            if samples is None:
                return
            for first in range(0, len(samples), self.config.batch):
                yield self.trainer.batch(samples[first : first + self.config.batch], self._rng)

    def _draw(self) -> SampleColumns | None:
        """Return the next samples, first those that `hold` added."""
        if self._drawn:
            return self._drawn.pop(0)
        return self._source.sample(self.config.chunk_batches, self.config.batch)

    def _publish_if_due(self, seconds: float, by_time: bool) -> None:
        published, offered = self._publications.due(self.trainer.step_count, seconds, by_time)
        if published:
            has_new = self._validation is None or self._validation.has_new_candidate
            self._publish(has_new and offered)

    def _publish(self, candidate: bool) -> None:
        """Publish the averaged weights; a candidate is the best validated network, if there is one."""
        self._version += 1
        best = self._validation.candidate(self._version) if candidate and self._validation is not None else None
        self._published = (best or self.trainer.averaged(self._version)).to_bytes()
        self._sink.publish(self._published, candidate)


def _trainer(
    game: Game,
    network: NetworkConfig,
    config: LearnerConfig,
    algorithm: AlgorithmConfig,
    seed: int,
    validation: Records | None,
) -> tuple[Training, Validation | None]:
    """Return the training of `algorithm`, and its validation if there are games for it."""
    if isinstance(algorithm, QTableConfig):
        from learner.algorithms.q_table import TableTraining

        assert isinstance(network, TableConfig), "`check_network` ensures this"
        assert isinstance(config, TableLearnerConfig), "`check_learner` ensures this"
        return TableTraining(game, network, config, algorithm), None
    if isinstance(algorithm, TdConfig):
        from learner.algorithms.td import TdTraining

        assert isinstance(network, PatternConfig), "`check_network` ensures this"
        assert isinstance(config, PatternLearnerConfig), "`check_learner` ensures this"
        return TdTraining(game, network, config, algorithm), None
    from learner.training.trainer import (
        Trainer,  # not needed for a table, whose training takes less time than importing torch
    )

    assert isinstance(config, NetworkLearnerConfig), "`check_learner` ensures this"
    trainer = Trainer(game, network, config, algorithm, seed)
    if validation is None or not isinstance(algorithm, SupervisedConfig):
        return trainer, None
    from learner.training.validation import Validation

    return trainer, Validation(validation, algorithm, trainer)
