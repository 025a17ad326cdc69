"""A learner of the small job, the samples that it draws and the weights that it publishes."""

from __future__ import annotations

from dataclasses import replace

from learner.learner import Learner
from learner.replay.samples import Samples
from reversi.errors import CorruptFileError
from reversi.games.rules import Game
from reversi.model.weights import version_of
from tests.learner.jobs import ALGORITHM, CONFIG, GAME, NETWORK, samples


class Pool:
    """A `BatchSource` with so many chunks, each from a seed of its own."""

    def __init__(self, chunks: int, first: int = 0, breaks: bool = False) -> None:
        self.left, self.seed, self.breaks = chunks, first, breaks
        self.asked: list[tuple[int, int]] = []

    def sample(self, n_batches: int, batch: int) -> Samples | None:
        self.asked.append((n_batches, batch))
        if not self.left and self.breaks:
            raise CorruptFileError("the replay is gone")
        if not self.left:
            return None
        self.left, self.seed = self.left - 1, self.seed + 1
        return samples(n_batches * batch, self.seed)


class Shelf:
    """A `WeightSink` that keeps everything."""

    def __init__(self) -> None:
        self.taken: list[tuple[bytes, bool]] = []

    def publish(self, data: bytes, candidate: bool) -> None:
        self.taken.append((data, candidate))

    @property
    def versions(self) -> list[int]:
        return [version_of(data, "shelf") for data, _ in self.taken]


def learner(source: Pool, sink: Shelf, game: Game = GAME, **changes: float | None) -> Learner:
    return Learner(
        config=replace(CONFIG, **changes),
        algorithm=ALGORITHM,
        network=NETWORK,
        game=game,
        source=source,
        sink=sink,
        seed=7,
    )
