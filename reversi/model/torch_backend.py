"""`TorchBackend`: the folded network in plain torch, on a CPU or an NVIDIA GPU, for where OpenVINO is not.

On a CPU it is the slower of the two backends.  On a GPU the planes go over from pinned memory and
everything else stays there until the answers come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reversi.errors import ConfigError
from reversi.games.planes import PLANES
from reversi.games.rules import game_named
from reversi.model.evaluate import Answers, BackendName, Precision, padded
from reversi.model.weights import WDL, Weights

_TYPES = {"bf16": torch.bfloat16, "float32": torch.float32}


class TorchBackend:
    """Runs on `device` in `precision`; the value and the logits come back as float32."""

    name: BackendName = "torch"

    def __init__(self, weights: Weights, *, precision: Precision, batch: int, threads: int, device: str) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            raise ConfigError("device must be cpu where torch finds no CUDA GPU, got 'cuda'")
        size = game_named(weights.game).size
        self._device = torch.device(device)
        self._type = _TYPES[precision]
        self._threads = threads
        self._host = torch.zeros(batch, PLANES, size, size, pin_memory=device == "cuda")
        self.planes = self._host.numpy()
        self.load(weights)

    def load(self, weights: Weights) -> None:
        """Copy `weights` to the device, in the layout its convolutions like."""
        self._blocks = weights.network.blocks
        self._parameters = {name: self._placed(torch.from_numpy(array)) for name, array in weights.arrays.items()}

    def run(self, count: int) -> Answers:
        """Judge the first `count` planes; rows up to the padded size are computed and thrown away."""
        with torch.inference_mode(), _threads(self._threads):
            logits, value = self._forward(self._placed(self._host[: padded(count, len(self.planes))]))
            # One array comes back: a copy from a GPU waits for all work before it.
            answers = torch.cat((logits.float(), value[:, None]), 1)[:count].cpu().numpy()
        return np.ascontiguousarray(answers[:, :-1]), np.ascontiguousarray(answers[:, -1])

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
