"""What a run keeps of its games is bounded, goes on over sessions, and never ends the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reversi.record import encode
from scripts.run import kept_games as kept_games_module
from scripts.run.kept_games import KeptGames, kept_games, match_files, selfplay_files
from tests.random_games import random_records


def sample(seed: int, count: int = 2) -> bytes:
    return encode(random_records("reversi4", count, seed), "actor-0-0", seed)


def test_the_newest_games_are_kept_over_sessions(tmp_path: Path) -> None:
    for session in range(2):
        kept = KeptGames(tmp_path, 40)  # two games a file
        for number in range(15):
            kept.add(sample(100 * session + number))
        kept.flush()
    assert len(selfplay_files(tmp_path)) == 20
    games = kept_games(tmp_path)
    assert games is not None
    assert len(games) == 40
    newest = random_records("reversi4", 2, 114)
    assert (games.select(np.arange(40) >= 38).actions == newest.actions).all()


def test_games_wait_for_a_file_and_a_checkpoint_writes_them(tmp_path: Path) -> None:
    kept = KeptGames(tmp_path, 1000)
    kept.add(sample(1))
    assert kept_games(tmp_path) is None
    kept.flush()
    kept.flush()
    games = kept_games(tmp_path)
    assert games is not None
    assert len(games) == 2


def test_matches_are_kept_by_the_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_games_module, "MOST_MATCHES", 3)
    kept = KeptGames(tmp_path, 10)
    for version in range(5, 10):
        kept.match(version, f"(;GM[Othello] {version};)\n")
    assert [file.name for file in match_files(tmp_path)] == [f"gate-{version:06d}.ggf" for version in (7, 8, 9)]
    assert match_files(tmp_path)[-1].read_text() == "(;GM[Othello] 9;)\n"


def test_none_are_kept_if_none_are_wanted(tmp_path: Path) -> None:
    kept = KeptGames(tmp_path, 0)
    kept.add(sample(1))
    kept.match(1, "(;GM[Othello];)\n")
    kept.flush()
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_costs_games_and_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_games_module, "write_atomic", full)
    kept = KeptGames(tmp_path, 10)
    kept.add(sample(1))
    kept.flush()
    assert "games are not kept: [Errno 28] No space left on device" in caplog.text
    assert kept_games(tmp_path) is None
