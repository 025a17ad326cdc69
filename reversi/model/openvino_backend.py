"""`OpenVinoBackend`: the network on a CPU, its graph built directly from the weights; no torch, no converter.

OpenVINO's Python converter takes a second and sends usage statistics; building the graph of a dozen operations is
faster.  A new version is a new graph: built, compiled and run once in 0.04 s on an idle core, in 0.04-0.14 s while
self-play uses both of two cores.

    positions/s, one thread of a Xeon with AMX, batch 256     bf16      float32
    4 blocks x 32 channels, 6x6                               189,000   27,600
    4 blocks x 64 channels, 8x8                                29,600    4,450

The batch dimension is dynamic: one graph serves every size, at batch 256 within 5 % of a graph compiled for it.

A convolution processes the innermost dimension sixteen elements at a time.  A board's rows have only 6 or 8, so large
batches have the positions innermost, `LANES`: the convolution then has three dimensions, the last one of size B with
kernel width 1.

    positions/s, one thread of an AMD EPYC, AVX512-BF16          BOARDS    LANES
    4 blocks x 32 channels, 6x6, batch 256                       68,000    104,000
    4 blocks x 64 channels, 8x8, batch 256                       13,300    15,100
    the same network, batches of 1 and 4                         10,200; 12,300    3,300; 11,700

Lines are looked up and summed outside the graph; the sums are a second input, with the channels innermost in both
layouts: rows are read contiguously, and the graph only adds the sums to the stem.

    positions/s, one thread of a Xeon without bf16, 2 blocks x 32 channels, 6x6, batch 256, float32
    without lines    summed outside    EmbeddingBag in the graph    Gather and ReduceSum in the graph
    45,400           37,900            31,900                       29,100
"""

from __future__ import annotations

import functools
import math
import sys
import weakref
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.planes import PLANES, write_planes
from reversi.games.rules import Game, game_named
from reversi.model.backend import OUTLOOKS, Answers, BackendName, Precision, padded
from reversi.model.config import LOOKED_UP, NetworkConfig, ResNetConfig, StackConfig
from reversi.model.line_patterns import DIRECTIONS, lines_of, sum_rows, write_rows
from reversi.model.probe import faster
from reversi.model.weights import LINES_TABLE, VALUE_OUTPUTS, WDL, Weights

_telemetry = sys.modules.get("openvino_telemetry")
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # cannot be imported
try:  # else each import looks up a host outside, writes into the home folder, and fails without one
    import openvino
    from openvino import opset13 as op
finally:
    del sys.modules["openvino_telemetry"]
    if _telemetry is not None:
        sys.modules["openvino_telemetry"] = _telemetry

Layout = Literal["boards", "lanes"]
"""The place of the batch dimension: `boards` is outermost, [B, 4, N, N], `lanes` innermost, [1, 4, N, N, B]."""

LANES_FROM = 8
"""Minimum batch for which lanes are as fast as boards."""

_HINTS = {"bf16": "bf16", "float32": "f32"}

Node = Any
"""A node of OpenVINO's graph; the package has no type annotations."""


def open_openvino_backend(
    weights: Weights, *, precision: Precision, batch: int, threads: int, slots: int
) -> OpenVinoBackend:
    """Return a backend with the layout for its batches: lanes for large ones, unless they are measured much slower."""

    def make(layout: Layout, positions: int, slots: int = 1) -> OpenVinoBackend:
        return OpenVinoBackend(
            weights, precision=precision, layout=layout, batch=positions, threads=threads, slots=slots
        )

    layout: Layout = "boards"
    if batch >= LANES_FROM:
        key = "layout", weights.game, weights.network, precision, threads
        layout = faster(key, make, usual="lanes", other="boards", gain=1.25)
    return make(layout, batch, slots)


