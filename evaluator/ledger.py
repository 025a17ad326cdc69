"""The ledger: results of a ladder, one JSON line per batch of games, stored in a file from one rating to the next.

A line has the game, the players (names, and the SHA-256 of a model's weights and search), the openings (the SHA-256 of
the positions), the seed and the results.  Everything but the results is its key: a batch with a known key is not played
again, and a model that changed under the same name, or other openings, give other keys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from evaluator.match import Counts, Pairs
from reversi.errors import CorruptFileError, RunError
from reversi.files import read_bytes
from reversi.settings import build, reading, require

FORMAT = 1

MOST_GAMES = 2**31 - 1
"""Largest number of games of one kind in a batch."""

MAX_BYTES = 1 << 26
"""Largest file that is read, 64 MiB: over 100,000 batches."""


@dataclass(frozen=True, kw_only=True)
class BatchKey:
    """What identifies a batch of games: the game, both players, the openings and the seed."""

    game: str
    a: str
    b: str
    a_model: str | None
    """SHA-256 of what the name does not say: a model's weights and search, an external program's limits; or None."""
    b_model: str | None
    openings: str
    """SHA-256 of the positions from which the games start."""
    seed: int
    """The ladder's seed, from which the seeds of both players follow."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The result of one batch of games between two players, from the view of `a`."""

    key: BatchKey
    black: Counts
    """Wins, draws and losses of `a` with Black."""
    white: Counts
    """The same with White."""
    pairs: Pairs
    """Pairs of games of one opening, by the points of `a`: 0, 1/2, 1, 3/2, 2."""
    forfeits: tuple[int, int]
    """Games that `a` and `b` lost by forfeit; they count as lost."""
    seconds: float
    """Seconds that the batch took."""

    def columns(self) -> dict[str, Any]:
        """Return all fields, including those of the key, as the columns of a line."""
        fields = asdict(self)
        return {**fields.pop("key"), **fields}


class Ledger:
    """The results in one file; one process writes at a time."""

    def __init__(self, path: Path) -> None:
        """Read the file; a missing file counts as empty, and a last line cut short by a crash is dropped.

        Raises CorruptFileError for any other line that is not a result, and for what is no file or too large.
        """
        self.path = path
        self._entries: dict[BatchKey, Entry] = {}
        self._bytes = self._whole_bytes = 0  # sizes of the file as read, and of its complete lines
        for number, line in enumerate(self._lines(), start=1):
            entry = _read(line, f"{path}:{number}")
            self._entries.setdefault(entry.key, entry)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: BatchKey) -> Entry | None:
        """Return the batch with that key, or None."""
        return self._entries.get(key)

    def add(self, entry: Entry) -> None:
        """Append a new batch to the file; it is on disk when this returns.

        Raises RunError if another process wrote to the file.
        """
        assert entry.key not in self._entries, f"expected a batch that was not played, got {entry}"
        line = (json.dumps({"format": FORMAT, **entry.columns()}, ensure_ascii=False) + "\n").encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            if (size := os.fstat(file.fileno()).st_size) != self._bytes:
                raise RunError(
                    f"{self.path}: expected {self._bytes} bytes, got {size}: another process wrote to it; "
                    "let one rating at a time use a file of results"
                )
            file.truncate(self._whole_bytes)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._whole_bytes += len(line)
        self._bytes = self._whole_bytes
        self._entries[entry.key] = entry

    def _lines(self) -> Iterator[bytes]:
        """Yield the complete lines; record their size and the file's."""
        try:
            data = read_bytes(self.path, "results of games", MAX_BYTES)
        except CorruptFileError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return
            raise
        complete = data[: data.rfind(b"\n") + 1]
        self._bytes, self._whole_bytes = len(data), len(complete)
        yield from complete.splitlines()


def _read(line: bytes, where: str) -> Entry:
    """Read one line."""
    with reading(where, "the result of a batch of games"):
        values = json.loads(line)
        require(isinstance(values, dict), "it", "an object", values)
        given = values.pop("format", None)
        require(given == FORMAT, "format", str(FORMAT), given)
        key = {field.name: values.pop(field.name) for field in fields(BatchKey) if field.name in values}
        entry = build(Entry, {**values, "key": build(BatchKey, key, "")}, "")
        for name in ("black", "white", "pairs", "forfeits"):
            counts = getattr(entry, name)
            require(all(0 <= n <= MOST_GAMES for n in counts), name, f"counts from 0 to {MOST_GAMES}", counts)
    _expect_whole_pairs(entry, where)
    return entry


def _expect_whole_pairs(entry: Entry, where: str) -> None:
    """Raise CorruptFileError for counts that contradict each other."""
    games = sum(entry.black) + sum(entry.white)
    points = entry.black[0] + entry.white[0] + (entry.black[1] + entry.white[1]) / 2
    by_pairs = sum(count * half_points for half_points, count in enumerate(entry.pairs)) / 2
    if (2 * sum(entry.pairs), by_pairs) != (games, points):
        raise CorruptFileError(f"{where}: expected {games} games with {points:g} points in pairs, got {entry.pairs}")
