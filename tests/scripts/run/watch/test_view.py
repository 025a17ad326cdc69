"""What the page of a run says is what its folder says, in every state of a run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from reversi.errors import RunError
from scripts.run.watch.view import RunView
from tests.scripts.run.watch.watched_runs import VERDICTS, moment, run_with, verdict
from tests.scripts.run.written_runs import held, made


def chart(shown: dict[str, Any], id: str) -> dict[str, Any]:
    (found,) = [each for each in shown["charts"] if each["id"] == id]
    return dict(found)


def test_strength_stands_on_the_champion_of_the_day(tmp_path: Path) -> None:
    shown = run_with(tmp_path / "run", VERDICTS).poll()
    strength = chart(shown, "strength")
    champion, rejected, promoted = strength["series"]
    assert champion["values"] == [1000, 1000, 1090]
    assert rejected["values"] == [None, 980, None]
    assert (rejected["low"], rejected["high"]) == ([None, 950, None], [None, 1010, None])
    assert promoted["values"] == [1000, None, 1090]
    assert (promoted["low"][2], promoted["high"][2]) == (1060, 1120)
    assert rejected["names"][1] == "v4 rejected: 150-9-180 against v2"
    assert shown["places"]["gate"]["time"] == [20, 40, 60]
    assert shown["places"]["gate"]["games"] == [200, 400, 600]


def match(at_s: float, opponent: str, version: int, *, score: float, fallen: bool = False) -> dict[str, float]:
    """Return the row of a champion's match against a fixed opponent or an older champion."""
    values = {"version": version, "champion": 1, "wins": 40 * score, "draws": 0, "losses": 40 * (1 - score)}
    ends = {"score": score, "score_low": score - 0.1, "score_high": score + 0.1, "fallen": fallen, "share": 0.01}
    return {"step": 1, "elapsed_s": at_s} | {
        f"strength/{opponent}/{key}": float(each) for key, each in (values | ends).items()
    }


def test_fixed_opponents_and_older_champions_have_charts_and_tiles(tmp_path: Path) -> None:
    rows = [
        match(22.0, "greedy", 2, score=0.5),
        match(62.0, "greedy", 6, score=0.8),
        match(63.0, "v0", 6, score=0.75),
        match(64.0, "v2", 6, score=0.2, fallen=True),
    ]
    shown = run_with(tmp_path / "run", [*VERDICTS, *rows]).poll()
    (greedy,) = chart(shown, "opponents")["series"]
    assert (greedy["name"], greedy["values"], greedy["low"]) == ("greedy", [50, 80], [40, 70])
    assert greedy["names"][1] == "v6 against greedy: 32-0-8"
    good, bad = chart(shown, "older")["series"]
    assert (good["name"], good["values"], good["color"]) == ("v0", [None, 75], "good")
    assert (bad["name"], bad["values"], bad["color"]) == ("v2", [None, 20], "bad")
    assert bad["names"][1] == "v6 against v2: 8-0-32, less than an earlier champion"
    assert shown["places"]["strength"]["time"] == [22, 64]
    assert {"value": "80.0 %", "text": "against greedy, 40 games"} in shown["tiles"]
    assert not [tile for tile in shown["tiles"] if "v0" in tile["text"]]


def test_the_first_jump_does_not_eat_the_axis_and_no_interval_is_cut(tmp_path: Path) -> None:
    strength = chart(run_with(tmp_path / "run", VERDICTS).poll(), "strength")
    floor, ceiling = strength["range"]
    assert (floor, ceiling) == (800, None)
    assert min(low for each in strength["series"][1:] for low in each["low"] if low is not None and low > 0) >= floor


def test_intervals_of_truth_are_of_95_percent_and_end_at_100(tmp_path: Path) -> None:
    shown = run_with(tmp_path / "run", VERDICTS).poll()
    line, kept = chart(shown, "truth")["series"]
    assert line["values"] == kept["values"] == [98, 98, 98]
    assert kept["low"][0] == pytest.approx(98 - 1.96)
    assert kept["high"][0] == pytest.approx(98 + 1.96)
    verdicts = [{**VERDICTS[0], "gate/truth/outcome_kept": 0.995}]
    _, kept = chart(run_with(tmp_path / "other", verdicts).poll(), "truth")["series"]
    assert kept["high"] == [100]


