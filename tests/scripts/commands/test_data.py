"""`reversi data`: the games that a run kept, in every format, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from actors.config import GamesActorConfig
from actors.recorded_games import read_games
from reversi.errors import CorruptFileError
from reversi.formats.files import read_games_of
from reversi.games.rules import GAMES
from reversi.record import Records, encode
from scripts import cli
from scripts.run.kept_games import KeptGames
from tests.random_games import random_records
from tests.scripts.run.written_runs import made

GAME = GAMES["reversi6"]
GAMES_OF_RUN = random_records(GAME.name, 30, 3, opening=4)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = made(tmp_path / "run")
    kept = KeptGames(folder, 1000)
    kept.add(encode(GAMES_OF_RUN, "actor-0-0", 0))
    kept.flush()
    return folder


def reading(path: Path) -> Records:
    config = GamesActorConfig(
        kind="games", count=1, paths=(str(path),), column=None, max_games=None, validation_share=0.0, round_games=10
    )
    return read_games(config, GAME).training


def test_arrays_are_those_of_the_games(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.npz"
    assert cli.main(["data", str(run), "-o", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"30 games, {GAMES_OF_RUN.positions:,} moves of reversi6: ")
    with np.load(file) as arrays:
        assert str(arrays["game"]) == "reversi6"
        for name in ("actions", "policy", "value", "margin", "version"):
            assert (arrays[name] == getattr(GAMES_OF_RUN, name)).all()
        assert arrays["policy"].shape == (GAMES_OF_RUN.positions, GAME.actions)


@pytest.mark.parametrize("ending", ["npz", "records"])
def test_training_reads_policies_and_values_back(ending: str, run: Path, tmp_path: Path) -> None:
    file = tmp_path / f"games.{ending}"
    assert cli.main(["data", str(run), "-o", str(file)]) == 0
    again = reading(file)
    assert len(again) == 30
    for name in Records.COLUMNS:
        assert (getattr(again, name) == getattr(GAMES_OF_RUN, name)).all(), name


def test_other_programs_read_moves_and_results(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "games.ggf"
    assert cli.main(["data", str(run), "-o", str(file)]) == 0
    games = read_games_of(file)
    assert games.is_good.all()
    assert (games.margin == GAMES_OF_RUN.margin).all()
    assert "PB[v" in file.read_text()
    assert len(reading(file)) == 30


def test_a_foreign_archive_is_refused_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "games.npz"
    np.savez(file, actions=np.zeros(3))
    with pytest.raises(CorruptFileError, match="expected games as `reversi data` writes them"):
        read_games_of(file)
    whole = tmp_path / "whole.npz"
    whole.write_bytes(file.read_bytes()[:60])
    with pytest.raises(CorruptFileError, match="expected games as `reversi data` writes them"):
        read_games_of(whole)


@pytest.mark.parametrize(("name", "words"), [("games.txt", "ending in .npz"), ("games.npz", "has kept games")])
def test_what_cannot_be_written_is_said(
    name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made(tmp_path / "run")
    assert cli.main(["data", str(folder), "-o", str(tmp_path / name)]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / name).exists()
