"""A registry that refuses a verdict, or cannot be read for it, holds it up and loses none; nobody hears of it; in the
end the gate gives up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evaluator import gate as gate_module
from reversi.errors import UnreachableError, UnwritableError
from reversi.model.registry import Registry
from tests.evaluator.gates import Store, judge, make, weights

pytestmark = pytest.mark.usefixtures("scripted")


def full(*_: Any) -> None:
    raise UnwritableError("no space left")


def away(*_: Any) -> None:
    raise UnreachableError("no answer")


REFUSALS = pytest.mark.parametrize(
    ("call", "refusal", "words"), [("write", full, "no space left"), ("read", away, "no answer")]
)


@REFUSALS
def test_a_registry_that_refuses_holds_a_verdict_up_and_loses_none(
    call: str, refusal: Callable[..., None], words: str, registry: Registry, store: Store
) -> None:
    gate = make(registry, store)
    for version, verdict, before in ((1, "first", "no model yet"), (2, "rejected", "version 2 against 1: ")):
        with pytest.MonkeyPatch.context() as disk:
            disk.setattr(registry._folder, call, refusal)
            gate.offer(weights(version).to_bytes())
            while not gate.blocked:
                assert gate.round(0.0).verdict is None
            held_up = gate.round(0.0)
        assert held_up.verdict is None
        assert held_up.summary.startswith(before)
        assert held_up.summary.endswith(f"; not published yet: {words}")
        assert gate.poll()
        again = make(registry, store)
        again.restore(gate.state())
        assert again.round(0.0).verdict == verdict
        assert gate.round(0.0).verdict == verdict
        assert not gate.blocked
    assert [model.verdict for model in registry.models()] == ["first", "rejected"]


@REFUSALS
def test_nobody_hears_of_a_champion_that_the_registry_lacks(
    call: str, refusal: Callable[..., None], words: str, registry: Registry, store: Store
) -> None:
    gate = make(registry, store)
    judge(gate, 0)
    gate.offer(weights(10).to_bytes())
    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(registry._folder, call, refusal)
        while not gate.blocked:
            gate.round(0.0)
        assert store.champions == [0]
    assert gate.round(0.0).verdict == "promoted"
    assert store.champions == [0, 10]


def test_weights_that_cannot_be_removed_hold_no_verdict_up(
    registry: Registry, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registry._folder._files, "rm_file", full)
    gate = make(registry, store, keep_rejected=1)
    assert [report.verdict for report in judge(gate, 0, 10, 11, 12)] == ["first", "promoted", "rejected", "rejected"]
    assert "weights of rejected candidates are left over" in caplog.text


@REFUSALS
def test_a_registry_that_refuses_for_too_long_ends_it(
    call: str,
    refusal: Callable[..., None],
    words: str,
    registry: Registry,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = make(registry, store)
    monkeypatch.setattr(gate_module, "UNWRITABLE_S", -1.0)
    monkeypatch.setattr(registry._folder, call, refusal)
    gate.offer(weights(1).to_bytes())
    with pytest.raises((UnwritableError, UnreachableError), match=words):
        gate.round(0.0)
