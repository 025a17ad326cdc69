"""`to_onnx`: a model as an ONNX file for other programs, its graph built directly from the weights; no torch.

    planes [B, 4, N, N] -> policy [B, A], wdl [B, 3], margin [B]    a dual network
                        -> policy [B, A]                            a network with only a policy
                        -> q [B, A]                                 action values, of a network or a table
                        -> wdl [B, 3], margin [B]                   patterns

The file needs nothing else: the rows of the table of lines are computed in the graph.  They are computed in int32, as
OpenVINO rounds floats to bf16 on CPUs that have it, which would confuse rows.  docs/export.md describes the file for
its users.  The owner head is used only in training and is not in the weights.

Source: https://github.com/onnx/onnx/blob/main/docs/IR.md (the format) and Operators.md (the operators).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from reversi import __version__
from reversi.errors import IncompatibleModelError
from reversi.games.planes import PLANES, PLANES_VERSION
from reversi.games.rules import RULES_VERSION, Game, game_named
from reversi.model.config import Head, PatternConfig, ResNetConfig, StackConfig, TableConfig, network_to_json
from reversi.model.line_patterns import DIRECTIONS, line_squares, lines_of
from reversi.model.weights import LINES_TABLE, WDL, Weights
from reversi.patterns.shapes import instances_of, shapes_of
from reversi.patterns.tables import DISC, START_DISCS

OPSET = 13
IR_VERSION = 7
"""Those of ONNX 1.8, December 2020: old enough for every runtime in use."""

MAX_BYTES = (2 << 30) - (1 << 20)
"""Largest weights exported: a protobuf message ends at 2 GiB, and the rest of the file needs less than 1 MiB."""

BATCH = "batch"
"""Name of the dynamic dimension."""


class Port(NamedTuple):
    """An input or output of the graph; all are float32."""

    name: str
    shape: tuple[str | int, ...]
    """Sizes; `BATCH` is the dynamic one."""
    meaning: str


def input_port(game: Game) -> Port:
    """Return the only input: the planes of `reversi.games.planes`."""
    meaning = (
        "1 or 0: discs of the side to move; discs of the opponent; legal moves of the side to move; legal moves of "
        "the opponent, as if it were to move. Rows from rank 1 (the top), columns from file a"
    )
    return Port("planes", (BATCH, PLANES, game.size, game.size), meaning)


def output_ports(head: Head, game: Game) -> list[Port]:
    """Return the outputs of a network with this head, in order; all are from the view of the side to move."""
    actions, squares = (BATCH, game.actions), game.squares
    order = f"row * {game.size} + column, then the pass as {squares}; illegal actions included"
    policy = Port("policy", actions, f"logits of the actions, {order}")
    if head == "q":
        return [Port("q", actions, f"values of the actions, -1 loss to 1 win, {order}; the pass, not learned, has 0")]
    if head == "policy":
        return [policy._replace(meaning=f"{policy.meaning}; the pass, not learned, has 0")]
    outlook = [
        Port("wdl", (BATCH, WDL), "probabilities of win, draw and loss"),
        Port("margin", (BATCH,), f"expected own discs minus opponent's at the end, divided by {squares}; -1 to 1"),
    ]
    return outlook if head == "margin" else [policy, *outlook]


def weights_sha256(weights: Weights) -> str:
    """Return the SHA-256 of model.safetensors with these weights, as the registry and `reversi pull` print it."""
    return hashlib.sha256(weights.to_bytes()).hexdigest()


def to_onnx(weights: Weights) -> bytes:
    """Return the ONNX file of a model of any kind; equal weights give equal bytes.

    Raises IncompatibleModelError for weights that exceed protobuf's 2 GiB.
    """
    size = sum(array.nbytes for array in weights.arrays.values())
    if size > MAX_BYTES:
        raise IncompatibleModelError(f"expected weights of at most {MAX_BYTES} bytes for an ONNX file, got {size}")
    game, network = game_named(weights.game), weights.network
    planes, outputs = input_port(game), output_ports(network.head, game)
    graph = _Graph(weights, game)
    if isinstance(network, TableConfig):
        graph.table(outputs[0].name)
    elif isinstance(network, StackConfig):
        graph.stack(network, outputs[0].name)
    elif isinstance(network, PatternConfig):
        graph.patterns(network)
    else:
        graph.dual(network)
    title = f"{game.name}, version {weights.version}, {network}"
    model = helper.make_model(
        helper.make_graph(graph.nodes, game.name, [_info(planes)], [*map(_info, outputs)], graph.initializers),
        producer_name="reversi-zero",
        producer_version=__version__,
        model_version=weights.version,
        doc_string=title,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    helper.set_model_props(model, _properties(weights, game, [planes, *outputs]))
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _properties(weights: Weights, game: Game, ports: list[Port]) -> dict[str, str]:
    """Return what the file says about itself, its metadata_props; every port's meaning is under the port's name."""
    return {
        "game": game.name,
        "board_size": str(game.size),
        "version": str(weights.version),
        "network": json.dumps(network_to_json(weights.network)),
        "rules_version": str(RULES_VERSION),
        "planes_version": str(PLANES_VERSION),
        "weights_sha256": weights_sha256(weights),
        **{port.name: port.meaning for port in ports},
    }


def _info(port: Port) -> Any:
    return helper.make_tensor_value_info(port.name, TensorProto.FLOAT, port.shape, port.meaning)


class _Graph:
    """Nodes and initializers, added in the order of computation; a value is referred to by its name.

    Features are [B, C, N, N].  Weights have their names of `Weights`, constants those of their node and place.
    """

    def __init__(self, weights: Weights, game: Game) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._arrays, self._game = weights.arrays, game

    def dual(self, network: ResNetConfig) -> None:
        """Write all heads of a dual network."""
        stem = self._convolution("stem", "planes")
        if network.lines:
            stem = self._node("Add", "stem.lines", stem, self._lines(network.channels))
        tower = self._node("Relu", "stem.relu", stem)
        for block in (f"blocks.{index}" for index in range(network.blocks)):
            inner = self._node("Relu", f"{block}.first.relu", self._convolution(f"{block}.first", tower))
            second = self._convolution(f"{block}.second", inner)
            tower = self._node("Relu", f"{block}.relu", self._node("Add", f"{block}.sum", second, tower))
        policy = self._node("Relu", "policy.relu", self._convolution("policy.features", tower))
        squares = self._rows("policy.squares", self._convolution("policy.square_logit", policy))
        mean = self._rows("policy.mean", self._node("GlobalAveragePool", "policy.pool", policy))
        self._node("Concat", "policy", squares, self._dense("policy.pass_logit", mean), axis=1)
        features = self._node("Relu", "value.relu", self._convolution("value.features", tower))
        hidden = self._dense("value.hidden", self._rows("value.rows", features))
        output = self._dense("value.output", self._node("Relu", "value.hidden.relu", hidden))
        self._node("Softmax", "wdl", self._part("value.wdl", output, 0, WDL), axis=1)
        margin = self._node("Gather", "value.margin", output, self._constant("value.margin.index", WDL), axis=1)
        self._node("Tanh", "margin", margin)

    def stack(self, network: StackConfig, output: str) -> None:
        """Write the squares' numbers and the pass's 0 to `output`; of two agents, those of the one on turn."""
        seen = "planes" if network.planes == PLANES else self._part("planes.seen", "planes", 0, 2)
        squares = self._agent("agents.0", network, self._one_plane("agents.0.seen", seen, network.discs))
        if network.agents == 2:
            discs = self._node("Cast", "discs", self._side("discs.rows", 0, 2), to=TensorProto.INT32)
            count = self._sum("discs.count", discs, 1, keep=1)
            odd = self._node("Mod", "discs.parity", count, self._constant("discs.two", 2, np.int32))
            second = self._node("Cast", "discs.odd", odd, to=TensorProto.BOOL)
            seen = self._one_plane("agents.1.seen", seen, network.discs[::-1])
            squares = self._node("Where", "agents", second, self._agent("agents.1", network, seen), squares)
        self._with_pass(output, squares)

    def table(self, output: str) -> None:
        """Write the table's row of every position, and the pass's 0, to `output`."""
        powers = self._constant("table.powers", 3 ** np.arange(self._game.squares), np.int32)
        row = self._sum("table.row", self._node("Mul", "table.terms", self._digits(), powers), 1)
        table = self._added("table", self._arrays["q"])  # "q" is the output
        self._with_pass(output, self._node("Gather", "table.values", table, row, axis=0))

    def patterns(self, network: PatternConfig) -> None:
        """Write the outlook of the position itself, without a look at its moves: the side to move must have one."""
        game, arrays = self._game, self._arrays
        shapes, instances = shapes_of(network.patterns, game.size), instances_of(network.patterns, game.size)
        longest = max(map(len, instances))
        squares, powers = np.zeros((2, len(instances), longest), np.int32)
        for row, instance in enumerate(instances):
            squares[row, : len(instance)] = instance
            powers[row, : len(instance)] = 3 ** np.arange(len(instance))
        digits = self._digits()
        read = self._node("Gather", "patterns.digits", digits, self._constant("patterns.squares", squares), axis=1)
        terms = self._node("Mul", "patterns.terms", read, self._constant("patterns.powers", powers, np.int32))
        offsets = self._constant("patterns.offsets", shapes.lookup.offset, np.int32)
        raw = self._node("Add", "patterns.raw", self._sum("patterns.index", terms, 2), offsets)
        shared = self._node("Gather", "patterns.shared", self._added("patterns.canonical", shapes.canonical), raw)
        phase = self._phase(network, len(arrays["bias"]))
        column = self._node("Unsqueeze", "phase.column", phase, self._constant("phase.axis", [1]))
        start = self._node("Mul", "phase.start", column, self._constant("phase.weights", shapes.weights, np.int32))
        entry = self._node("Add", "patterns.entry", shared, start)
        table = self._added("patterns.table", arrays["tables"].astype(np.int32).ravel())
        total = self._sum("patterns.sum", self._node("Gather", "patterns.values", table, entry), 1)
        bias = self._added("patterns.bias", arrays["bias"].astype(np.int32))
        margin = self._node("Add", "patterns.margin", total, self._node("Gather", "phase.bias", bias, phase))
        self._outlook(self._node("Cast", "patterns.float", margin, to=TensorProto.FLOAT), phase)

    def _phase(self, network: PatternConfig, phases: int) -> str:
        """Return the phase of every position, int32[B], as `patterns.tables.phase_of` does."""
        discs = self._sum(
            "discs", self._node("Cast", "discs.rows", self._side("discs.both", 0, 2), to=TensorProto.INT32), 1
        )
        placed = self._node("Sub", "discs.placed", discs, self._constant("discs.start", START_DISCS, np.int32))
        phase = self._node("Div", "phase.any", placed, self._constant("phase.discs", network.phase_discs, np.int32))
        ends = (self._constant("phase.first", 0, np.int32), self._constant("phase.last", phases - 1, np.int32))
        return self._node("Min", "phase", self._node("Max", "phase.low", phase, ends[0]), ends[1])

    def _outlook(self, margin: str, phase: str) -> None:
        """Write margin and wdl of `margin`, float32[B] in 1/64 disc, as `patterns.evaluate.expected_result` does."""
        board = self._constant("margin.board", DISC * self._game.squares, np.float32)
        ends = (self._constant("margin.least", -1, np.float32), self._constant("margin.most", 1, np.float32))
        self._node("Clip", "margin", self._node("Div", "margin.share", margin, board), *ends)
        discs = self._node("Div", "margin.discs", margin, self._constant("margin.disc", DISC, np.float32))
        width = self._node("Gather", "wdl.width", self._added("patterns.width", self._arrays["width"]), phase)
        one = self._constant("wdl.draw", 1, np.float32)
        columns = []
        for name, side in (("win", discs), ("loss", self._node("Neg", "margin.other", discs))):
            over = self._node("Div", f"wdl.{name}.widths", self._node("Sub", f"wdl.{name}.over", side, one), width)
            chance = self._node("Sigmoid", f"wdl.{name}", over)
            columns.append(
                self._node("Unsqueeze", f"wdl.{name}.column", chance, self._constant(f"wdl.{name}.axis", [1]))
            )
        decided = self._node("Add", "wdl.decided", *columns)
        draw = self._node("Sub", "wdl.drawn", one, decided)
        self._node("Concat", "wdl", columns[0], draw, columns[1], axis=1)

    def _lines(self, channels: int) -> str:
        """Return the sum of every square's four rows of the table of lines, [B, C, N, N], as `line_table.py` does."""
        lines, size = lines_of(self._game.size), self._game.size
        squares, steps = line_squares(size)
        digits = self._node("Gather", "lines.digits", self._digits(), self._constant("lines.squares", squares), axis=1)
        terms = self._node("Mul", "lines.terms", digits, self._constant("lines.steps", steps, np.int32))
        patterns = self._sum("lines.patterns", terms, 2)
        table, total = self._weight(LINES_TABLE), ""
        for d in range(DIRECTIONS):
            where = self._constant(f"lines.{d}.line", lines.line[:, d])
            offset = self._constant(f"lines.{d}.offset", lines.offset[:, d], np.int32)
            through = self._node("Gather", f"lines.{d}.patterns", patterns, where, axis=1)
            rows = self._node("Add", f"lines.{d}.rows", through, offset)
            row = self._node("Gather", f"lines.{d}", table, rows, axis=0)
            total = self._node("Add", f"lines.{d}.sum", total, row) if total else row
        features = self._node("Transpose", "lines.features", total, perm=[0, 2, 1])
        shape = self._constant("lines.shape", [-1, channels, size, size])
        return self._node("Reshape", "lines.planes", features, shape)

    def _digits(self) -> str:
        """Return int32[B, N*N]: 1 on the own discs, 2 on the opponent's, else 0."""
        own, opp = (
            self._node("Cast", side, self._side(f"{side}.rows", plane, plane + 1), to=TensorProto.INT32)
            for plane, side in enumerate(("own", "opp"))
        )
        return self._node("Add", "digits", own, self._node("Add", "opp.twice", opp, opp))

    def _side(self, name: str, first: int, last: int) -> str:
        """Return planes `first` to `last` - 1 as rows."""
        return self._rows(name, self._part(f"{name}.planes", "planes", first, last))

    def _agent(self, agent: str, network: StackConfig, features: str) -> str:
        """Return the numbers of the squares, [B, N*N], of one agent of a stack."""
        for layer in (f"{agent}.convolutions.{index}" for index in range(len(network.filters))):
            convolved = self._convolution(layer, features, padded=network.padding == "same")
            features = self._node("Relu", f"{layer}.relu", convolved)
        output = f"{agent}.output"
        for layer in (f"{agent}.pointwise.{index}" for index in range(len(network.pointwise))):
            weight = self._added(f"{layer}.weight", self._arrays[f"{layer}.weight"][..., None, None])
            features = self._node("Conv", layer, features, weight, self._weight(f"{layer}.bias"), kernel_shape=[1, 1])
        if not network.is_flattened:  # there may be one bias per square
            squares = self._rows(f"{output}.rows", self._convolution(output, features, biased=False))
            return self._node("Add", f"{output}.sum", squares, self._weight(f"{output}.bias"))
        features = self._rows(f"{agent}.rows", features)
        for layer in (f"{agent}.hidden.{index}" for index in range(len(network.hidden))):
            features = self._node("Relu", f"{layer}.relu", self._dense(layer, features))
        return self._dense(output, features)

    def _one_plane(self, name: str, planes: str, discs: tuple[int, ...]) -> str:
        """Two planes added to one, with a number for each; without numbers, the planes as they are."""
        if not discs:
            return planes
        factors = self._constant(f"{name}.discs", np.array(discs, np.float32).reshape(1, 2, 1, 1), np.float32)
        return self._sum(name, self._node("Mul", f"{name}.terms", planes, factors), 1, keep=1)

    def _convolution(self, layer: str, features: str, *, padded: bool = True, biased: bool = True) -> str:
        """A convolution, `padded` to keep the board's size; an even width pads more below and right."""
        widths = self._arrays[f"{layer}.weight"].shape[2:]
        before, after = ([(n - 1) // 2 for n in widths], [n // 2 for n in widths]) if padded else ([0, 0], [0, 0])
        bias = [self._weight(f"{layer}.bias")] if biased else []
        weight = self._weight(f"{layer}.weight")
        return self._node("Conv", layer, features, weight, *bias, kernel_shape=widths, pads=before + after)

    def _dense(self, layer: str, rows: str) -> str:
        weight, bias = self._weight(f"{layer}.weight"), self._weight(f"{layer}.bias")
        return self._node("Gemm", layer, rows, weight, bias, transB=1)

    def _rows(self, name: str, features: str) -> str:
        """One row per position."""
        return self._node("Flatten", name, features, axis=1)

    def _part(self, name: str, values: str, first: int, last: int) -> str:
        """Columns, or planes, `first` to `last` - 1."""
        edges = (("first", first), ("last", last), ("axis", 1))
        return self._node("Slice", name, values, *(self._constant(f"{name}.{edge}", [at]) for edge, at in edges))

    def _sum(self, name: str, values: str, axis: int, keep: int = 0) -> str:
        return self._node("ReduceSum", name, values, self._constant(f"{name}.axis", [axis]), keepdims=keep)

    def _with_pass(self, name: str, squares: str) -> str:
        return self._node("Pad", name, squares, self._constant(f"{name}.pads", [0, 0, 0, 1]))

    def _weight(self, name: str) -> str:
        return self._added(name, self._arrays[name])

    def _constant(self, name: str, values: Any, dtype: type[np.generic] = np.int64) -> str:
        return self._added(name, np.array(values, dtype))

    def _added(self, name: str, values: NDArray[Any]) -> str:
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def _node(self, operator: str, name: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name
