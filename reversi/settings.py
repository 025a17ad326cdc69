"""Range checks of configuration dataclasses, with one wording for all error messages."""

from __future__ import annotations

import math

from reversi.errors import ConfigError


def require(holds: bool, key: str, expected: str, got: object) -> None:
    """Raise ConfigError, `KEY must be EXPECTED, got GOT`, unless `holds`."""
    if not holds:
        raise ConfigError(f"{key} must be {expected}, got {got!r}")


def require_ranges(config: object, group: str, **ranges: tuple[float, float]) -> None:
    """Raise ConfigError unless each named field of `config` is within its range, or null if its type allows null.

    ranges  the minimum and maximum of each field, both inclusive; an infinite maximum allows every finite value
    """
    for name, (least, most) in ranges.items():
        value = getattr(config, name)
        if value is not None:
            expected = f"at least {least}" if most == math.inf else f"from {least} to {most}"
            require(least <= value <= most and value < math.inf, f"{group}.{name}", expected, value)
