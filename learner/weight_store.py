"""The weight store between the learner, the actors and the gate: three channels, each holding its newest archive only.

latest      the learner's newest weights; self-play uses them
candidate   the weights that the gate tests next; taken once, and replaced by newer ones while they wait
gated       the champion; self-play uses it if `actors.weights=gated`
"""

from __future__ import annotations

from collections.abc import Iterator

from reversi.model.weights import version_of


class WeightStore:
    """The newest weights of each channel, as archives."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, bytes]] = {}
        self._candidate: bytes | None = None

    def publish(self, data: bytes, candidate: bool) -> None:
        """Store the learner's newest weights; `candidate` also offers them to the gate."""
        self._hold("latest", data)
        if candidate:
            self._candidate = data

    def candidate(self) -> bytes | None:
        """Remove and return the waiting candidate; None if there is none."""
        taken, self._candidate = self._candidate, None
        return taken

    def promoted(self, data: bytes) -> None:
        """Store the gate's new champion."""
        self._hold("gated", data)

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        """Return the archive of `channel` if its version is above `newer_than`, else None."""
        version, data = self._held.get(channel, (-1, None))
        return data if version > newer_than else None

    def version(self, channel: str) -> int:
        """Return the version of `channel`, -1 if it is empty."""
        return self._held.get(channel, (-1, b""))[0]

    def held(self) -> Iterator[tuple[int, bytes]]:
        """Yield (version, archive) of every channel that is not empty; two channels may hold the same."""
        yield from self._held.values()

    def _hold(self, channel: str, data: bytes) -> None:
        """Keep the newer archive: a learner that resumes publishes again what it had published by its checkpoint.

        Only the header is read here; actors and gate check the arrays.
        """
        version = version_of(data, f"weights for {channel!r}")
        if version > self.version(channel):
            self._held[channel] = (version, data)
