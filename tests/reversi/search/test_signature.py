"""The signature: one number for the behaviour of the search."""

from __future__ import annotations

import pytest

from reversi.search import signature as module
from reversi.search.signature import signature
from tests.configs import search_config

EXPECTED = 2084834206
"""Changes only together with a line in the commit message that says why the search behaves differently."""


def test_the_signature_is_the_one_written_here() -> None:
    assert signature() == EXPECTED


def test_another_search_has_another_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONFIGS", (search_config(simulations=128, c_puct=1.51),))
    assert signature() != EXPECTED
