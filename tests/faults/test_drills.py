"""The drills in short: the list, what cannot be asked, and two kills in one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.drill.__main__ import SUMMARIES, main
from tests.faults.drill.records import deliver_damaged


def test_every_drill_is_listed_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()[-len(SUMMARIES) :]
    assert [line.split()[0] for line in lines] == list(SUMMARIES)
    assert all(len(line.split(maxsplit=1)[1]) > 5 for line in lines)


def test_an_unknown_drill_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["earthquake"])
    assert caught.value.code == 2
    assert "expected drills among actor, learner" in capsys.readouterr().err


def test_damaged_repeated_and_poisoned_records_are_counted_and_never_taken(tmp_path: Path) -> None:
    outcome = deliver_damaged(tmp_path, rounds=3)
    assert outcome.kept, outcome.seen
    assert outcome.lost_games == 0
    assert outcome.kills == 3 * 20 * 4
    assert "60 illegal-move" in outcome.seen
    assert len(list((tmp_path / "rejected").glob("*-illegal-move.records"))) > 0


def test_an_actor_and_the_redis_server_killed_in_one_run_cost_nothing_that_was_acknowledged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "outcomes.json"
    assert main(["actor", "redis", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    outcomes = json.loads(out.read_text())
    assert [line.split()[:2] for line in printed.out.splitlines()] == [["actor", "kept"], ["redis", "kept"]]
    assert [outcome["drill"] for outcome in outcomes] == ["actor", "redis"]
    for outcome in outcomes:
        assert outcome["kept"], outcome["seen"]
        assert (outcome["lost"], outcome["twice_games"], outcome["lost_games"]) == (0, 0, 0)
        assert outcome["acknowledged"] > 10
        assert len(outcome["went_on_s"]) == outcome["kills"] == outcome["asked"] == 1
    assert sorted(line.split(":")[0] for line in printed.err.splitlines()) == ["actor 1/1", "redis 1/1"]
