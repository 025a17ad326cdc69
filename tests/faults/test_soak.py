"""A soak tells what grows from what fills, jitters, jumps once or was started again."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from reversi.errors import RunError
from tests.faults.soak.__main__ import main
from tests.faults.soak.memory_series import FILLING_BYTES, Series, series_of
from tests.faults.soak.trend import LEAST_POINTS, slope_of
from tests.faults.soak.verdict import BOUND_MB_PER_H, WARM_UP_S, Finding, judge, measured
from tests.scripts.run.written_runs import HOUR_S, rows, write


def findings_of(run: Path, bound_mb_per_h: float = BOUND_MB_PER_H) -> dict[str, Finding]:
    return {series.part: judge(series, bound_mb_per_h) for series in measured(run)}


def test_the_slope_is_that_of_the_line_whatever_the_outliers() -> None:
    rng = np.random.default_rng(3)
    x = np.linspace(0.0, 10.0, 400)
    y = 7.0 + 2.5 * x + rng.normal(0.0, 1.0, len(x))
    y[::9] += 1000.0
    slope = slope_of(x.tolist(), y.tolist())
    assert slope is not None
    assert slope.low <= 2.5 <= slope.high
    assert slope.value == pytest.approx(2.5, abs=0.15)
    assert slope.high - slope.low < 0.4


def test_the_interval_holds_zero_nineteen_times_of_twenty_where_nothing_grows() -> None:
    rng = np.random.default_rng(4)
    x = np.arange(40.0).tolist()
    slopes = [slope_of(x, rng.normal(size=40).tolist()) for _ in range(400)]
    outside = sum(not slope.low <= 0.0 <= slope.high for slope in slopes if slope is not None)
    assert 5 <= outside <= 38, "20 are expected, with a standard deviation of 4.4"


@pytest.mark.parametrize("count", [0, 1, LEAST_POINTS - 1])
def test_a_few_points_have_no_slope(count: int) -> None:
    assert slope_of([float(i) for i in range(count)], [0.0] * count) is None
    assert slope_of([5.0] * 50, [1.0] * 50) is None, "no time has passed"


def test_a_leak_is_found_and_jitter_is_not(tmp_path: Path) -> None:
    write(tmp_path, rows(learner_mb_per_h=40.0))
    found = findings_of(tmp_path)
    assert (found["learner"].verdict, found["whole run"].verdict) == ("grows", "flat")
    assert found["learner"].mb_per_h == pytest.approx(40.0, abs=1.0)
    assert found["learner"].last_mb - found["learner"].first_mb == pytest.approx(40 * 1.83 * 0.9, abs=5.0)
    assert main([str(tmp_path)]) == 1
    write(tmp_path, rows(learner_mb_per_h=10.0))
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--bound", "5"]) == 0
    assert findings_of(tmp_path, 5.0)["learner"].verdict == "unclear", "it grows, but by 3.7 % of 500 MB only"
    write(tmp_path, rows(learner_mb_per_h=10.0, hours=6.0))
    assert main([str(tmp_path), "--bound", "5"]) == 1


def test_the_warm_up_does_not_count() -> None:
    times_s = np.arange(0.0, 2 * HOUR_S, 10.0)
    loading = Series("gate", times_s.tolist(), np.minimum(400.0, 100.0 + times_s * 300 / WARM_UP_S).tolist())
    finding = judge(loading, 1.0)
    assert (finding.verdict, finding.mb_per_h, finding.first_mb) == ("flat", 0.0, 400.0)


def test_a_replay_that_fills_is_no_leak_and_one_that_grows_faster_is(tmp_path: Path) -> None:
    positions_per_h = 2_000_000
    mb_per_h = positions_per_h * FILLING_BYTES / (1 << 20)
    for times, verdict in ((0.8, "flat"), (1.5, "grows")):
        filling = [
            {
                "elapsed_s": s,
                "replay/positions": positions_per_h * s / HOUR_S,
                "health/replay/rss_mb": 300 + times * mb_per_h * s / HOUR_S,
                "health/replay/alive": 1.0,
            }
            for s in np.arange(0.0, HOUR_S, 10.0).tolist()
        ]
        write(tmp_path, filling)
        assert findings_of(tmp_path)["replay"].verdict == verdict


def test_what_grows_with_the_replay_is_judged_once_that_is_full() -> None:
    full_s = 0.4 * HOUR_S
    filled = [
        {
            "elapsed_s": s,
            "replay/positions": 1e6 * min(1.0, s / full_s),
            "replay/fill": min(1.0, s / full_s),
            "run/resident_mb": 3000 + 120 * min(1.0, s / full_s),
            "health/memory/driver_mb": 700 + 60 * s / HOUR_S,
        }
        for s in np.arange(0.0, HOUR_S, 10.0).tolist()
    ]
    found = {series.part: judge(series, 20.0) for series in series_of(filled)}
    assert found["whole run"].minutes == pytest.approx(36, abs=0.5)
    assert (found["whole run"].mb_per_h, found["whole run"].filling_mb_per_h) == (0.0, 0.0)
    assert found["driver"].mb_per_h == pytest.approx(60.0, abs=1.0), "it goes on when the replay does not"
    still_filling = series_of(row for row in filled if row["elapsed_s"] < 1.2 * full_s)
    assert all(series.full_s is None and series.filling_mb_per_h > 100 for series in still_filling)


def test_a_process_that_was_started_again_is_a_new_series() -> None:
    before, after = rows(0.0, hours=1.0), rows(0.0, hours=1.0, begin_s=HOUR_S)
    for row in after:
        row |= {"health/learner/restarts": 1.0, "run/session_s": row["elapsed_s"]}
        row["health/learner/rss_mb"] += 300.0  # it holds more than the one that died, and is flat
    found = {series.part: series for series in series_of([*before, *after])}
    assert found["learner"].times_s[0] == after[1]["elapsed_s"]
    assert judge(found["learner"], 20.0).verdict == "flat"
    assert len(found["whole run"].mb) == len(before) + len(after)


def test_a_run_that_was_resumed_is_judged_from_there() -> None:
    before, after = rows(0.0, hours=1.0), rows(0.0, hours=1.0, begin_s=0.9 * HOUR_S)
    found = {series.part: series for series in series_of([*before, *after])}
    assert len(found["whole run"].mb) == len(found["learner"].mb) == len(after)


def test_actors_that_join_are_no_leak() -> None:
    joined = [
        {
            "elapsed_s": 10.0 * index,
            "health/actors/rss_mb": 300.0 * (1 + index // 10),
            "health/actors/alive": 1.0 + index // 10,
            "health/actors/restarts": float(index // 10),
        }
        for index in range(200)
    ]
    (actors,) = series_of(joined)
    assert set(actors.mb) == {300.0}


def test_the_picture_has_every_part_and_its_slope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = {"health/memory/driver_mb": 400.0, "health/memory/object_store_mb": 12.0, "replay/server_mb": 80.0}
    write(tmp_path, [row | held for row in rows(learner_mb_per_h=40.0)])
    assert main([str(tmp_path), "--out", str(tmp_path / "soak.svg")]) == 1
    assert "grows" in capsys.readouterr().out
    texts = [element.text or "" for element in ElementTree.parse(tmp_path / "soak.svg").getroot().iter()]
    for name in ("learner +4", "driver +0.0", "object store +0.0", "redis +0.0", "whole run"):
        assert any(text.startswith(name) for text in texts), name


def test_what_cannot_be_judged_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="expected a run's folder or its name"):
        main([str(tmp_path)])
    write(tmp_path, [{"elapsed_s": 1.0}])
    with pytest.raises(RunError, match="expected metrics of memory"):
        main([str(tmp_path)])


@pytest.mark.parametrize(("hours", "verdict"), [(0.01, "too short"), (0.6, "too short"), (0.8, "grows")])
def test_nothing_is_concluded_from_less_than_half_an_hour(
    tmp_path: Path, hours: float, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, rows(learner_mb_per_h=400.0, hours=hours))
    code = main([str(tmp_path)])
    learner = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("learner"))
    assert (code, learner.endswith(verdict)) == (int(verdict == "grows"), True)


def test_a_finding_says_what_was_allowed() -> None:
    finding: Finding = judge(Series("replay", [60.0 * i for i in range(60)], [300.0] * 60, 55.0), 20.0)
    assert (finding.filling_mb_per_h, finding.verdict, finding.most_mb) == (55.0, "flat", 300.0)
