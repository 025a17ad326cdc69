from __future__ import annotations

import json
from pathlib import Path

from evaluator.labels import load_labels
from tests.scripts.conftest import Reversi


def test_a_set_is_written_with_its_hash(reversi: Reversi, tmp_path: Path) -> None:
    path = tmp_path / "set"
    arguments = ("label", "--size", 4, "--empties", "4-6", "--positions", 20, "--seed", 1, "-o", path)
    answer = reversi(*arguments, "--json")
    about = json.loads(answer.out)
    labels = load_labels(path)
    assert answer.code == 0
    assert (about["game"], about["positions"], about["sha256"]) == ("reversi4", 20, labels.hash)
    assert (labels.seed, set(labels.empties.tolist())) == (1, {4, 5, 6})
    assert labels.hash in reversi(*arguments, "--threads", 1).out


def test_wrong_arguments_are_named(reversi: Reversi, tmp_path: Path) -> None:
    for empties in ("20-6", "x", "-3", "0-4", "1-3", "6-40"):
        answer = reversi("label", "--empties", empties, "-o", tmp_path / "set")
        assert answer.code == 2
        assert answer.out == ""
    assert reversi("label").code == 2
