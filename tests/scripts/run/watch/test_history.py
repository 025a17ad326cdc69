"""What a history has read is what was written, however it was written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from scripts.run.watch.history import POINTS, History, column
from tests.scripts.run.watch.watched_runs import NO_MATCH, moment, verdict


def lines(rows: list[dict[str, float]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_rows_of_one_moment_are_one_and_verdicts_are_apart(tmp_path: Path) -> None:
    one = verdict(12.0, 3, 0, promoted=True, champion=50.0)
    (tmp_path / "metrics.jsonl").write_text(lines([NO_MATCH, *moment(5.0), *moment(10.0), one, *moment(15.0)]))
    history = History(tmp_path)
    assert history.poll()
    assert [tick["elapsed_s"] for tick in history.ticks] == [5.0, 10.0, 15.0]
    assert all({"run/games", "learner/version", "replay/positions"} <= tick.keys() for tick in history.ticks)
    assert history.verdicts == [one]
    assert history.newest["run/games"] == 150.0
    assert history.newest["health/learner/rss_mb"] == 300.0
    assert not history.poll()


def test_what_is_appended_is_read_on_and_a_half_line_waits(tmp_path: Path) -> None:
    path, history = tmp_path / "metrics.jsonl", History(tmp_path)
    assert not history.poll()
    text = lines([*moment(5.0), *moment(10.0)])
    path.write_text(text[:-40])
    history.poll()
    assert [tick["elapsed_s"] for tick in history.ticks] == [5.0, 10.0]
    assert "health/memory/driver_mb" in history.newest
    with open(path, "a") as file:
        file.write(text[-40:] + lines(moment(15.0)))
    assert history.poll()
    assert [tick["elapsed_s"] for tick in history.ticks] == [5.0, 10.0, 15.0]


def test_what_is_no_row_is_left_out(tmp_path: Path) -> None:
    nonsense = [
        '{"step": 3, "elapsed_s": 1',
        "[1, 2]",
        "7",
        '{"elapsed_s": null, "run/games": 9}',
        '{"run/games": 9}',
        "\x00\x01",
        "[" * 5000,
        '{"elapsed_s": 7.0, "run/games": NaN, "run/restarts": null, "run/positions": ' + "9" * 400 + ', "name": "x"}',
    ]
    (tmp_path / "metrics.jsonl").write_text(lines(moment(5.0)) + "\n".join(nonsense) + "\n" + lines(moment(10.0)))
    history = History(tmp_path)
    history.poll()
    assert [tick["elapsed_s"] for tick in history.ticks] == [5.0, 7.0, 10.0]
    assert history.ticks[1] == {"elapsed_s": 7.0}
    np.testing.assert_array_equal(column(history.ticks, "run/games"), [50.0, np.nan, 100.0])


def test_a_file_that_begins_again_is_read_again_and_one_that_is_gone_is_no_error(tmp_path: Path) -> None:
    path, history = tmp_path / "metrics.jsonl", History(tmp_path)
    path.write_text(lines([*moment(5.0), *moment(10.0)]))
    history.poll()
    path.write_text(lines(moment(2.0)))
    assert history.poll()
    assert [tick["elapsed_s"] for tick in history.ticks] == [2.0]
    path.unlink()
    assert not history.poll()
    assert [tick["elapsed_s"] for tick in history.ticks] == [2.0]


def test_a_long_run_keeps_few_moments_all_verdicts_and_its_averages(tmp_path: Path) -> None:
    moments, every = 20 * POINTS, 50
    path, history = tmp_path / "metrics.jsonl", History(tmp_path)
    with open(path, "w") as file:
        for number in range(moments):
            file.write(lines(moment(5.0 * number, **{"run/cache_hit_share": number % 2})))
            if number % every == 0:
                file.write(lines([verdict(5.0 * number, number, 0, promoted=False, champion=0.0)]))
    history.poll()
    assert POINTS <= len(history.ticks) < 2 * POINTS
    assert len(history.verdicts) == moments // every
    times = column(history.ticks, "elapsed_s")
    assert (np.diff(times) > 0).all()
    assert np.diff(times).max() < 2 * np.diff(times).mean()
    np.testing.assert_allclose(column(history.ticks, "run/games"), 10 * times)
    assert history.newest["run/games"] == 50.0 * (moments - 1)
    assert history.recent[-1]["run/games"] == 50.0 * (moments - 1)
    with open(path, "a") as file:
        for number in range(moments, moments + 3 * POINTS):
            file.write(lines(moment(5.0 * number)))
            if number % 100 == 0:
                file.flush()
                history.poll()
    history.poll()
    assert POINTS <= len(history.ticks) < 2 * POINTS
    assert history.newest["run/games"] == 50.0 * (moments + 3 * POINTS - 1)
