"""`NetworkConfig`: the shape of a network, as `conf/network/*.yaml` sets it and every model's header repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from reversi.errors import ConfigError, IncompatibleModelError

KINDS = ("dual_resnet",)
"""Network kinds this version of the program can build."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """A dual residual network: one tower, a policy head and a value head, in the manner of AlphaGo Zero."""

    kind: str = "dual_resnet"
    """Which network; `dual_resnet` is the only kind so far."""

    blocks: int
    """Residual blocks, each two 3x3 convolutions. More see further and cost in proportion; 1 to 64. AlphaZero: 19."""

    channels: int
    """Feature planes of the tower. Cost grows with the square; multiples of 16 use the CPU best. AlphaZero: 256."""

    policy_channels: int = 16
    """Planes of the policy head's 1x1 convolution, before one logit per square. AlphaGo Zero: 2, then a dense layer."""

    value_channels: int = 4
    """Planes of the value head's 1x1 convolution, before it is flattened. AlphaGo Zero: 1."""

    value_hidden: int = 64
    """Units of the value head's hidden layer. Widen it together with `channels`. AlphaGo Zero: 256."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"network.kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        for key, most in _LARGEST.items():
            value = getattr(self, key)
            if type(value) is not int or not 1 <= value <= most:
                raise ConfigError(f"network.{key} must be an integer from 1 to {most}, got {value!r}")

    def __str__(self) -> str:
        """`4 blocks x 32 channels`, as tables and model cards print it."""
        return f"{self.blocks} blocks x {self.channels} channels"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any], where: str) -> NetworkConfig:
        """Return the config a header holds; one that this version cannot build is an IncompatibleModelError."""
        names = {field.name for field in fields(cls)}
        if set(values) != names:
            odd = ", ".join(sorted(names ^ set(values)))
            raise IncompatibleModelError(f"{where}: the network's description differs from this version's in: {odd}")
        try:
            return cls(**values)
        except ConfigError as error:
            raise IncompatibleModelError(f"{where}: {error}") from error


_LARGEST = {"blocks": 64, "channels": 1024, "policy_channels": 1024, "value_channels": 1024, "value_hidden": 4096}
