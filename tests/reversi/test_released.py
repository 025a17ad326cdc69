"""Files of released formats are read for ever, and give the answers they gave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reversi import archive
from reversi.errors import CorruptFileError, CorruptRecordError
from reversi.games.rules import game_named
from reversi.model.evaluate import open_evaluator
from reversi.model.weights import Weights
from reversi.record import EXPLORED, OPENING, SEARCHED, UNSEARCHED, check, decode
from tests.reversi.model.samples import positions

RELEASED = Path(__file__).parent / "released"
VALUES = {
    "dual": ([-0.242, -0.103, -0.297, -0.212, -0.331, -0.174, -0.267, -0.179], -26.13),
    "stack": ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], -45.43),
    "patterns": ([0.766, 0.814, 0.89, 0.861, 0.843, -0.687, -0.414, 0.147], 14.39),
}
"""Values of eight positions, by the file of the model, as version 0.1.0 computed them."""


@pytest.mark.parametrize("name", VALUES)
def test_a_model_answers_as_it_did(name: str) -> None:
    model = Weights.load(RELEASED / f"model-1-{name}.safetensors")
    assert (model.game, model.version) == ("reversi4", 7)
    evaluate = open_evaluator(model, batch=8, precision="float32", backend="torch")
    logits, value = evaluate(*positions(game_named("reversi4"), 8, seed=1))
    expected, total = VALUES[name]
    np.testing.assert_allclose(value, expected, rtol=0, atol=2e-3)
    assert logits[:, :16].sum() == pytest.approx(total, abs=0.05)


def test_records_are_the_games_they_were() -> None:
    records, producer, sequence = decode((RELEASED / "records-3.records").read_bytes(), "here")
    assert (producer, sequence, records.game) == ("actor-0-0", 4, "reversi6")
    assert records.margin.tolist() == [-14, 2, 14, 18, 12, -6]
    assert not check(records).any()
    counts = {kind: int((records.ply_kind == kind).sum()) for kind in (OPENING, SEARCHED, UNSEARCHED, EXPLORED)}
    assert counts == {OPENING: 24, SEARCHED: 127, UNSEARCHED: 14, EXPLORED: 32}
    assert records.policy.sum() == 92_298
    assert records.value.astype(float).sum() == pytest.approx(-1.6001396, abs=1e-6)


def newer(path: Path, kind: str, number: int) -> bytes:
    """Return a file's contents as a later version would write it."""
    arrays, header = archive.unpack(path.read_bytes(), kind, number, "here")
    return archive.pack(kind, number + 1, arrays, header)


def test_a_newer_format_is_one_line() -> None:
    with pytest.raises(CorruptFileError) as model:
        Weights.from_bytes(newer(RELEASED / "model-1-dual.safetensors", "weights", 1), "new.safetensors")
    with pytest.raises(CorruptRecordError) as games:
        decode(newer(RELEASED / "records-3.records", "records", 3), "new.records")
    expected = (
        "expected a weights archive of format 1, got 'weights' of 2; use the version of this program that wrote it"
    )
    assert str(model.value) == f"new.safetensors: {expected}"
    expected = (
        "expected a records archive of format 3, got 'records' of 4; use the version of this program that wrote it"
    )
    assert str(games.value) == f"new.records: {expected}"
