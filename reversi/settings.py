"""What a configuration's dataclass says of a value that does not fit: one wording for all of them."""

from __future__ import annotations

import math

from reversi.errors import ConfigError


def require(holds: bool, key: str, expected: str, got: object) -> None:
    """Raise a ConfigError, `KEY must be EXPECTED, got GOT`, unless what is asked of the setting `key` holds."""
    if not holds:
        raise ConfigError(f"{key} must be {expected}, got {got!r}")


def require_ranges(config: object, group: str, **ranges: tuple[float, float]) -> None:
    """Raise a ConfigError unless each named field of `config` is within its range, or null where its type allows that.

    ranges  the least and the most of each field, both included; infinity as the most leaves it open, and is not in it
    """
    for name, (least, most) in ranges.items():
        value = getattr(config, name)
        if value is not None:
            expected = f"at least {least}" if most == math.inf else f"from {least} to {most}"
            require(least <= value <= most and value < math.inf, f"{group}.{name}", expected, value)