class OpenVinoBackend:
    """One stream on `threads` threads, one request per slot; outputs are written directly to the slot's buffers.

    A request started while another runs waits in the stream's queue, and follows it without Python.
    """

    name: BackendName = "openvino"
    device = "cpu"

    def __init__(
        self, weights: Weights, *, precision: Precision, layout: Layout, batch: int, threads: int, slots: int
    ) -> None:
        self._game = game_named(weights.game)
        self._layout: Layout = layout
        self._has_outlook = weights.network.head == "dual"  # else the outlook stays zero
        self.batch = batch
        self._settings = {
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            # Several actors share a machine: with pinning all of them would run on its first cores.
            "ENABLE_CPU_PINNING": False,
        }
        self._shapes = functools.partial(input_shapes, weights.network, self._game, layout)
        self._slots = [_Slot(self._game, batch, self._shapes, layout) for _ in range(slots)]
        weakref.finalize(self, _finish, self._slots)
        self._sizes: set[int] = set()
        self.take(self.prepare(weights))

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Compute in the caller's thread: waking the stream's thread costs 0.1 ms, as much as a batch of 1."""
        request = self._fill(0, own, opp)
        request.infer()
        return self._slots[0].answers()

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Write the inputs and start the slot's request; the outputs of padding rows are dropped."""
        self._fill(slot, own, opp).start_async()

    def collect(self, slot: int) -> Answers:
        """Wait for the slot's request."""
        self._slots[slot].request.wait()
        return self._slots[slot].answers()

    def prepare(self, weights: Weights) -> _Version:
        """Build and compile the graph, and run it once at every size used so far: the first run of each is slow."""
        compiled = _core().compile_model(build_graph(weights, self._layout), "CPU", self._settings)
        requests = [compiled.create_infer_request() for _ in self._slots]
        for size in tuple(self._sizes):
            for index, shape in enumerate(self._shapes(size)):
                requests[0].set_input_tensor(index, openvino.Tensor(np.zeros(shape, np.float32)))
            requests[0].infer()
        return _Version(requests, weights.arrays.get(LINES_TABLE))

    def take(self, prepared: _Version) -> None:
        """Use the new requests from now on; a pending one stays its slot's until it is collected."""
        self._version = prepared

    def _fill(self, slot: int, own: Masks, opp: Masks) -> Any:
        """Write the positions' planes and sums of lines to the slot's buffers; return its request, bound to them."""
        place, size = self._slots[slot], padded(len(own), self.batch)
        self._sizes.add(size)
        place.count, place.request = len(own), self._version.requests[slot]
        batch = place.batch_of(size)
        write_planes(self._game.id, own, opp, batch.planes)
        if self._version.table is not None:
            rows = place.rows[: len(own)]
            write_rows(batch.planes[: len(own)], *lines_of(self._game.size), rows)
            sum_rows(self._version.table, rows, *batch.strides, batch.sums)
        for index, tensor in enumerate(batch.inputs):
            place.request.set_input_tensor(index, tensor)
        place.request.set_output_tensor(0, batch.logits)
        if self._has_outlook:
            place.request.set_output_tensor(1, batch.outlook)
        return place.request


def _finish(slots: list[_Slot]) -> None:
    """Wait for requests that nobody collected: they write to the slots' buffers, which are freed next."""
    for slot in slots:
        if slot.request is not None:
            slot.request.wait()


class _Version(NamedTuple):
    """One compiled version of the network."""

    requests: list[Any]
    """One for each slot."""
    table: NDArray[np.float32] | None  # [R, C]  of the lines, if the network looks them up


class _Slot:
    """The buffers of one batch, and its request."""

    def __init__(self, game: Game, batch: int, shapes: Callable[[int], list[tuple[int, ...]]], layout: Layout) -> None:
        """`shapes` returns the input shapes of a batch of a given size."""
        self._game, self._shapes, self._layout = game, shapes, layout
        self._inputs = [np.zeros(math.prod(shape), np.float32) for shape in shapes(batch)]
        self.rows = np.zeros((batch, game.squares, DIRECTIONS), np.int32)
        """Rows of the table of lines, if there is one."""
        self._logits = np.zeros((batch, game.actions), np.float32)
        self._outlook = np.zeros((batch, OUTLOOKS), np.float32)
        self._batches: dict[int, _Batch] = {}
        self.request: Any = None
        self.count = 0

    def answers(self) -> Answers:
        """Return the outputs of the last batch."""
        return self._logits[: self.count], self._outlook[: self.count]

    def batch_of(self, size: int) -> _Batch:
        """Return the buffers of a batch of `size` positions."""
        if size not in self._batches:
            inputs = [
                whole[: math.prod(shape)].reshape(shape)
                for whole, shape in zip(self._inputs, self._shapes(size), strict=True)
            ]
            boards = self._layout == "boards"
            self._batches[size] = _Batch(
                planes=inputs[0] if boards else inputs[0][0].transpose(3, 0, 1, 2),
                sums=inputs[-1].reshape(-1, inputs[-1].shape[-1]),
                strides=(self._game.squares, 1) if boards else (1, size),
                inputs=[_shared(each) for each in inputs],
                logits=_shared(self._logits[:size]),
                outlook=_shared(self._outlook[:size]),
            )
        return self._batches[size]


