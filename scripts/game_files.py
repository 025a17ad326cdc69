"""The games that a run reads from files: what was found is told, what is skipped is listed, the learner gets some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.config import GamesActorConfig
from reversi.games.rules import game_named
from scripts.sitting import Sitting

if TYPE_CHECKING:
    from reversi.record import Records

SKIPPED = "skipped.txt"
"""File of the run's folder with a line for every game or file that is left out, and why."""


def validation_games(sitting: Sitting) -> Records | None:
    """Return the games that are kept aside, or None for a job that plays its games itself."""
    from actors.recorded import read_games

    config = sitting.job.actors
    if not isinstance(config, GamesActorConfig):
        return None
    found = read_games(config, game_named(sitting.job.game.name))
    skipped = f"; {len(found.problems):,} skipped: {sitting.shown_path}/{SKIPPED}" if found.problems else ""
    print(
        f"{found.read:,} games read: {len(found.training_rows):,} to train on, {len(found.validation_rows):,} kept "
        f"aside{skipped}",
        flush=True,
    )
    sitting.folder.write_lines(SKIPPED, found.problems)
    return found.validation
