"""Recorded games: read from files, replayed, split into training and validation games, and delivered once each.

Which games are used, and for which of the two, depends only on a hash of a game's moves: another order of files, more
files or a smaller `max_games` leave a game on its side, and a game that is in two files is on one side.
"""

from __future__ import annotations

import glob
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.config import GamesActorConfig
from actors.source import ActorCounts
from reversi.errors import ConfigError, CorruptFileError, UsageError
from reversi.formats.collection import Collection
from reversi.formats.files import read_games_of
from reversi.games.rules import Game
from reversi.record import REACH, SEARCHED, Records

_LOW = np.uint64(2**32 - 1)
"""The bits of a hash that decide which games are used; the others decide which of these are for validation."""


@dataclass(frozen=True, kw_only=True)
class RecordedGames:
    """The games of all files; records are made on demand."""

    collections: list[Collection]
    """One for each file that could be read."""

    training_rows: NDArray[np.int64]  # [T, 2] file, game in it
    validation_rows: NDArray[np.int64]  # [V, 2]

    problems: list[str]
    """Skipped files and games, one line each: file, game, ply and error."""

    digest: str
    """SHA-256 of the games that train, from their moves."""

    read: int
    """Games found in the files, skipped ones included."""

    @property
    def training(self) -> Records:
        """The training games."""
        return self.records(self.training_rows)

    @property
    def validation(self) -> Records:
        """The validation games."""
        return self.records(self.validation_rows)

    def records(self, rows: NDArray[np.int64]) -> Records:
        """Return the games of `rows` [R, 2], file by file."""
        files = [(number, rows[rows[:, 0] == number, 1]) for number in range(len(self.collections))]
        parts = [self.collections[number].records(chosen) for number, chosen in files if len(chosen)]
        return Records.concatenate(parts or [self.collections[0].records(rows[:0, 1])])


def read_games(config: GamesActorConfig, game: Game) -> RecordedGames:
    """Return the games of the configured files; unreadable, illegal and unfinished games are skipped.

    Raises ConfigError for a path that matches no file, and if there is no game to train on.
    """
    collections, problems = list[Collection](), list[str]()
    for path in game_files(config.paths):
        try:
            collection = read_games_of(path, game, config.column)
        except (CorruptFileError, UsageError) as error:
            problems.append(str(error))
            continue
        collections.append(collection)
        problems += [str(collection.problem(int(index))) for index in np.flatnonzero(~collection.is_good)]
    rows, hashes = _good_games(collections)
    chosen = np.argsort(hashes & _LOW, kind="stable")[: config.max_games]
    rows, hashes = rows[chosen], hashes[chosen]
    aside = hashes.astype(np.float64) / 2.0**64 < config.validation_share
    if not (~aside).any():
        first = f"; {problems[0]}" if problems else ""
        raise ConfigError(f"actors.paths: expected games of {game.name} to train on, got none{first}")
    return RecordedGames(
        collections=collections,
        training_rows=rows[~aside],
        validation_rows=rows[aside],
        problems=problems,
        digest=hashlib.sha256(hashes[~aside].tobytes()).hexdigest(),
        read=sum(map(len, collections)),
    )


def game_files(patterns: tuple[str, ...]) -> list[Path]:
    """Return the files of all patterns, each once, sorted by name; ConfigError for a pattern that matches none."""
    paths = set[Path]()
    for pattern in patterns:
        files = {path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file()}
        if not files:
            raise ConfigError(
                f"actors.paths: expected files of games, found none at {pattern!r}; name yours, as in "
                "'actors.paths=[FOLDER/*.wtb]': the French Othello federation publishes WTHOR, the games of all "
                "tournaments, at https://www.ffothello.org/informatique/la-base-wthor/"
            )
        paths |= files
    return sorted(paths)


class RecordedGameSource:
    """Delivers every training game of the files once, in a random order.  A `GameSource` that needs no network."""

    def __init__(self, config: GamesActorConfig, files: RecordedGames, seed: int) -> None:
        """The order depends only on `seed`.

        A round has `round_games` games or, of many games, more: whatever a replay has taken already, it takes every
        round that it lacks only if there are no more than `REACH`.
        """
        self.files = files
        self._order = np.random.default_rng(seed).permutation(len(files.training_rows))
        self._round_games = max(config.round_games, -(-len(self._order) // REACH))
        self._delivered = 0
        self._positions = 0

    @property
    def counts(self) -> ActorCounts:
        """Moves delivered since this process began."""
        return ActorCounts(positions=self._positions)

    @property
    def producer(self) -> str:
        """The name of these games in this order and these rounds, the same in every process: what one that died has
        delivered is delivered again under the same name and number, and counts once."""
        words = f"{self.files.digest} {self._round_games} ".encode() + self._order.tobytes()
        return f"games-{hashlib.sha256(words).hexdigest()[:16]}"

    @property
    def rounds(self) -> int:
        """Rounds delivered."""
        return -(-self._delivered // self._round_games)

    @property
    def finished(self) -> bool:
        """Whether every game has been delivered."""
        return self._delivered >= len(self._order)

    def round(self, progress: float, version: int) -> Records | None:
        """Return the games of the next round, None once all are delivered."""
        if self.finished:
            return None
        chosen = self._order[self._delivered : self._delivered + self._round_games]
        records = self.files.records(self.files.training_rows[chosen])
        self._delivered += len(chosen)
        self._positions += int((records.ply_kind == SEARCHED).sum())
        return records

    def clear_cache(self) -> None:
        """Do nothing: no network is used."""

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the number of games delivered and of all games."""
        return {"delivered": np.array([self._delivered, len(self._order)])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue after the last game delivered; begin again if the number of games has changed."""
        delivered, games = arrays["delivered"]
        if games == len(self._order):
            self._delivered = int(delivered)


def _good_games(collections: list[Collection]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the valid games as (file, game in it) [G, 2], and their hashes uint64[G]."""
    rows, hashes = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.uint64)]
    for number, collection in enumerate(collections):
        good = np.flatnonzero(collection.is_good)
        rows.append(np.stack([np.full(len(good), number), good], axis=1))
        hashes.append(collection.fingerprints()[good])
    return np.concatenate(rows), np.concatenate(hashes)
