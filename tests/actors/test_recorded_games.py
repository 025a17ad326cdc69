"""Games out of files: each is used once, on the side that its moves decide; bad ones are named and counted."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from actors.config import GamesActorConfig
from actors.recorded_games import RecordedGames, RecordedGameSource, read_games
from reversi.errors import ConfigError
from reversi.games.rules import game_named
from reversi.record import REACH, SEARCHED, Records, check
from tests.reversi.formats.wthor_files import transcript, wtb

GAME = game_named("reversi8")
COUNT = 300
TEXTS = [transcript(seed) for seed in range(COUNT)]
DATABASE = Path(__file__).parents[2].parent / "shared" / "data" / "wthor"


@pytest.fixture
def config(tmp_path: Path) -> GamesActorConfig:
    """300 games in two files, 20 of them in both; besides four bad games and a file that is none."""
    (tmp_path / "a.wtb").write_bytes(wtb(TEXTS[:160]))
    (tmp_path / "b.txt").write_text("\n".join([*TEXTS[160:], *TEXTS[:20], "f5d6", "f5f5", "nonsense", "f5d9"]))
    (tmp_path / "c.wtb").write_bytes(wtb(TEXTS[:5])[:-1])
    return GamesActorConfig(
        kind="games",
        count=None,
        paths=(str(tmp_path / "*.wtb"), str(tmp_path / "b.txt")),
        column=None,
        max_games=None,
        validation_share=0.25,
        round_games=64,
    )


def games_of(records: Records) -> list[bytes]:
    ends = records.plies.cumsum()
    return [records.actions[a:b].tobytes() for a, b in zip(ends - records.plies, ends, strict=True)]


def delivered(source: RecordedGameSource) -> list[bytes]:
    games: list[bytes] = []
    while not source.finished:
        records = source.round(0.0, -1)
        assert records is not None
        assert not check(records).any()
        games += games_of(records)
    assert source.round(0.0, -1) is None
    return games


def test_what_is_bad_is_named_and_the_rest_is_read(config: GamesActorConfig) -> None:
    files = read_games(config, GAME)
    assert files.read == 324
    assert len(files.training_rows) + len(files.validation_rows) == 320
    folder = str(Path(config.paths[1]).parent)
    assert [problem.replace(folder, "") for problem in files.problems] == [
        "/b.txt, game 161, ply 3: expected a move, the game stops before its end",
        "/b.txt, game 162, ply 2: expected a legal move, got 'f5'",
        "/b.txt, game 163, ply 1: expected a move like d3, got 'nonsense'",
        "/b.txt, game 164, ply 2: expected a move like d3, got 'd9'",
        "/c.wtb: expected 356 bytes for the 5 games of a WTHOR header, got 355",
    ]


def test_whole_games_are_kept_aside_by_their_moves_alone(config: GamesActorConfig) -> None:
    files = read_games(config, GAME)
    training, validation = set(games_of(files.training)), set(games_of(files.validation))
    assert not training & validation
    assert len(training | validation) == COUNT
    assert abs(len(validation) / COUNT - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / COUNT)
    fewer = read_games(dataclasses.replace(config, paths=config.paths[1:]), GAME)
    assert set(games_of(fewer.training)) < training
    assert set(games_of(fewer.validation)) < validation


def test_fewer_games_are_some_of_the_same_on_the_same_side(config: GamesActorConfig) -> None:
    files = read_games(config, GAME)
    some = read_games(dataclasses.replace(config, max_games=100), GAME)
    assert len(some.training_rows) + len(some.validation_rows) == 100
    assert set(games_of(some.training)) < set(games_of(files.training))
    assert set(games_of(some.validation)) < set(games_of(files.validation))
    assert 10 < len(some.validation_rows) < 45


def test_every_training_game_is_delivered_once_in_an_order_of_the_seed(config: GamesActorConfig) -> None:
    files = read_games(config, GAME)
    expected = games_of(files.training)
    source = RecordedGameSource(config, files, 1)
    first = delivered(source)
    assert sorted(first) == sorted(expected)
    assert first != expected
    assert source.counts.positions == int((files.training.ply_kind == SEARCHED).sum())
    assert delivered(RecordedGameSource(config, files, 1)) == first
    assert delivered(RecordedGameSource(config, files, 2)) != first


def test_a_restored_delivery_goes_on_in_the_middle(config: GamesActorConfig) -> None:
    files = read_games(config, GAME)
    source, other = RecordedGameSource(config, files, 1), RecordedGameSource(config, files, 1)
    source.round(0.0, -1)
    source.round(0.0, -1)
    other.restore(source.arrays())
    assert delivered(other) == delivered(source)
    fewer: RecordedGames = read_games(dataclasses.replace(config, max_games=200), GAME)
    other = RecordedGameSource(config, fewer, 1)
    other.restore(source.arrays())
    assert len(delivered(other)) == len(fewer.training_rows)


def test_nothing_to_train_on_is_a_wrong_configuration(config: GamesActorConfig, tmp_path: Path) -> None:
    missing = str(tmp_path / "*.ggf")
    with pytest.raises(ConfigError, match=r"actors\.paths: expected files of games, found none at .*; name yours, "):
        read_games(dataclasses.replace(config, paths=(*config.paths, missing)), GAME)
    with pytest.raises(ConfigError, match=r"games of reversi6 to train on, got none; .*a\.wtb: expected games of reve"):
        read_games(config, game_named("reversi6"))


@pytest.mark.parametrize(
    ("field", "value"),
    [("paths", ()), ("count", 2), ("max_games", 1), ("validation_share", 0.6), ("round_games", 0)],
)
def test_values_out_of_range_are_refused_by_name(config: GamesActorConfig, field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"actors\.{field}"):
        dataclasses.replace(config, **{field: value})  # type: ignore[arg-type]


@pytest.mark.skipif(not DATABASE.is_dir(), reason="the database is not beside the checkout")
def test_the_whole_database_is_read(config: GamesActorConfig) -> None:
    files = read_games(dataclasses.replace(config, paths=(str(DATABASE / "*.wtb"),), validation_share=0.05), GAME)
    assert (files.read, len(files.problems)) == (127475, 413)
    assert len(files.training_rows) + len(files.validation_rows) == 127475 - 413
    share = len(files.validation_rows) / (127475 - 413)
    assert abs(share - 0.05) < 0.005
    source = RecordedGameSource(config, files, 1)
    records = source.round(0.0, -1)
    assert records is not None
    assert len(records) == math.ceil(len(files.training_rows) / REACH) > config.round_games
    assert not check(records).any()
