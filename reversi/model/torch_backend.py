"""`TorchBackend`: the network in plain torch on a CPU, in place of OpenVINO; several times slower."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch

from reversi.games.bitboard import Masks
from reversi.games.planes import PLANES, write_masks
from reversi.games.rules import game_named
from reversi.model.backend import Answers, BackendName, Precision, padded
from reversi.model.torch_network import FoldedNetwork
from reversi.model.weights import Weights


class TorchBackend:
    """Computes submitted batches in its own thread, one after the other."""

    name: BackendName = "torch"
    device = "cpu"

    def __init__(self, weights: Weights, *, precision: Precision, batch: int, threads: int, slots: int) -> None:
        self.batch = batch
        self._game, self._threads, self._precision = game_named(weights.game).id, threads, precision
        self._masks = [np.zeros((batch, PLANES), np.uint64) for _ in range(slots)]
        self._under_way: dict[int, Future[Answers]] = {}
        self._worker = ThreadPoolExecutor(1, "network")
        self.take(self.prepare(weights))

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Evaluate in the caller's thread."""
        write_masks(self._game, own, opp, self._masks[0])
        return self._judge(self._network, 0, len(own))

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Write the masks and leave the rest to the worker thread."""
        assert slot not in self._under_way, f"slot {slot} was not collected"
        write_masks(self._game, own, opp, self._masks[slot])
        self._under_way[slot] = self._worker.submit(self._judge, self._network, slot, len(own))

    def collect(self, slot: int) -> Answers:
        """Wait for the worker."""
        return self._under_way.pop(slot).result()

    def prepare(self, weights: Weights) -> FoldedNetwork:
        """Copy `weights` into torch's layouts."""
        return FoldedNetwork(weights, torch.device("cpu"), self._precision)

    def take(self, prepared: FoldedNetwork) -> None:
        """Use another network from now on."""
        self._network = prepared

    def _judge(self, network: FoldedNetwork, slot: int, count: int) -> Answers:
        """Evaluate the slot's first `count` masks; the outputs of padding rows are dropped."""
        masks = self._masks[slot][: padded(count, self.batch)].view(np.int64)  # torch cannot shift unsigned integers
        with torch.inference_mode(), _threads(self._threads):
            logits, outlook = network(torch.from_numpy(masks))
        return logits[:count].numpy(), outlook[:count].numpy()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set torch's thread count, which is process-wide, for one run, so that a learner in the process keeps its own."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