class _Batch(NamedTuple):
    """The part of a slot's buffers that a batch of one size uses."""

    planes: NDArray[np.float32]  # [B, 4, N, N], with the strides of the layout
    sums: NDArray[np.float32]  # [B*N*N, C]  the last input as rows: sums of lines, if the network has lines
    strides: tuple[int, int]
    """Rows of `sums` from a position to the next, and from a square to the next."""
    inputs: list[Any]
    logits: Any
    outlook: Any


@functools.cache
def _core() -> Any:
    """Return the process's only Core, which lives as long as the process.

    On a CPU with AMX every Core's plugin installs its own signal stack and unmaps it on destruction without restoring
    the previous one; the next signal, such as Ctrl-C, then kills the process with SIGSEGV.
    """
    return openvino.Core()


def build_graph(weights: Weights, layout: Layout) -> Any:
    """Return the OpenVINO model: `input_shapes` -> logits [B, A] and, of a dual network, outlook [B, 2]."""
    graph, network = _Graph(weights, layout), weights.network
    game = game_named(weights.game)
    inputs = [op.parameter(list(shape), np.float32) for shape in input_shapes(network, game, layout, -1)]
    planes, *sums = inputs
    assert not isinstance(network, LOOKED_UP), "tables are looked up"
    if isinstance(network, StackConfig):
        return openvino.Model([op.result(graph.stack(network, planes))], inputs)
    stem = graph.convolution("stem", planes)
    for each in sums:
        stem = op.add(stem, graph.channels_second(each, game.size))
    features = op.relu(stem)
    for block in range(network.blocks):
        inner = op.relu(graph.convolution(f"blocks.{block}.first", features))
        features = op.relu(op.add(graph.convolution(f"blocks.{block}.second", inner), features))
    return openvino.Model([op.result(graph.policy(features)), op.result(graph.outlook(features))], inputs)


def input_shapes(network: NetworkConfig, game: Game, layout: Layout, batch: int) -> list[tuple[int, ...]]:
    """Return the shapes of a batch's inputs: the planes (see `Layout`) and, if there are lines, their sums.

    Sums are [B, N, N, C] or [1, N*N, B, C].
    """
    board = game.size, game.size
    boards = layout == "boards"
    planes = (batch, PLANES, *board) if boards else (1, PLANES, *board, batch)
    if not isinstance(network, ResNetConfig) or not network.lines:
        return [planes]
    return [planes, (batch, *board, network.channels) if boards else (1, game.squares, batch, network.channels)]


def _shared(buffer: NDArray[np.float32]) -> Any:
    return openvino.Tensor(buffer, shared_memory=True)


