"""The drills in short: the list, what cannot be asked, and one kill of the replay as `reversi drill` does it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.cli import main
from scripts.drill_faults import DRILLS
from scripts.drill_records import deliver_damaged


def test_every_drill_is_listed_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(DRILLS)
    assert {"actor", "learner", "gate", "replay", "weights", "driver", "redis"} <= set(DRILLS)


def test_an_unknown_drill_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "earthquake"]) == 2
    assert "expected drills among actor, learner" in capsys.readouterr().err


def test_damaged_repeated_and_poisoned_records_are_counted_and_never_taken(tmp_path: Path) -> None:
    outcome = deliver_damaged(tmp_path, rounds=3)
    assert outcome.kept, outcome.seen
    assert outcome.lost_games == 0
    assert outcome.kills == 3 * 20 * 4
    assert "60 illegal-move" in outcome.seen
    assert len(list((tmp_path / "rejected").glob("*-illegal-move.records"))) > 0


def test_a_killed_actor_costs_nothing_that_was_delivered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "outcomes.json"
    assert main(["drill", "actor", "--json", "--out", str(out)]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert json.loads(out.read_text()) == [outcome]
    assert outcome["kept"]
    assert outcome["lost_games"] == 0
    assert len(outcome["went_on_s"]) == outcome["kills"] == 1
