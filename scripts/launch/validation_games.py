"""The validation games of a run that reads its games from files; prints how many there are and lists those skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.config import GamesActorConfig
from reversi.games.rules import game_named
from scripts.run.session import Session

if TYPE_CHECKING:
    from reversi.record import Records

SKIPPED = "skipped.txt"
"""File in the run's folder with a line for every game or file that was skipped, and why."""


def validation_games(session: Session) -> Records | None:
    """Return the validation games, or None for a job that plays its games itself."""
    from actors.recorded_games import read_games

    config = session.job.actors
    if not isinstance(config, GamesActorConfig):
        return None
    games = read_games(config, game_named(session.job.game.name))
    skipped = f"; {len(games.problems):,} skipped: {session.shown_path}/{SKIPPED}" if games.problems else ""
    print(
        f"{games.read:,} games read: {len(games.training_rows):,} for training, {len(games.validation_rows):,} for "
        f"validation{skipped}",
        flush=True,
    )
    session.folder.write_lines(SKIPPED, games.problems)
    return games.validation
