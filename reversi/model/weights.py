"""`Weights`: one version of a network, batch norms folded in, as named arrays for files and transport.

A table is one array; patterns are four, of integers and floats.  A version is an integer, and its weights never change.
The file is an archive of kind "weights" whose header has the game, the rules and planes versions and the network;
reading checks all of them.  No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi import archive
from reversi.errors import ConfigError, CorruptFileError, IncompatibleModelError, UsageError
from reversi.files import read_bytes, write_atomic
from reversi.games.planes import PLANES, PLANES_VERSION
from reversi.games.rules import RULES_VERSION, Game, game_named
from reversi.model.config import (
    NetworkConfig,
    PatternConfig,
    ResNetConfig,
    StackConfig,
    TableConfig,
    network_from_json,
    network_to_json,
)
from reversi.model.line_patterns import table_rows
from reversi.model.table import TABLE_SHAPE, TABLE_SIZE
from reversi.patterns.shapes import shapes_of
from reversi.patterns.tables import phases_of

KIND, FORMAT = "weights", 1
LARGEST_VERSION = 2**31 - 1
"""Largest model version: records store the version in 32 bits."""
WDL = 3
"""Win, draw, loss, in this order, for the side to move."""
LINES_TABLE = "lines.table"
"""Name of the table of lines, whose rows the stem adds; it has no bias of its own."""
SMALLEST_REVERSI = 4
"""Squares a side of the smallest board of Reversi."""
VALUE_OUTPUTS = WDL + 1
"""Rows of the value head's last layer: the three WDL logits, then the margin before its tanh."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The arrays of one network version; `array_shapes` names them all."""

    game: str
    network: NetworkConfig
    version: int
    arrays: dict[str, NDArray[Any]] = field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the archive that `from_bytes` reads."""
        header = {
            "game": self.game,
            "network": network_to_json(self.network),
            "version": self.version,
            "rules_version": RULES_VERSION,
            "planes_version": PLANES_VERSION,
        }
        return archive.pack(KIND, FORMAT, self.arrays, header)

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Weights:
        """Read an archive and check that this version of the program can use it; `where` names its origin in errors.

        Raises CorruptFileError for damaged or foreign bytes and IncompatibleModelError for a valid model of other
        rules, other planes, an unknown game or an unknown network.
        """
        arrays, header = archive.unpack(data, KIND, FORMAT, where)
        version = _version(header, where)
        try:
            name, description = str(header["game"]), dict(header["network"])
            versions = {"rules": header["rules_version"], "planes": header["planes_version"]}
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"{where}: the weights' header is incomplete ({error})") from error
        for what, ours in (("rules", RULES_VERSION), ("planes", PLANES_VERSION)):
            if versions[what] != ours:
                raise IncompatibleModelError(
                    f"{where}: expected a model of {what} version {ours}, got {versions[what]!r}"
                )
        try:
            game = game_named(name)
        except UsageError as error:
            raise IncompatibleModelError(f"{where}: {error}") from error
        network = network_from_json(description, where)
        try:
            expected = array_shapes(network, game.size)
        except ConfigError as error:
            raise IncompatibleModelError(f"{where}: {error}") from error
        if {key: array.shape for key, array in arrays.items()} != expected:
            raise CorruptFileError(f"{where}: the arrays do not fit {network} on {game.name}")
        for key, array in arrays.items():
            if array.dtype != (dtype := array_dtype(network, key)) or not np.isfinite(array).all():
                raise CorruptFileError(f"{where}: expected {key} as finite {dtype} numbers")
            if isinstance(network, PatternConfig) and dtype == np.float32 and not (array > 0).all():
                raise CorruptFileError(f"{where}: expected every {key} above 0")
        return cls(game.name, network, version, arrays)

    def save(self, path: Path) -> None:
        """Write the archive to `path` atomically."""
        write_atomic(path, self.to_bytes())

    @classmethod
    def load(cls, path: Path) -> Weights:
        """Read the archive at `path`; a file that cannot be opened is a CorruptFileError too."""
        return cls.from_bytes(read_bytes(path, "a model", archive.MAX_BYTES), str(path))

    def check_game(self, game: Game) -> None:
        """Raise IncompatibleModelError unless this model was trained on `game`."""
        if self.game != game.name:
            raise IncompatibleModelError(
                f"expected a model for {game.name}, got version {self.version} for {self.game}"
            )


def version_of(data: bytes, where: str) -> int:
    """Return the version of an archive of weights; see `archive.read_header` for what is checked."""
    return _version(archive.read_header(data, KIND, FORMAT, where), where)


def array_shapes(network: NetworkConfig, size: int) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every array of `network`'s weights: a weight and a bias for each layer, and tables.

    Raises ConfigError for a network that does not support boards of `size` squares a side.
    """
    if isinstance(network, TableConfig):
        if size > TABLE_SIZE:
            raise ConfigError(
                f"network table wants a game of at most {TABLE_SIZE}x{TABLE_SIZE} squares, got {size}x{size}"
            )
        return {"q": TABLE_SHAPE}
    if isinstance(network, PatternConfig):
        if size < SMALLEST_REVERSI:
            raise ConfigError(f"network patterns wants a board of Reversi, got {size}x{size}")
        phases = phases_of(size * size, network.phase_discs)
        tables = (phases, shapes_of(network.patterns, size).weights)
        return {"tables": tables, "bias": (phases,), "width": (phases,), "temperature": (phases,)}
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, shape in layer_shapes(network, size).items():
        shapes[f"{layer}.weight"], shapes[f"{layer}.bias"] = shape, shape[:1]
        if isinstance(network, StackConfig) and network.square_bias and layer.endswith(".output"):
            shapes[f"{layer}.bias"] = (size * size,)
    if isinstance(network, ResNetConfig) and network.lines:
        shapes[LINES_TABLE] = (table_rows(size), network.channels)
    return shapes


