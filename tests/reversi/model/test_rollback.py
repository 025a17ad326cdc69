"""Rolling a champion back: which version is gated then, what stays withdrawn, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reversi.errors import CorruptFileError, NoGatedModelError, UsageError
from reversi.model.gated import Gated, Rollback, withdrawal
from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, weights


def promote(registry: Registry, *versions: int) -> None:
    for version in versions:
        registry.publish(weights("reversi4", version, seed=version), "promoted", MATCH)


@pytest.fixture
def filled(registry: Registry) -> Registry:
    """A registry with a baseline, two champions, a rejected candidate and a third champion."""
    registry.publish(weights("reversi4", 0), "first", None)
    promote(registry, 2, 4)
    registry.publish(weights("reversi4", 5, seed=5), "rejected", MATCH)
    promote(registry, 6)
    return registry


def test_the_version_rolled_back_to_is_the_champion_with_its_reason(filled: Registry) -> None:
    rollback = filled.roll_back(2, "  it  passes\nby mistake ")
    assert (rollback.withdrawn, rollback.version, rollback.reason) == (6, 2, "it passes by mistake")
    assert filled.gated().version == 2
    assert filled.rollbacks() == (rollback,)
    assert filled.load(filled.gated()).version == 2
    assert str(rollback) == f"rolled back from version 6 to 2 on {rollback.created[:10]}: it passes by mistake"


def test_a_withdrawn_version_is_not_gated_by_being_published_again(filled: Registry) -> None:
    filled.roll_back(2, "why")
    promote(filled, 4, 6)
    assert filled.gated().version == 2
    promote(filled, 7)
    assert (filled.gated().version, len(filled.rollbacks())) == (7, 1)


def test_a_rollback_can_be_taken_back_and_repeated(filled: Registry) -> None:
    filled.roll_back(4, "first")
    filled.roll_back(6, "a mistake")
    filled.roll_back(2, "second")
    assert [(each.withdrawn, each.version) for each in filled.rollbacks()] == [(6, 4), (4, 6), (6, 2)]
    assert filled.gated().version == 2


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (0, "expected a version that was promoted, got 0: baseline"),
        (5, "expected a version that was promoted, got 5: rejected"),
        (6, "expected another version than the champion, got 6"),
        (3, r"expected the version of a published model \(0, 2, 4, 5, 6\), got 3"),
    ],
)
def test_only_another_promoted_version_can_be_the_champion(filled: Registry, version: int, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        filled.roll_back(version, "why")
    assert (filled.gated().version, filled.rollbacks()) == (6, ())


@pytest.mark.parametrize("reason", ["", "  \n", "\x1b[2J", "x" * 501])
def test_a_reason_is_a_line_of_text(filled: Registry, reason: str) -> None:
    with pytest.raises(UsageError, match="expected a reason of 1 to 500 printable characters, got "):
        filled.roll_back(2, reason)


def test_without_a_champion_there_is_nothing_to_roll_back(registry: Registry) -> None:
    registry.publish(weights("reversi4", 0), "first", None)
    with pytest.raises(NoGatedModelError):
        registry.roll_back(0, "why")


@pytest.mark.parametrize(
    ("rollbacks", "withdrawn"),
    [
        ([], []),
        ([(6, 2)], [3, 4, 5, 6]),
        ([(6, 4), (4, 2)], [3, 4, 5, 6]),
        ([(6, 2), (2, 4)], [3, 5, 6]),
        ([(6, 2), (2, 6)], [3, 4, 5]),
        ([(6, 4), (8, 6)], [5, 7, 8]),
    ],
)
def test_withdrawn_are_the_versions_since_until_they_are_restored(
    rollbacks: list[tuple[int, int]], withdrawn: list[int]
) -> None:
    orders = [Rollback(withdrawn=old, version=new, reason="why", created="2026-11-25") for old, new in rollbacks]
    assert [version for version in range(10) if withdrawal(version, orders)] == withdrawn


@pytest.mark.parametrize(
    "rollbacks", ["x", [3], [{}], [{"withdrawn": 6, "version": 2, "reason": "\x1b[2J", "created": "x"}]], ids=str
)
def test_rollbacks_that_cannot_be_read_are_damage(tmp_path: Path, rollbacks: object) -> None:
    registry = Registry(tmp_path, create=True)
    promote(registry, 2)
    (tmp_path / "gated.json").write_text(json.dumps({"version": 2, "rollbacks": rollbacks}))
    with pytest.raises(CorruptFileError, match=r"gated.json: expected a version, but "):
        registry.gated()


def test_gated_json_comes_back_as_it_was_written() -> None:
    order = Rollback(withdrawn=6, version=2, reason="why", created="2026-11-25")
    gated = Gated(version=2, sha256="0" * 64, rollbacks=(order,))
    assert Gated.from_json(gated.to_json(), "here") == gated
    assert gated.highest == 6
