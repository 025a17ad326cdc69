"""`KeptGames`: a sample of a run's games and the newest matches of its gate, in the folder `games` of the run.

    games/selfplay-000017.records   games as the learner gets them, policies and values included (reversi/record.py)
    games/gate-000012.ggf           the match of candidate 12

They are for people and other learners; the run itself never reads them.  A run that goes on from a checkpoint may keep
a game twice.
"""

from __future__ import annotations

import logging
from pathlib import Path

from reversi.errors import ReversiError
from reversi.files import write_atomic
from reversi.record import Records, decode, encode

FOLDER = "games"

MOST_MATCHES = 200
"""Matches of the gate that are kept, the newest: up to 30 MB."""

FILES = 20
"""Files that the games are kept in; the oldest is dropped whole."""

log = logging.getLogger(__name__)


class KeptGames:
    """Writes the games of one session, beside those that earlier sessions have kept."""

    def __init__(self, run: Path, most: int) -> None:
        """most  games of self-play that are kept, the newest; 0 keeps none, of matches neither"""
        self._folder, self._most = run / FOLDER, most
        self._parts: list[Records] = []
        files = selfplay_files(run)
        self._number = int(files[-1].stem.partition("-")[2]) if files else 0

    def add(self, sample: bytes) -> None:
        """Keep a sample of an actor's round, b"" for none."""
        if not sample or not self._most:
            return
        self._parts.append(decode(sample, "a sample of games")[0])
        if sum(map(len, self._parts)) >= max(1, self._most // FILES):
            self.flush()

    def match(self, version: int, games: str) -> None:
        """Keep the match of a candidate."""
        if self._most:
            self._write(f"gate-{version:06d}.ggf", games.encode())
            self._drop(match_files(self._folder.parent)[:-MOST_MATCHES])

    def flush(self) -> None:
        """Write what is not written yet."""
        if self._parts:
            self._number += 1
            games = Records.concatenate(self._parts)
            self._parts.clear()
            self._write(f"selfplay-{self._number:06d}.records", encode(games, "self-play", self._number))
            self._drop(selfplay_files(self._folder.parent)[:-FILES])

    def _write(self, name: str, data: bytes) -> None:
        """Write a file; these games are worth a warning, not a run."""
        try:
            self._folder.mkdir(exist_ok=True)
            write_atomic(self._folder / name, data)
        except (OSError, ReversiError) as error:
            log.warning("games are not kept: %s", error)

    def _drop(self, files: list[Path]) -> None:
        for file in files:
            file.unlink(missing_ok=True)


def kept_games(run: Path) -> Records | None:
    """Return the games of self-play that a run has kept, oldest first; None if there are none.

    Raises CorruptRecordError for a damaged file.
    """
    parts = [decode(file.read_bytes(), str(file))[0] for file in selfplay_files(run)]
    return Records.concatenate(parts) if parts else None


def selfplay_files(run: Path) -> list[Path]:
    """Return the files of games of self-play, oldest first."""
    return sorted((run / FOLDER).glob("selfplay-[0-9]*.records"))


def match_files(run: Path) -> list[Path]:
    """Return the files of matches of the gate, oldest first."""
    return sorted((run / FOLDER).glob("gate-[0-9]*.ggf"))
