"""Weights on their way from the learner to actors and gate: three channels, each holding its newest archive only.

latest      what the learner published last; self-play uses it
candidate   what the gate shall judge next; taken once, a newer one replaces an older one that still waits
gated       the champion; self-play uses it if `actors.weights=gated`
"""

from __future__ import annotations

from collections.abc import Iterator

from reversi.model.weights import Weights


class WeightStore:
    """The newest weights of each channel, as archives."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, bytes]] = {}
        self._candidate: bytes | None = None

    def publish(self, data: bytes, candidate: bool) -> None:
        """Take the learner's newest weights; `candidate` offers them to the gate as well."""
        self._hold("latest", data)
        if candidate:
            self._candidate = data

    def candidate(self) -> bytes | None:
        """Hand out the candidate that waits, once; None if there is none."""
        taken, self._candidate = self._candidate, None
        return taken

    def promoted(self, data: bytes) -> None:
        """Take the gate's new champion."""
        self._hold("gated", data)

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Return the archive of `channel` if its version is above `newer_than`, else None."""
        version, data = self._held.get(channel, (-1, None))
        return data if version > newer_than else None

    def version(self, channel: str) -> int:
        """Return the version that `fetch` would hand out, -1 while there is none."""
        return self._held.get(channel, (-1, b""))[0]

    def held(self) -> Iterator[tuple[int, bytes]]:
        """Yield (version, archive) of every channel that has one; two may hold the same."""
        yield from self._held.values()

    def _hold(self, channel: str, data: bytes) -> None:
        """Keep what is newer: a learner that goes on from a checkpoint begins with what it had published by then."""
        version = Weights.from_bytes(data, f"weights for {channel!r}").version
        if version > self.version(channel):
            self._held[channel] = (version, data)
