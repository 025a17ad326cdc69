"""`TorchBackend`: the folded network in plain torch, on a CPU or an NVIDIA GPU, for where OpenVINO is not.

On a CPU it is the slower of the two backends.  On a GPU the planes go over from pinned memory and
everything else stays there until the answers come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reversi.errors import ConfigError
from reversi.games.bitboard import Masks
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import game_named
from reversi.model.backend import Answers, BackendName, Precision, padded
from reversi.model.weights import WDL, Weights

_TYPES = {"bf16": torch.bfloat16, "float32": torch.float32}


class TorchBackend:
    """Runs on `device` in `precision`, in a thread of its own; the value and the logits come back as float32."""

    name: BackendName = "torch"

    def __init__(
        self, weights: Weights, *, precision: Precision, batch: int, threads: int, slots: int, device: str
    ) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            raise ConfigError("device must be cpu where torch finds no CUDA GPU, got 'cuda'")
        game = game_named(weights.game)
        self.batch = batch
        self._game, self._threads = game.id, threads
        self._device, self._type = torch.device(device), _TYPES[precision]
        shape = (batch, PLANES, game.size, game.size)
        self._planes = [torch.zeros(shape, pin_memory=device == "cuda") for _ in range(slots)]
        self._under_way: dict[int, Future[Answers]] = {}
        self._worker = ThreadPoolExecutor(1, "network")
        self.take(self.prepare(weights))

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Judge in slot 0 and in the caller's thread."""
        return self._judge(self._network, self._written(0, own, opp), len(own))

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Write the planes and leave the rest to the worker thread."""
        assert slot not in self._under_way, f"slot {slot} was not collected"
        planes = self._written(slot, own, opp)
        self._under_way[slot] = self._worker.submit(self._judge, self._network, planes, len(own))

    def collect(self, slot: int) -> Answers:
        """Wait for the worker."""
        return self._under_way.pop(slot).result()

    def prepare(self, weights: Weights) -> FoldedNetwork:
        """Copy `weights` to the device."""
        return FoldedNetwork(weights, self._device, self._type)

    def take(self, prepared: FoldedNetwork) -> None:
        """Use another network from now on."""
        self._network = prepared

    def _written(self, slot: int, own: Masks, opp: Masks) -> Tensor:
        write_planes(self._game, own, opp, self._planes[slot].numpy())
        return self._planes[slot]

    def _judge(self, network: FoldedNetwork, planes: Tensor, count: int) -> Answers:
        """Judge the first `count` planes; rows up to the padded size are computed and thrown away."""
        with torch.inference_mode(), _threads(self._threads):
            logits, value = network(planes[: padded(count, self.batch)])
            # One array comes back: a copy from a GPU waits for all work before it.
            answers = torch.cat((logits.float(), value[:, None]), 1)[:count].cpu().numpy()
        return np.ascontiguousarray(answers[:, :-1]), np.ascontiguousarray(answers[:, -1])


class FoldedNetwork:
    """One version's weights on a device, in the layout its convolutions like, and what is computed with them."""

    def __init__(self, weights: Weights, device: torch.device, precision: torch.dtype) -> None:
        self._device, self._type = device, precision
        self._blocks = weights.network.blocks
        self._parameters = {name: self._placed(torch.from_numpy(array)) for name, array in weights.arrays.items()}

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [B, A] and value [B] of planes [B, 4, N, N]."""
        return self._forward(self._placed(planes))

    def _placed(self, array: Tensor) -> Tensor:
        layout = torch.channels_last if array.ndim == 4 else torch.contiguous_format
        return array.to(self._device, self._type, non_blocking=True, copy=True, memory_format=layout)

    def _forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [B, A] and value [B]; the value is computed in float32 from the WDL logits."""
        tower = functional.relu(self._convolution("stem", planes))
        for block in range(self._blocks):
            inner = functional.relu(self._convolution(f"blocks.{block}.first", tower))
            tower = functional.relu(tower + self._convolution(f"blocks.{block}.second", inner))
        policy = functional.relu(self._convolution("policy.features", tower))
        squares = self._convolution("policy.square_logit", policy).flatten(1)
        logits = torch.cat((squares, self._dense("policy.pass_logit", policy.mean((2, 3)))), 1)
        features = functional.relu(self._convolution("value.features", tower)).flatten(1)
        output = self._dense("value.output", functional.relu(self._dense("value.hidden", features)))
        chances = output[:, :WDL].float().softmax(1)
        return logits, chances[:, 0] - chances[:, 2]

    def _convolution(self, layer: str, features: Tensor) -> Tensor:
        weight, bias = self._parameters[f"{layer}.weight"], self._parameters[f"{layer}.bias"]
        return functional.conv2d(features, weight, bias, padding=weight.shape[2] // 2)

    def _dense(self, layer: str, features: Tensor) -> Tensor:
        return functional.linear(features, self._parameters[f"{layer}.weight"], self._parameters[f"{layer}.bias"])


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set torch's thread count, which is the whole process', for one run: a learner beside it keeps its own."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