def test_a_run_that_went_on_from_a_checkpoint_has_places_in_order(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", [*VERDICTS, verdict(50.0, 8, 6, promoted=False, champion=1090.0)])
    with open(tmp_path / "run" / "metrics.jsonl", "a") as file:
        file.writelines(json.dumps(row) + "\n" for row in moment(30.0))
    shown = view.poll()
    for axes in shown["places"].values():
        for values in axes.values():
            assert values == sorted(values)
    assert shown["places"]["gate"]["time"] == [20, 40, 60, 60]


def test_who_waits_and_how_often_positions_are_used(tmp_path: Path) -> None:
    shown = run_with(tmp_path / "run", []).poll()
    (waits,) = chart(shown, "balance")["series"]
    assert waits["name"] == "learner for samples"
    assert set(waits["values"]) == {25}
    (reuse,) = chart(shown, "reuse")["series"]
    assert set(reuse["values"]) == {3}
    (games,) = chart(shown, "games")["series"]
    assert games["values"][0] is None
    assert set(games["values"][1:]) == {10}
    assert not [each for each in shown["charts"] if each["id"] in ("cache", "gradient", "play", "strength")]


def test_the_head_says_what_trains_and_how_far_it_is(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", VERDICTS)
    with held(tmp_path / "run"):
        shown = view.poll()
        assert shown["state"] == "training"
        with open(tmp_path / "run" / "run.lock", "a") as lock:
            lock.write("stopping\n")
        assert view.poll()["state"] == "saving"
    assert shown["what"] == ["6\N{MULTIPLICATION SIGN}6", "alphazero", "2 blocks x 32 channels, lines", "seed 7"]
    assert (shown["elapsed_s"], shown["limit_s"]) == (60, 600)
    (learner,) = shown["roles"]
    assert learner == {
        "role": "learner",
        "alive": 1,
        "wanted": 1,
        "restarts": 0,
        "pending_s": 0.5,
        "rss_mb": 300,
    }
    texts = {tile["text"]: tile["value"] for tile in shown["tiles"]}
    assert texts["champion, 2 of 3 candidates promoted"] == "v6"
    assert texts["results kept, ±2.0, of 300 solved positions"] == "98.0 %"
    assert texts["games"] == "600"
    assert texts["simulations/s, last minute"] == "5"
    assert shown["commands"]["pull the champion"].startswith("reversi pull --registry ")
    assert [match["candidate"] for match in shown["gate"]] == [6, 4, 2]
    assert [event["text"] for event in shown["events"]] == [
        "v6 promoted: 230-10-100 against v2",
        "v4 rejected: 150-9-180 against v2",
        "v2 promoted: 230-10-100 against v0",
    ]


def test_a_run_without_metrics_or_a_promotion_claims_no_champion(tmp_path: Path) -> None:
    made(tmp_path / "new")
    with held(tmp_path / "new"):
        shown = RunView(tmp_path / "new").poll()
    assert (shown["state"], shown["charts"], shown["gate"], shown["roles"]) == ("training", [], [], [])
    shown = run_with(tmp_path / "run", VERDICTS[1:2]).poll()
    assert shown["tiles"][0] == {"value": "none yet", "text": "champion, 0 of 1 candidates promoted"}
    assert list(shown["commands"]) == ["status"]


def test_before_a_promotion_no_curve_is_a_champions(tmp_path: Path) -> None:
    rows = [verdict(20.0, 2, -1, promoted=False, elo=-20.0, champion=0.0)]
    strength = run_with(tmp_path / "run", rows).poll()["charts"][0]
    assert (strength["id"], [series["name"] for series in strength["series"]]) == ("strength", ["rejected"])


def test_after_a_rollback_the_champion_is_the_one_of_the_newest_verdict(tmp_path: Path) -> None:
    shown = run_with(tmp_path / "run", [*VERDICTS, verdict(61.0, 8, 2, promoted=False, champion=1000.0)]).poll()
    assert shown["tiles"][0]["value"] == "v2"


def test_how_a_run_ended_is_said(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", [])
    assert view.poll()["state"] == "died"
    record = {"format": 1, "how": "failed", "trained": True, "lost": True, "checkpoint": None, "error": "no disk"}
    (tmp_path / "run" / "ended.json").write_text(json.dumps(record))
    shown = view.poll()
    assert (shown["state"], shown["reason"], shown["roles"]) == ("died", "no disk", [])


def test_a_report_that_a_run_writes_at_its_end_says_that_it_has_finished(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", [])
    checkpoint = tmp_path / "run" / "checkpoints" / "000001"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").write_text("{}")
    record = {"format": 1, "how": None, "trained": True, "lost": False, "checkpoint": "000001", "error": None}
    with held(tmp_path / "run"):
        for how, state in ((None, "training"), ("finished", "finished")):
            (tmp_path / "run" / "ended.json").write_text(json.dumps(record | {"how": how}))
            assert view.poll()["state"] == state


@pytest.mark.parametrize("text", ["{", "[]", '{"results": 3}', '{"results": {"random": {"score": "x"}}}', "[" * 9999])
def test_a_summary_that_is_none_costs_its_tiles_alone(text: str, tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", [])
    tiles = view.poll()["tiles"]
    (tmp_path / "run" / "summary.json").write_text(text)
    assert view.poll()["tiles"] == tiles
    (tmp_path / "run" / "summary.json").write_text('{"results": {"random": {"score": 0.75, "games": 400}}}')
    assert view.poll()["tiles"] == [*tiles, {"value": "75.0 %", "text": "against random, 400 games"}]


def test_a_folder_that_is_none_or_is_gone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="expected the folder of a run"):
        RunView(tmp_path)
    view = run_with(tmp_path / "run", [])
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(RunError, match="the run's folder is gone"):
        view.poll()


def test_the_log_is_among_the_events_whatever_bytes_it_has(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", VERDICTS[:1])
    (tmp_path / "run" / "logs").mkdir()
    (tmp_path / "run" / "logs" / "run.log").write_bytes(b"\xff\n" * 40_000 + b"actor-0 died\n")
    events = view.poll()["events"]
    assert events[0]["text"] == "actor-0 died"
    assert len(events) == 60


def test_self_play_has_its_charts_and_those_of_zeros_are_left_out(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", [])
    played = {"selfplay/black_win_share": 0.5, "selfplay/draw_share": 0.1, "selfplay/white_win_share": 0.4}
    more = {"selfplay/plies": 33.0, "selfplay/lead_discs": 12.0, "selfplay/depth": 0.0, "selfplay/policy_loss": 1.7}
    with open(tmp_path / "run" / "metrics.jsonl", "a") as file:
        for at_s in (70.0, 75.0):
            file.writelines(json.dumps(row) + "\n" for row in moment(at_s))
            file.write(json.dumps({"step": 1, "elapsed_s": at_s, **played, **more}) + "\n")
    shown = view.poll()
    results = {each["name"]: each["values"][-1] for each in chart(shown, "results")["series"]}
    assert results == {"Black won": 50, "drawn": 10, "White won": 40}
    assert [each["values"][-1] for each in chart(shown, "length")["series"]] == [33, 12]
    assert not [each for each in shown["charts"] if each["id"] == "depth"]
    (fresh,) = [each for each in chart(shown, "losses")["series"] if each["name"] == "policy, fresh games"]
    assert fresh["values"][-2:] == [1.7, 1.7]


def test_a_run_that_is_resumed_with_other_settings_is_shown_with_these(tmp_path: Path) -> None:
    view = run_with(tmp_path / "run", VERDICTS)
    assert view.poll()["limit_s"] == 600
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("minutes: 10\n", "minutes: 20\n"))
    os.utime(config, (1, 1))
    assert view.poll()["limit_s"] == 1200


def test_a_webhook_is_nowhere_on_the_page(tmp_path: Path) -> None:
    """The page's file is made to be given away, and whoever has the address can write there."""
    run = made(tmp_path / "run", "tracking=[jsonl,alerts]", "tracking.alerts.webhook=https://hooks.example/T0/hunter22")
    view = RunView(run)
    assert view.poll()["what"][1] == "alphazero", "the configuration is still one"
    assert "webhook: https://***" in view.config_text()
    assert "hunter22" not in json.dumps(view.poll()) + view.config_text()
