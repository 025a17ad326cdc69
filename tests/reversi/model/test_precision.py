"""Which precision `auto` is."""

from __future__ import annotations

from reversi.model import precision
from reversi.model.evaluate import open_evaluator
from tests.reversi.model.samples import weights


def test_auto_measures_once_per_kind_of_network(monkeypatch):
    opened = []
    monkeypatch.setattr(precision, "_chosen", {})
    monkeypatch.setattr(precision, "_run_s", lambda backend: opened.append(backend) or float(len(opened) == 2))
    assert open_evaluator(weights("reversi4", 1), batch=8).precision == "bf16"
    assert open_evaluator(weights("reversi4", 2), batch=64).precision == "bf16"
    assert len(opened) == 2
    monkeypatch.setattr(precision, "_run_s", lambda backend: 1.0)
    assert open_evaluator(weights("tictactoe", 1), batch=8).precision == "float32"
