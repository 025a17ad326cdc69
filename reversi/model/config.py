"""`NetworkConfig`: the architecture of a network, set in `conf/network/*.yaml` and stored in every model's header.

There are four kinds: the dual residual network, plain stacks of layers, tables indexed by patterns of discs, and a
table of all positions.  The `head` is a network's output: `dual` is a policy and a value, `policy` only a policy, `q`
the value of every action, `margin` the expected margin, from which value and policy follow.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Literal

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.settings import LATER, between, is_later, require, require_ranges, value_of

Head = Literal["dual", "policy", "q", "margin"]


@dataclass(frozen=True, kw_only=True)
class ResNetConfig:
    """A dual residual network: one tower, a policy head and a value head, in the manner of AlphaGo Zero."""

    kind: Literal["dual_resnet"] = "dual_resnet"
    """Which network."""

    blocks: int
    """Residual blocks of two 3x3 convolutions each. More blocks see further, at proportional cost; 1 to 64. AlphaZero:
    19."""

    channels: int
    """Feature planes of the tower. Cost grows with the square; multiples of 16 use the CPU best. AlphaZero: 256."""

    policy_channels: int
    """Planes of the policy head's 1x1 convolution, before one logit per square. AlphaGo Zero: 2, then a dense layer."""

    value_channels: int
    """Planes of the value head's 1x1 convolution, before it is flattened. AlphaGo Zero: 1."""

    value_hidden: int
    """Units of the value head's hidden layer. Widen it together with `channels`. AlphaGo Zero: 256."""

    lines: bool = field(default=False, metadata=LATER)
    """Whether the stem also looks up each square's whole row, column and diagonals in a learned table
    (`line_patterns.py`): a full-board view in one step, worth more blocks than it costs. The table has `channels`
    numbers in each of 264 (3x3), 1,074 (4x4), 19,137 (6x6) or 283,764 (8x8) rows: with 32 channels 2.4 MB on 6x6 and
    36 MB on 8x8; training keeps several copies of half of the rows. So large a table overfits a few thousand games: on
    8x8 it needs many more. AlphaZero: false."""

    def __post_init__(self) -> None:
        _check_kind(self.kind, "dual_resnet")
        for key, most in _LARGEST.items():
            _check_integer(key, getattr(self, key), most)
        require(type(self.lines) is bool, "network.lines", "true or false", self.lines)

    def __str__(self) -> str:
        """`4 blocks x 32 channels`, as tables and model cards print it; `2 blocks x 32 channels, lines`."""
        return f"{self.blocks} blocks x {self.channels} channels{', lines' if self.lines else ''}"

    @property
    def head(self) -> Head:
        """A policy and a value."""
        return "dual"


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """A sequence of layers without skips: convolutions, then dense layers, then one number per square."""

    kind: Literal["stack"] = "stack"
    """Which network."""

    head: Literal["policy", "q"]
    """The meaning of the last layer: `policy`, the logit of a move; `q`, the value of playing it, from -1 to 1."""

    planes: int
    """Input planes: 1 (all discs, see `discs`), 2 (own discs, the opponent's) or 4 (also both sides' legal moves)."""

    filters: tuple[int, ...]
    """Feature planes of every convolution; empty for a network of dense layers only."""

    width: int
    """Side of the convolutions' kernels, 1 to 5."""

    padding: Literal["same", "valid"]
    """`same` keeps the board's size (even widths pad an extra row below and column right); `valid` shrinks it."""

    hidden: tuple[int, ...]
    """Units of every dense layer between the convolutions and the last layer; if this and `pointwise` are empty, the
    last layer is a 1x1 convolution."""

    square_bias: bool
    """Whether the last 1x1 convolution has a separate bias for every square."""

    dropout: float
    """Dropout rate in training, after every convolution and dense layer; 0 to below 1."""

    agents: int
    """1, or 2 networks without shared weights: one for positions with an even number of discs (Black to move, until a
    side passes) and one for the others."""

    discs: tuple[int, ...] = field(default=(), metadata=LATER)
    """Numbers that the only plane has on the two sides' discs, with 0 on empty squares: own and the opponent's; with
    two agents Black's and White's.  Empty unless `planes` is 1."""

    pointwise: tuple[int, ...] = field(default=(), metadata=LATER)
    """Units of linear layers between the convolutions and the dense layers, applied at every square by itself, without
    an activation; dense layers follow, or the last one alone."""

    def __post_init__(self) -> None:
        _check_kind(self.kind, "stack")
        for key, value, known in (
            ("head", self.head, ("policy", "q")),
            ("planes", self.planes, (1, 2, 4)),
            ("padding", self.padding, ("same", "valid")),
            ("agents", self.agents, (1, 2)),
        ):
            require(value in known, f"network.{key}", f"one of {', '.join(map(str, known))}", value)
        _check_integer("width", self.width, 5)
        for key, sizes, most in (
            ("filters", self.filters, 1024),
            ("pointwise", self.pointwise, 4096),
            ("hidden", self.hidden, 4096),
        ):
            fits = isinstance(sizes, tuple) and len(sizes) <= 64
            require(fits, f"network.{key}", "a list of at most 64 integers", sizes)
            for size in sizes:
                _check_integer(key, size, most)
        if not self.filters and not self.hidden:
            raise ConfigError("network.filters and network.hidden must not both be empty")
        if self.padding == "valid" and not self.is_flattened:
            raise ConfigError("network.padding must be same where network.hidden is empty: every square wants a number")
        if self.square_bias and self.is_flattened:
            raise ConfigError("network.square_bias must be false where network.hidden has dense layers")
        numbers = isinstance(self.discs, tuple) and all(type(n) is int and n and abs(n) <= 16 for n in self.discs)
        fits = numbers and len(self.discs) == (2 if self.planes == 1 else 0) and len({*self.discs}) == len(self.discs)
        expected = "two different integers from -16 to 16 without 0" if self.planes == 1 else "empty unless planes is 1"
        require(fits, "network.discs", expected, self.discs)
        fits = isinstance(self.dropout, int | float) and 0 <= self.dropout < 1
        require(fits, "network.dropout", "from 0 to below 1", self.dropout)

    def __str__(self) -> str:
        """`convolutions 4-8-16-32, dense 256-256`; `12 convolutions of 128`."""
        named = (("convolutions", self.filters), ("linear at every square", self.pointwise), ("dense", self.hidden))
        layers = ", ".join(_layers(name, sizes) for name, sizes in named if sizes)
        return layers if self.agents == 1 else f"{self.agents} x ({layers})"

    @property
    def is_flattened(self) -> bool:
        """Whether the last layer is a dense one over the whole board; else it is a 1x1 convolution."""
        return bool(self.pointwise or self.hidden)


