"""`OpenVinoBackend`: the network on a CPU, its graph built straight from the weights; no torch, no converter.

OpenVINO's Python converter takes a second and wants to send usage statistics; the dozen operations a dual network
needs are written down faster than that.  A new version is a new graph: built, compiled and run once in 0.04 s on an
idle core, 0.04-0.14 s beside self-play on both of two cores, which goes on meanwhile.

    positions/s, one thread of a Xeon with AMX, batch 256     bf16      float32
    4 blocks x 32 channels, 6x6                               189,000   27,600
    4 blocks x 64 channels, 8x8                                29,600    4,450

The batch dimension is left open: one graph serves every size, at batch 256 within 5 % of a graph made for it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import openvino
from numpy.typing import NDArray
from openvino import opset13 as op

from reversi.games.bitboard import Masks
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import Game, game_named
from reversi.model.backend import Answers, BackendName, Precision, padded
from reversi.model.weights import WDL, Weights

_HINTS = {"bf16": "bf16", "float32": "f32"}

Node = Any
"""A node of OpenVINO's graph; the package has no types."""


class OpenVinoBackend:
    """One stream on `threads` threads, one request per slot; answers are written in place, in the slot's buffers.

    A request that is started while another runs waits in the stream's queue, and follows it without Python.
    """

    name: BackendName = "openvino"
    device = "cpu"

    def __init__(self, weights: Weights, *, precision: Precision, batch: int, threads: int, slots: int) -> None:
        self._game = game_named(weights.game)
        self.batch = batch
        self._settings = {
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            # Several actors share a machine: pinned, all of them would sit on its first cores.
            "ENABLE_CPU_PINNING": False,
        }
        self._slots = [_Slot(self._game, batch) for _ in range(slots)]
        self._sizes: set[int] = set()
        self.take(self.prepare(weights))

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Compute in the caller's thread: waking the stream's costs 0.1 ms, as much as a batch of 1."""
        request = self._fill(0, own, opp)
        request.infer()
        return self._slots[0].answers()

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Write the planes and start the slot's request; rows up to the padded size are computed and thrown away."""
        self._fill(slot, own, opp).start_async()

    def collect(self, slot: int) -> Answers:
        """Wait for the slot's request."""
        self._slots[slot].request.wait()
        return self._slots[slot].answers()

    def prepare(self, weights: Weights) -> list[Any]:
        """Build and compile the graph, and run it once at every size met so far, or the next run of each is slow."""
        compiled = _core().compile_model(build_graph(weights), "CPU", self._settings)
        requests = [compiled.create_infer_request() for _ in self._slots]
        for size in tuple(self._sizes):
            requests[0].set_input_tensor(openvino.Tensor(np.zeros(planes_shape(self._game, size), np.float32)))
            requests[0].infer()
        return requests

    def take(self, prepared: list[Any]) -> None:
        """Start new requests from now on; one under way is the slot's until it is collected."""
        self._requests = prepared

    def _fill(self, slot: int, own: Masks, opp: Masks) -> Any:
        """Return the slot's request, bound to its buffers with the positions' planes in them."""
        place, size = self._slots[slot], padded(len(own), self.batch)
        self._sizes.add(size)
        write_planes(self._game.id, own, opp, place.planes)
        place.count, place.request = len(own), self._requests[slot]
        planes, logits, value = place.views(size)
        place.request.set_input_tensor(planes)
        place.request.set_output_tensor(0, logits)
        place.request.set_output_tensor(1, value)
        return place.request


class _Slot:
    """Buffers of one batch, and the request that computes in them."""

    def __init__(self, game: Game, batch: int) -> None:
        self.planes = np.zeros(planes_shape(game, batch), np.float32)
        self._logits = np.zeros((batch, game.actions), np.float32)
        self._value = np.zeros(batch, np.float32)
        self._views: dict[int, tuple[Any, Any, Any]] = {}
        self.request: Any = None
        self.count = 0

    def answers(self) -> Answers:
        """Return the last batch's rows."""
        return self._logits[: self.count], self._value[: self.count]

    def views(self, size: int) -> tuple[Any, Any, Any]:
        """Return OpenVINO's tensors over the first `size` rows of the buffers."""
        if size not in self._views:
            buffers = (self.planes, self._logits, self._value)
            planes, logits, value = (openvino.Tensor(buffer[:size], shared_memory=True) for buffer in buffers)
            self._views[size] = (planes, logits, value)
        return self._views[size]


@functools.cache
def _core() -> Any:
    """Return the process' only Core, which lives as long as the process.

    On a CPU with AMX every Core's plugin installs a signal stack of its own and unmaps it when it goes, without putting
    the one before back in place; the next signal, a Ctrl-C, then kills the process with SIGSEGV.
    """
    return openvino.Core()


def build_graph(weights: Weights) -> Any:
    """Return the OpenVINO model: planes [B, 4, N, N] -> logits [B, A], value [B].  Margin and owner are left out."""
    size = game_named(weights.game).size
    planes = op.parameter([-1, PLANES, size, size], np.float32)
    graph = _Graph(weights)
    features = op.relu(graph.convolution("stem", planes))
    for block in range(weights.network.blocks):
        inner = op.relu(graph.convolution(f"blocks.{block}.first", features))
        features = op.relu(op.add(graph.convolution(f"blocks.{block}.second", inner), features))
    return openvino.Model([op.result(graph.policy(features)), op.result(graph.value(features))], [planes])


def planes_shape(game: Game, batch: int) -> tuple[int, int, int, int]:
    """Return the shape of a batch's input: [B, 4, N, N]."""
    return batch, PLANES, game.size, game.size


class _Graph:
    """Layers by the name of their weights."""

    def __init__(self, weights: Weights) -> None:
        self._arrays = weights.arrays

    def convolution(self, layer: str, features: Node) -> Node:
        """A convolution that keeps the board's size."""
        weight, bias = self._arrays[f"{layer}.weight"], self._arrays[f"{layer}.bias"]
        border = [weight.shape[2] // 2] * 2
        convolved = op.convolution(features, op.constant(weight), [1, 1], border, border, [1, 1])
        return op.add(convolved, op.constant(bias[None, :, None, None]))

    def dense(self, layer: str, features: Node, rows: int | None = None) -> Node:
        """A dense layer, or the first `rows` of its outputs."""
        weight, bias = self._arrays[f"{layer}.weight"][:rows], self._arrays[f"{layer}.bias"][:rows]
        product = op.matmul(features, op.constant(weight), False, True)
        return op.add(product, op.constant(bias[None]))

    def policy(self, tower: Node) -> Node:
        """Logits [B, A]: one per square, and the pass's from the mean over the board."""
        features = op.relu(self.convolution("policy.features", tower))
        squares = _flat(self.convolution("policy.square_logit", features))
        mean = op.reduce_mean(features, _integers(2, 3), False)
        return op.concat([squares, self.dense("policy.pass_logit", mean)], 1)

    def value(self, tower: Node) -> Node:
        """P(win) - P(loss), [B]."""
        features = _flat(op.relu(self.convolution("value.features", tower)))
        hidden = op.relu(self.dense("value.hidden", features))
        chances = op.softmax(self.dense("value.output", hidden, WDL), 1)
        win_minus_loss: NDArray[np.float32] = np.array([1, 0, -1], np.float32)
        return op.matmul(chances, op.constant(win_minus_loss), False, False)


def _flat(features: Node) -> Node:
    # 0 copies the batch, -1 takes all the rest
    return op.reshape(features, _integers(0, -1), True)


def _integers(*values: int) -> Node:
    return op.constant(np.array(values, np.int64))
