"""`Gated`: which version of a registry is its champion, and the rollbacks that people ordered; the file gated.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated

from reversi import json
from reversi.errors import UsageError
from reversi.model.weights import LARGEST_VERSION
from reversi.settings import between, build, reading, require, require_ranges

MOST_REASON = 500
"""Longest reason of a rollback, in characters."""


@dataclass(frozen=True, kw_only=True)
class Rollback:
    """An order of a person that another promoted version be the champion."""

    withdrawn: Annotated[int, between(0, LARGEST_VERSION)]
    """The champion until then."""
    version: Annotated[int, between(0, LARGEST_VERSION)]
    """The champion since then: an older version or, to take a rollback back, a newer one."""
    reason: str
    created: str
    """When it was ordered, ISO 8601, UTC."""

    def __post_init__(self) -> None:
        require_ranges(self, "rollbacks")
        for text in (self.reason, self.created):
            require(text.isprintable() and 0 < len(text) <= MOST_REASON, "rollbacks", "text of one line", text[:80])

    def __str__(self) -> str:
        return f"rolled back from version {self.withdrawn} to {self.version} on {self.created[:10]}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Gated:
    """What gated.json says."""

    version: Annotated[int, between(0, LARGEST_VERSION)]
    """The champion."""
    sha256: str = ""
    """SHA-256 of its model.safetensors."""
    rollbacks: tuple[Rollback, ...] = field(default=())
    """All rollbacks, oldest first."""

    def __post_init__(self) -> None:
        require_ranges(self, "")

    @property
    def highest(self) -> int:
        """The highest version that has been champion."""
        return max(self.version, *(each.withdrawn for each in self.rollbacks), self.version)

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Gated:
        """Read gated.json, which `where` names in errors; CorruptFileError if it is invalid."""
        with reading(where, "a version"):
            values = json.loads(text)
            require(isinstance(values, dict), "it", "an object", values)
            require(type(values.get("version")) is int, "version", "an integer", values.get("version"))
            rollbacks = values.get("rollbacks", [])
            require(isinstance(rollbacks, list), "rollbacks", "a list", rollbacks)
            return cls(
                version=values["version"],
                sha256=str(values.get("sha256", "")),
                rollbacks=tuple(build(Rollback, each, "rollbacks") for each in rollbacks),
            )

    def to_json(self) -> bytes:
        """Return the text of gated.json."""
        return (json.dumps(asdict(self), indent=2) + "\n").encode()


def withdrawal(version: int, rollbacks: Sequence[Rollback]) -> Rollback | None:
    """Return the rollback by which a promoted version cannot be champion any more; None if it can."""
    found = None
    for each in rollbacks:
        if each.version < version <= each.withdrawn:
            found = each
        elif each.version == version:
            found = None
    return found


def reason_of(text: str) -> str:
    """Return the reason of a rollback on one line; UsageError for none, a long one or one with control characters."""
    reason = " ".join(text.split())
    if not (reason.isprintable() and 0 < len(reason) <= MOST_REASON):
        raise UsageError(f"expected a reason of 1 to {MOST_REASON} printable characters, got {text!r:.80}")
    return reason