@dataclass(frozen=True, kw_only=True)
class PatternConfig:
    """Tables indexed by patterns of discs, summed to an expected margin: a network for CPUs, a thousand times as fast
    as a tower."""

    kind: Literal["patterns"]
    """Which network."""

    patterns: tuple[str, ...]
    """Patterns as names of squares (`a1 b1 c1 d1 e1 f1 g1 h1`), each with all its images under the symmetries of the
    board: at most 12 squares, on the board, none twice; together they cover it.  A pattern of n squares has up to 3**n
    numbers a phase."""

    phase_discs: Annotated[int, between(1, 60)]
    """Discs placed in a phase, which has tables of its own.  More phases fit better and need more games.  Edax: 1,
    Logistello: 4."""

    def __post_init__(self) -> None:
        _check_kind(self.kind, "patterns")
        fits = isinstance(self.patterns, tuple) and 1 <= len(self.patterns) <= 64
        require(fits, "network.patterns", "a list of 1 to 64 patterns", self.patterns)
        require_ranges(self, "network")

    def __str__(self) -> str:
        """`13 patterns, phases of 4 discs`."""
        return f"{len(self.patterns)} patterns, phases of {self.phase_discs} discs"

    @property
    def head(self) -> Head:
        """The expected margin."""
        return "margin"


@dataclass(frozen=True, kw_only=True)
class TableConfig:
    """A table of the value of every action in every position, for games of at most nine squares."""

    kind: Literal["table"] = "table"
    """Which network."""

    def __post_init__(self) -> None:
        _check_kind(self.kind, "table")

    def __str__(self) -> str:
        """`table`."""
        return "table"

    @property
    def head(self) -> Head:
        """The value of every action."""
        return "q"


NetworkConfig = ResNetConfig | StackConfig | PatternConfig | TableConfig

LOOKED_UP = (PatternConfig, TableConfig)
"""Networks that are looked up: without layers, on the CPU alone."""


def network_to_json(network: NetworkConfig) -> dict[str, Any]:
    """Return the fields as plain JSON values, without `LATER` fields that have their default: older programs can
    read them."""
    silent = {each.name for each in fields(network) if is_later(each) and getattr(network, each.name) == each.default}
    values = {key: value for key, value in asdict(network).items() if key not in silent}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def network_from_json(values: Any, where: str) -> NetworkConfig:
    """Return the config in a header; IncompatibleModelError for one that this version cannot build."""
    try:
        network: NetworkConfig = value_of(NetworkConfig, values, "network")
        return network
    except ConfigError as error:
        raise IncompatibleModelError(f"{where}: {error}") from error


def _layers(name: str, sizes: tuple[int, ...]) -> str:
    if len(sizes) >= 5 and len(set(sizes)) == 1:
        return f"{len(sizes)} {name} of {sizes[0]}"
    return f"{name} {'-'.join(map(str, sizes))}"


def _check_kind(kind: object, expected: str) -> None:
    require(kind == expected, "network.kind", f"{expected} here", kind)


def _check_integer(key: str, value: object, most: int) -> None:
    require(type(value) is int and 1 <= value <= most, f"network.{key}", f"an integer from 1 to {most}", value)


_LARGEST = {"blocks": 64, "channels": 1024, "policy_channels": 1024, "value_channels": 1024, "value_hidden": 4096}
