"""`reversi train experiment=wthor` as its users run it, on a few random games in files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.reversi.wthor_files import transcript, wtb

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


def command(folder: Path, name: str, games: int, *overrides: str) -> list[str]:
    """Return the command line of a run over so many random games, in a file of their own in `folder`."""
    (folder / "games.wtb").write_bytes(wtb([transcript(seed) for seed in range(games)]))
    given = (f"actors.paths=[{folder}/games.wtb]", f"run.dir={folder}", f"run.name={name}")
    return [sys.executable, "-m", "scripts.cli", "train", *TINY, *given, *overrides]


def test_the_last_candidate_is_offered_once_all_games_kept_aside_are_validated(tmp_path: Path) -> None:
    """In rounds of a second or two, here of one batch: a call of many minutes would look like a learner that hangs."""
    few = ("cluster=serial", "run.minutes=5", "actors.validation_share=0.5", "learner.round_s=0.001")
    done = subprocess.run(
        command(tmp_path, "parts", 60, *few), text=True, capture_output=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^validating on all 1,\d\d\d positions of the games kept aside$", done.stdout, re.MULTILINE)
    assert len(re.findall(r"^all games kept aside: validation ", done.stdout, re.MULTILINE)) == 1
    assert re.search(r"^champion: version \d+", done.stdout, re.MULTILINE)
