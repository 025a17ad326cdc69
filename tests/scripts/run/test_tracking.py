"""Trackers: every row arrives, a resumed run goes on in the same file, and a dashboard never ends a run."""

from __future__ import annotations

import json
import re
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.config.tracking import PlainConfig, TrackingConfig
from scripts.run.tracking import open_trackers, tensorboard
from scripts.run.tracking.jsonl import JsonlTracker, rows_of
from scripts.run.tracking.metrics import flatten
from scripts.run.tracking.tensorboard import TensorboardTracker
from tests.documents import metrics_named


@dataclass(frozen=True, kw_only=True)
class Inner:
    depth: float
    """How deep."""


@dataclass(frozen=True, kw_only=True)
class Report:
    count: int
    """How many."""
    ok: bool
    """Whether
    all is well."""
    text: str
    """Not a metric."""
    inner: Inner | None
    """Filled at times."""


def report(inner: Inner | None) -> Report:
    return Report(count=3, ok=True, text="x", inner=inner)


def test_a_report_becomes_numbers_by_the_names_of_its_fields() -> None:
    assert flatten("a", report(Inner(depth=0.5))) == {"a/count": 3.0, "a/ok": 1.0, "a/inner/depth": 0.5}
    assert flatten("a", report(None)) == {"a/count": 3.0, "a/ok": 1.0}


def test_jsonl_rows_are_appended_and_a_cut_row_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    first = JsonlTracker(path)
    first.write(1, 0.5, {"a/b": 1.0, "a/c": float("nan")})
    first.close()
    with path.open("a") as file:
        file.write('{"step": 2, "el')
    second = JsonlTracker(path)
    second.write(3, 1.5, {"a/b": 2.0})
    second.close()
    lines = path.read_text().splitlines()
    assert json.loads(lines[0]) == {"step": 1, "elapsed_s": 0.5, "a/b": 1.0, "a/c": None}
    assert json.loads(lines[2]) == {"step": 3, "elapsed_s": 1.5, "a/b": 2.0}


def test_opening_jsonl_again_reads_its_last_byte_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a day of training the file has a quarter of a gigabyte."""
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 0}\n')
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the whole file was read"))
    tracker = JsonlTracker(path)
    tracker.write(1, 0.5, {})
    tracker.close()
    assert path.read_text().splitlines() == ['{"step": 0}', '{"step": 1, "elapsed_s": 0.5}']


def test_tensorboard_reads_back_what_was_written(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tracker = TensorboardTracker(tmp_path, {})
    for step in range(3):
        tracker.write(10 * step, float(step), {"learner/losses/policy": 2.0 - step})
    tracker.close()
    events = EventAccumulator(str(tmp_path)).Reload().Scalars("learner/losses/policy")
    assert [(event.step, event.value) for event in events] == [(0, 2.0), (10, 1.0), (20, 0.0)]


def test_what_never_changes_is_no_scalar_and_what_changes_late_is_there_from_its_first_value(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tracker = TensorboardTracker(tmp_path, {})
    for step in range(4):
        tracker.write(step, float(step), {"run/restarts": 0.0, "gate/promotions": float(step > 2)})
    tracker.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Tags()["scalars"] == ["gate/promotions"]
    assert [(event.step, event.value) for event in events.Scalars("gate/promotions")] == [(0, 0.0), (3, 1.0)]


def test_tensorboard_has_the_configuration_and_charts_of_metrics_that_there_are(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.custom_scalar import layout_pb2

    TensorboardTracker(tmp_path, {"run": {"minutes": 10}}).close()
    events = EventAccumulator(str(tmp_path)).Reload()
    (text,) = events.Tensors("configuration")[0].tensor_proto.string_val
    assert text == b"    run:\n      minutes: 10"
    (data,) = events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val
    layout = layout_pb2.Layout.FromString(data)
    assert [category.title for category in layout.category] == ["strength", "truth", "losses", "speed", "health"]
    known = [name.replace("ROLE", "learner") for name in metrics_named()]
    tags = [tag for category in layout.category for chart in category.chart for tag in chart.multiline.tag]
    assert [tag for tag in tags if not any(re.match(tag, name) for name in known)] == []


def test_the_trackers_named_are_opened_in_the_runs_folder(tmp_path: Path) -> None:
    settings = TrackingConfig(jsonl=PlainConfig(), tensorboard=PlainConfig())
    trackers = open_trackers(settings, tmp_path, {}, "aaaa")
    for tracker in trackers:
        tracker.write(0, 0.0, {"a": 1.0})
        tracker.close()
    assert (tmp_path / "metrics.jsonl").read_text().startswith('{"step": 0')
    assert list((tmp_path / "tensorboard" / tmp_path.name).glob("events.*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_costs_rows_and_not_the_run(caplog: pytest.LogCaptureFixture) -> None:
    tracker = JsonlTracker(Path("/dev/full"))
    tracker.write(1, 1.0, {"run/games": 1.0})
    tracker.close()
    assert caplog.messages == ["a row of metrics is lost: [Errno 28] No space left on device"]


def test_a_row_that_the_disk_took_a_part_of_is_told_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.jsonl"
    tracker = JsonlTracker(path)
    file = tracker._file
    with monkeypatch.context() as disk:
        disk.setattr(tracker, "_file", types.SimpleNamespace(write=lambda data: file.write(data[:6])))
        tracker.write(1, 1.0, {"run/games": 1.0})
    tracker.write(2, 2.0, {"run/games": 2.0})
    tracker.close()
    assert caplog.messages == ["a row of metrics is cut short: the disk is full"]
    cut, whole = path.read_text().splitlines()
    assert (cut, json.loads(whole)["step"]) == ('{"step', 2)


def test_tensorboard_goes_on_in_another_file_once_the_disk_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def full(event: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tensorboard, "AGAIN_S", 0.0)
    tracker = TensorboardTracker(tmp_path, {})
    monkeypatch.setattr(tracker._writer, "add_event", full)
    tracker.write(1, 1.0, {"run/games": 1.0})
    tracker.write(2, 2.0, {"run/games": 2.0})
    tracker.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert [event.step for event in EventAccumulator(str(tmp_path)).Reload().Scalars("run/games")] == [2]


def test_only_what_is_asked_for_is_kept_of_a_runs_metrics(tmp_path: Path) -> None:
    row = {"step": 1, "elapsed_s": 2.0, "gate/champion_elo": 3.0, "learner/losses/value": 4.0, "run/games": 5.0}
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (row, {"elapsed_s": 9.0})))
    kept = {"elapsed_s": 2.0, "gate/champion_elo": 3.0, "learner/losses/value": 4.0}
    assert rows_of(tmp_path, "gate/champion_elo", "learner/losses/") == [kept]
    assert rows_of(tmp_path, "play/") == []
