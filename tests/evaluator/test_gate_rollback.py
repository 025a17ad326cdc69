"""A gate whose registry a person rolls back: it goes on with that champion, and loses no candidate."""

from __future__ import annotations

import pytest

from reversi.model.registry import Registry
from tests.evaluator.gates import Store, judge, make, until_verdict, weights

pytestmark = pytest.mark.usefixtures("scripted")


def test_the_next_match_is_against_the_champion_rolled_back_to(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    reports = judge(gate, 0, 10)
    registry.publish(weights(20), "promoted", {"wins": 30, "draws": 0, "losses": 10} | standing(900.0))
    gate = make(registry, store)
    registry.roll_back(10, "it loses to beginners")
    store.champions.clear()
    (report,) = judge(gate, 21)
    assert (report.opponent_version, report.champion_version, report.verdict) == (10, 10, "rejected")
    assert report.champion_elo == reports[-1].champion_elo
    assert store.champions == [20, 10], "first what it began with"
    assert registry.gated().version == 10


def test_a_match_against_a_withdrawn_champion_begins_anew(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0, 10)
    registry.publish(weights(21), "promoted", {"wins": 30, "draws": 0, "losses": 10} | standing(900.0))
    gate = make(registry, store)
    gate.offer(weights(30).to_bytes())
    gate.round(0)
    registry.roll_back(10, "why")
    report = until_verdict(gate)
    assert (report.candidate_version, report.opponent_version) == (30, 10)
    assert registry.get(30).opponent_version == 10


def test_a_gate_that_starts_takes_the_champion_rolled_back_to(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0, 10)
    registry.publish(weights(20), "promoted", {"wins": 30, "draws": 0, "losses": 10} | standing(900.0))
    registry.roll_back(10, "why")
    resumed = make(registry, store)
    assert resumed.round(0).champion_version == 10
    assert registry.gated().version == 10


def standing(elo: float) -> dict[str, float]:
    return {"opponent_version": 10, "champion_elo": elo}