class _Graph:
    """Builds layers by the name of their weights; features are [B, C, N, N] or, with lanes, [1, C, N, N, B]."""

    def __init__(self, weights: Weights, layout: Layout) -> None:
        self._arrays = weights.arrays
        self._lanes = layout == "lanes"

    def convolution(self, layer: str, features: Node, padding: str = "same") -> Node:
        """A convolution that keeps the board's size, or one without padding (`valid`)."""
        bias = self._arrays[f"{layer}.bias"]
        shape = (1, -1, 1, 1, 1) if self._lanes else (1, -1, 1, 1)
        return op.add(self._convolved(layer, features, padding), op.constant(bias.reshape(shape)))

    def channels_second(self, sums: Node, size: int) -> Node:
        """Sums of lines as features; transposing five dimensions takes 6.8 us a position, four take 1.6."""
        features = op.transpose(sums, _integers(0, 3, 1, 2))
        return op.reshape(features, _integers(0, 0, size, size, -1), True) if self._lanes else features

    def stack(self, network: StackConfig, planes: Node) -> Node:
        """Outputs of all actions [B, A]; the pass has 0."""
        discs = _first_planes(planes, 2)
        seen = planes if network.planes == PLANES else discs
        squares = self._agent("agents.0", network, self._one_plane(seen, network.discs))
        if network.agents == 2:
            count = op.reduce_sum(self._rows(discs), _integers(1), True)
            even = op.equal(op.mod(count, op.constant(np.float32(2))), op.constant(np.float32(0)))
            second = self._one_plane(seen, network.discs[::-1])
            squares = op.select(even, squares, self._agent("agents.1", network, second))
        return op.pad(squares, _integers(0, 0), _integers(0, 1), "constant", op.constant(np.float32(0)))

    def _agent(self, agent: str, network: StackConfig, features: Node) -> Node:
        """Outputs of the squares, [B, N * N]."""
        for index in range(len(network.filters)):
            features = op.relu(self.convolution(f"{agent}.convolutions.{index}", features, network.padding))
        for index in range(len(network.pointwise)):
            features = self.convolution(f"{agent}.pointwise.{index}", features)
        if not network.is_flattened:  # there may be one bias per square
            squares = self._rows(self._convolved(f"{agent}.output", features, "same"))
            return op.add(squares, op.constant(self._arrays[f"{agent}.output.bias"][None]))
        features = self._rows(features)
        for index in range(len(network.hidden)):
            features = op.relu(self.dense(f"{agent}.hidden.{index}", features))
        return self.dense(f"{agent}.output", features)

    def _one_plane(self, planes: Node, discs: tuple[int, ...]) -> Node:
        """Two planes added to one, with a number for each; without numbers, the planes as they are."""
        if not discs:
            return planes
        factors = np.array(discs, np.float32).reshape((1, 2, 1, 1, 1) if self._lanes else (1, 2, 1, 1))
        return op.reduce_sum(op.multiply(planes, op.constant(factors)), _integers(1), True)

    def _convolved(self, layer: str, features: Node, padding: str) -> Node:
        """A convolution without its bias."""
        weight = self._arrays[f"{layer}.weight"]
        weight = weight.reshape(*weight.shape, *[1] * ((5 if self._lanes else 4) - weight.ndim))
        widths = weight.shape[2:]
        before = [(width - 1) // 2 if padding == "same" else 0 for width in widths]
        after = [width // 2 if padding == "same" else 0 for width in widths]
        ones = [1] * len(widths)
        return op.convolution(features, op.constant(weight), ones, before, after, ones)

    def dense(self, layer: str, features: Node, first: int = 0, last: int | None = None) -> Node:
        """A dense layer, or its outputs `first` to `last` - 1."""
        weight, bias = self._arrays[f"{layer}.weight"][first:last], self._arrays[f"{layer}.bias"][first:last]
        product = op.matmul(features, op.constant(weight), False, True)
        return op.add(product, op.constant(bias[None]))

    def policy(self, tower: Node) -> Node:
        """Logits [B, A]: one per square, and the pass logit from the mean over the board."""
        features = op.relu(self.convolution("policy.features", tower))
        squares = self._rows(self.convolution("policy.square_logit", features))
        mean = self._rows(op.reduce_mean(features, _integers(2, 3), True))
        return op.concat([squares, self.dense("policy.pass_logit", mean)], 1)

    def outlook(self, tower: Node) -> Node:
        """Value and margin, [B, 2]."""
        features = self._rows(op.relu(self.convolution("value.features", tower)))
        hidden = op.relu(self.dense("value.hidden", features))
        chances = op.softmax(self.dense("value.output", hidden, 0, WDL), 1)
        win_minus_loss = np.array([[1], [0], [-1]], np.float32)
        value = op.matmul(chances, op.constant(win_minus_loss), False, False)
        return op.concat([value, op.tanh(self.dense("value.output", hidden, WDL, VALUE_OUTPUTS))], 1)

    def _rows(self, features: Node) -> Node:
        """One row per position, [B, C * N * N]."""
        if self._lanes:
            features = op.transpose(features, _integers(4, 1, 2, 3, 0))
        return op.reshape(features, _integers(0, -1), True)  # 0 copies the batch, -1 takes all the rest


def _first_planes(planes: Node, count: int) -> Node:
    return op.slice(planes, _integers(0), _integers(count), _integers(1), _integers(1))


def _integers(*values: int) -> Node:
    return op.constant(np.array(values, np.int64))