def array_dtype(network: NetworkConfig, name: str) -> np.dtype[Any]:
    """Return the type of one of a network's arrays: float32, but for the integers of patterns, in 1/64 disc."""
    whole = isinstance(network, PatternConfig) and name in ("tables", "bias")
    return np.dtype(np.int16 if whole else np.float32)


def layer_shapes(network: ResNetConfig | StackConfig, size: int) -> dict[str, tuple[int, ...]]:
    """Return the weight shape of every layer used in play, in order, on a board of `size` squares a side.

    Convolutions are [out, in, height, width], dense layers [out, in].  The owner head, used only in training, is
    omitted.
    """
    if isinstance(network, StackConfig):
        layers = agent_shapes(network, size)
        return {f"agents.{agent}.{layer}": shape for agent in range(network.agents) for layer, shape in layers.items()}
    tower, policy, value = network.channels, network.policy_channels, network.value_channels
    blocks = {
        f"blocks.{block}.{part}": (tower, tower, 3, 3)
        for block in range(network.blocks)
        for part in ("first", "second")
    }
    return {
        "stem": (tower, PLANES, 3, 3),
        **blocks,
        "policy.features": (policy, tower, 1, 1),
        "policy.square_logit": (1, policy, 1, 1),
        "policy.pass_logit": (1, policy),
        "value.features": (value, tower, 1, 1),
        "value.hidden": (network.value_hidden, value * size * size),
        "value.output": (VALUE_OUTPUTS, network.value_hidden),
    }


def agent_shapes(network: StackConfig, size: int) -> dict[str, tuple[int, ...]]:
    """Return the weight shape of every layer of one agent of a stack, in order; see `layer_shapes`.

    Raises ConfigError if the convolutions shrink a board of `size` squares a side to nothing.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    features, side = network.planes, size
    for index, filters in enumerate(network.filters):
        shapes[f"convolutions.{index}"] = (filters, features, network.width, network.width)
        features = filters
        side -= network.width - 1 if network.padding == "valid" else 0
    if side < 1:
        raise ConfigError(f"network.filters without padding leave nothing of a board of {size}x{size}")
    if not network.is_flattened:
        return {**shapes, "output": (1, features, 1, 1)}
    for index, units in enumerate(network.pointwise):
        shapes[f"pointwise.{index}"] = (units, features)
        features = units
    features *= side * side
    for index, units in enumerate(network.hidden):
        shapes[f"hidden.{index}"] = (units, features)
        features = units
    return {**shapes, "output": (size * size, features)}


def _version(header: archive.Header, where: str) -> int:
    version = header.get("version")
    if type(version) is not int or not 0 <= version <= LARGEST_VERSION:
        raise CorruptFileError(f"{where}: expected a version from 0 to {LARGEST_VERSION}, got {version!r}")
    return version
