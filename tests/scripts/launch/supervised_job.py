"""The smallest job that learns from games in files."""

from __future__ import annotations

from pathlib import Path

from tests.reversi.formats.wthor_files import transcript, wtb

TINY = (
    "experiment=wthor",
    "network.filters=[8]",
    "network.width=1",
    "replay.min_positions=100",
    "learner.publish_every_steps=40",
    "learner.candidate_every_steps=40",
    "algorithm.validation_every_steps=40",
    "gate.games=20",
    "gate.wins=10",
    "gate.opening_choice=1",
    "gate.truth_positions=0",
    "run.summary_games=0",
    "tracking=jsonl",
)


def job(folder: Path, name: str, games: int, *overrides: str) -> list[str]:
    """Return the overrides of a run over so many random games, in a file of their own in `folder`."""
    (folder / "games.wtb").write_bytes(wtb([transcript(seed) for seed in range(games)]))
    given = (f"actors.paths=[{folder}/games.wtb]", f"run.dir={folder}", f"run.name={name}")
    return [*TINY, *given, *overrides]
