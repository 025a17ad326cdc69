"""Weights as bytes and files: exact round trips, and every damaged or foreign file refused by a named error."""

import stat

import numpy as np
import pytest

from reversi import archive
from reversi.errors import CorruptFileError, IncompatibleModelError
from reversi.games.planes import PLANES_VERSION
from reversi.games.rules import GAMES, RULES_VERSION, game_named
from reversi.model.config import network_to_json
from reversi.model.weights import FORMAT, Weights, array_shapes, version_of
from tests.reversi.model.samples import LINES, SMALL, weights


@pytest.fixture(scope="module")
def sample():
    return weights("reversi4", version=12)


def header(sample, **change):
    ours = {"game": sample.game, "network": network_to_json(sample.network), "version": sample.version}
    return ours | {"rules_version": RULES_VERSION, "planes_version": PLANES_VERSION} | change


def packed(sample, arrays=None, **change):
    return archive.pack("weights", FORMAT, arrays or sample.arrays, header(sample, **change))


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
@pytest.mark.parametrize("game", GAMES)
def test_bytes_round_trip_exactly(game, config):
    before = weights(game, version=7, config=config)
    after = Weights.from_bytes(before.to_bytes(), "here")
    assert (after.game, after.network, after.version) == (game, config, 7)
    assert after.arrays.keys() == before.arrays.keys() == array_shapes(config, GAMES[game].size).keys()
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(after.arrays[name], array)


def test_a_file_round_trips_and_everybody_can_read_it(sample, tmp_path):
    path = tmp_path / "folder" / "model.safetensors"
    sample.save(path)
    assert Weights.load(path).version == 12
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [file.name for file in path.parent.iterdir()] == ["model.safetensors"]


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(CorruptFileError, match="expected a model, but No such file"):
        Weights.load(tmp_path / "none")


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 100, 0.5, -1])
def test_a_truncated_model_is_corrupt(sample, keep):
    data = sample.to_bytes()
    cut = data[: int(len(data) * keep)] if isinstance(keep, float) else data[:keep]
    with pytest.raises(CorruptFileError, match=r"^here: "):
        Weights.from_bytes(cut, "here")


def test_the_version_is_read_from_the_header_alone(sample, monkeypatch):
    data = sample.to_bytes()
    monkeypatch.setattr(archive, "unpack", None)
    assert version_of(data, "here") == sample.version
    with pytest.raises(CorruptFileError, match=r"^here: expected a version from 0 to 2147483647, got 'x'$"):
        version_of(packed(sample, version="x"), "here")
    with pytest.raises(CorruptFileError, match=r"^here: expected a version from 0 to 2147483647, got None$"):
        version_of(archive.pack("weights", 1, {}, {}), "here")


def test_any_flipped_byte_is_refused(sample):
    data = sample.to_bytes()
    for position in np.random.default_rng(0).integers(0, len(data), 60):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        with pytest.raises((CorruptFileError, IncompatibleModelError)):
            Weights.from_bytes(bytes(damaged), "here")


def test_another_archive_is_not_a_model():
    with pytest.raises(CorruptFileError, match="expected a weights archive"):
        Weights.from_bytes(archive.pack("records", 1, {"a": np.zeros(1)}, {}), "here")


@pytest.mark.parametrize(
    "change",
    [{"rules_version": 999}, {"planes_version": 0}, {"game": "go19"}, {"network": {"kind": "later"}}],
    ids=lambda change: next(iter(change)),
)
def test_a_sound_model_of_something_else_is_incompatible(sample, change):
    with pytest.raises(IncompatibleModelError, match=r"^here: "):
        Weights.from_bytes(packed(sample, **change), "here")


@pytest.mark.parametrize("change", [{"game": "reversi6"}, {"version": "x"}, {"network": None}])
def test_a_header_that_contradicts_the_arrays_is_corrupt(sample, change):
    with pytest.raises(CorruptFileError, match=r"^here: "):
        Weights.from_bytes(packed(sample, **change), "here")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_corrupt(sample, value):
    arrays = {name: array.copy() for name, array in sample.arrays.items()}
    arrays["stem.weight"][0, 0, 1, 1] = value
    with pytest.raises(CorruptFileError, match="finite float32"):
        Weights.from_bytes(packed(sample, arrays), "here")


def test_a_missing_layer_and_another_type_are_corrupt(sample):
    arrays = dict(sample.arrays)
    del arrays["policy.pass_logit.bias"]
    with pytest.raises(CorruptFileError, match="do not fit"):
        Weights.from_bytes(packed(sample, arrays), "here")
    arrays = {name: array.astype(np.float64) for name, array in sample.arrays.items()}
    with pytest.raises(CorruptFileError, match="finite float32"):
        Weights.from_bytes(packed(sample, arrays), "here")


def test_a_header_and_its_table_of_lines_belong_together(sample):
    lines = weights("reversi4", config=LINES)
    header_with, header_without = network_to_json(LINES), network_to_json(SMALL)
    assert "lines" not in header_without
    for arrays, network in ((sample.arrays, header_with), (lines.arrays, header_without)):
        with pytest.raises(CorruptFileError, match="do not fit"):
            Weights.from_bytes(packed(sample, arrays, network=network), "here")
    assert Weights.from_bytes(packed(sample, network=header_without), "here").network == SMALL


def test_a_model_of_another_board_size_says_both(sample):
    sample.check_game(game_named("reversi4"))
    with pytest.raises(IncompatibleModelError, match="expected a model for reversi8, got version 12 for reversi4"):
        sample.check_game(game_named("reversi8"))


def test_the_representation_says_what_it_is_without_the_arrays():
    sample = weights("reversi6", 7)
    assert repr(sample).startswith("Weights(game='reversi6', network=")
    assert "version=7" in repr(sample)
    assert len(repr(sample)) < 400
