"""Learning pictures are SVG with the curves of what was learned; what is no run is one line."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scripts.curves import Curve, Panel, Scale, draw
from tests.scripts.conftest import Reversi
from tests.scripts.run.written_runs import made, write


def numbers(path: str) -> list[tuple[float, float]]:
    """Return the corners of a path of absolute M and L."""
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]


def test_points_lie_where_their_values_are() -> None:
    text = draw("run", "minutes", [Panel("loss", [Curve("all", [0, 5, 10], [1.0, 0.5, 0.0])], height=100)])
    root = ElementTree.fromstring(text)
    (path,) = [e.get("d") or "" for e in root.iter() if e.get("fill") == "none"]
    (x0, y0), (x1, y1), (x2, y2) = numbers(path)
    assert (x1 - x0, x2 - x1) == (pytest.approx(297), pytest.approx(297)), "half of the axis each"
    assert (y1 - y0, y2 - y1) == (pytest.approx(50), pytest.approx(50)), "falling is down"
    ticks = [e.text for e in root.iter() if e.get("text-anchor") == "middle"]
    assert ticks == ["0", "2", "4", "6", "8", "10", "minutes"]


def test_equal_ratios_are_equally_far_on_logarithmic_scales() -> None:
    panel = Panel("rate", [Curve("all", [1, 4, 16], [10.0, 1e3, 1e5])], height=100, logarithmic=True)
    root = ElementTree.fromstring(draw("run", "games", [panel], x_ratios=[1, 4, 16]))
    (path,) = [e.get("d") or "" for e in root.iter() if e.get("fill") == "none"]
    (x0, y0), (x1, y1), (x2, y2) = numbers(path)
    assert (x1 - x0, x2 - x1) == (pytest.approx(297), pytest.approx(297))
    assert (y0 - y1, y1 - y2) == (pytest.approx(50), pytest.approx(50))
    assert [e.text for e in root.iter() if e.get("text-anchor") == "middle"] == ["1", "4", "16", "games"]
    assert [e.text for e in root.iter() if e.get("text-anchor") == "end"] == [
        "all",
        "10",
        "100",
        "1,000",
        "10,000",
        "100,000",
    ]


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (2365, 6687, ["3,000", "4,000", "5,000", "6,000"]),
        (1.08e5, 3.5e6, ["200,000", "500,000", "1 M", "2 M"]),
        (6471, 5.4e8, ["10,000", "100,000", "1 M", "10 M", "100 M"]),
        (1e-6, 1e6, ["1e-06", "0.0001", "0.01", "1", "100", "10,000", "1 M"]),
        (3000, 3400, ["3,000", "3,100", "3,200", "3,300", "3,400"]),  # no three of one digit: as on a linear scale
        (0.02, 0.05, ["0.02", "0.03", "0.04", "0.05"]),
    ],
)
def test_ticks_of_a_logarithmic_scale_are_round_and_neither_few_nor_many(
    low: float, high: float, texts: list[str]
) -> None:
    ticks = Scale(low, high, 0, 1000, logarithmic=True).ticks
    assert [text for _, text in ticks] == texts
    assert [at for at, _ in ticks] == sorted(at for at, _ in ticks)


def test_every_curve_of_a_dozen_is_drawn_and_named_in_its_own_style() -> None:
    curves = [Curve(f"player number {i}", [6, 7, 8], [i, i, 2 * i], dots=True) for i in range(12)]
    root = ElementTree.fromstring(draw("many", "x", [Panel("share", curves)], x_low=6))
    lines = [e for e in root.iter() if e.get("fill") == "none"]
    assert len({(e.get("stroke"), e.get("stroke-dasharray")) for e in lines}) == 12
    assert sum(e.tag.endswith("circle") for e in root.iter()) == 36
    names = {e.text: (float(e.get("x", "nan")), float(e.get("y", "nan"))) for e in root.iter()}
    at = [names[curve.name] for curve in curves]
    assert len(set(at)) == 12
    assert max(y for _, y in at) < min(float(e.get("cy", "nan")) for e in root.iter() if e.tag.endswith("circle"))
    assert [e.text for e in root.iter() if e.get("text-anchor") == "middle"] == ["6", "7", "8", "x"]


@pytest.mark.parametrize("y", [[3.0, 3.0], [float("nan"), 1e-9], [-1e6, 1e6]])
def test_odd_values_still_draw(y: list[float]) -> None:
    root = ElementTree.fromstring(
        draw("<run & run>", "x", [Panel("a", [Curve("b", [0, 1], y, step=True)], height=100)])
    )
    assert [e.text for e in root.iter() if e.get("font-weight") == "bold"] == ["<run & run>"]
    dots = [(float(e.get("cx", "nan")), float(e.get("cy", "nan"))) for e in root.iter() if e.tag.endswith("circle")]
    assert len(dots) == sum(not math.isnan(value) for value in y)
    width, height = float(root.get("width", "nan")), float(root.get("height", "nan"))
    assert all(0 <= x <= width and 0 <= y <= height for x, y in dots)


@pytest.mark.parametrize("step", [False, True])
def test_a_long_run_has_a_small_picture_with_its_peaks(step: bool) -> None:
    """A day has 17,000 rows of five seconds, for 594 pixels."""
    y = [math.sin(i / 2000) for i in range(17_000)]
    y[5_000], y[9_000] = 9.0, -9.0
    short, text = (
        draw("run", "minutes", [Panel("loss", [Curve("all", list(range(len(v))), v, step)])]) for v in (y[:60], y)
    )
    assert short.count("L") + short.count("H") >= 59, "a short run keeps every point"
    assert len(text) < (220_000 if step else 60_000)
    heights = [float(value) for value in re.findall(r"[VL ]([\d.]+)(?=[HL\"])", re.findall(r'd="(M[^"]*")', text)[-1])]
    assert (min(heights), max(heights)) == (66.0 - 8, 66.0 - 8 + 150)


ROWS: dict[str, tuple[dict[str, float], list[str]]] = {
    "alphazero": (
        {"gate/champion_elo": 50, "learner/losses/policy": 1, "learner/losses/value": 1},
        ["champion", "policy", "value"],
    ),
    "q_table": ({"play/games": 100, "play/wins": 80, "play/draws": 15, "play/losses": 5}, ["won", "drawn", "lost"]),
    "dqn": ({"learner/losses/total": 1, "learner/losses/q": 0.5, "learner/losses/target": 0.4}, ["loss", "target"]),
    "supervised": (
        {
            "learner/losses/policy": 2,
            "learner/losses/accuracy": 0.4,
            "learner/validation/loss": 2,
            "learner/validation/top1": 0.4,
        },
        ["training", "validation"],
    ),
}


@pytest.mark.parametrize("algorithm", ROWS)
def test_every_algorithm_has_its_picture(algorithm: str, reversi: Reversi, tmp_path: Path) -> None:
    metrics, names = ROWS[algorithm]
    rows: list[dict[str, Any]] = [{"step": i, "elapsed_s": 60.0 * i, **metrics} for i in range(3)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 3, "el')
    answer = reversi("picture", tmp_path)
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'learning.svg'}\n")
    texts = [element.text for element in ElementTree.parse(tmp_path / "learning.svg").getroot().iter()]
    assert set(names) <= set(texts)


def test_what_is_no_run_is_one_line(reversi: Reversi, tmp_path: Path) -> None:
    answer = reversi("picture", tmp_path)
    assert answer.code == 1
    assert "expected a run's folder or its name" in answer.err
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "elapsed_s": 0.0, "run/games": 1.0}\n')
    assert "has none yet" in reversi("picture", tmp_path).err


def test_several_runs_stand_in_the_same_panels(tmp_path: Path, reversi: Reversi) -> None:
    rows = [
        {
            "step": 1,
            "elapsed_s": 60.0 * minute,
            "gate/champion_elo": 100.0 * minute,
            "learner/losses/policy": 1.0 / minute,
        }
        for minute in (1, 2, 3)
    ]
    for name in ("a", "b"):
        write(made(tmp_path / name), rows)
    target = tmp_path / "both.svg"
    runs = [str(tmp_path / name) for name in ("a", "b")]
    assert reversi("picture", *runs).code == 2
    assert reversi("picture", *runs, "-o", str(target)).code == 0
    texts = [element.text for element in ElementTree.fromstring(target.read_text()).iter()]
    assert {"2 runs", "a", "b"} <= set(texts)
    assert reversi("picture", runs[0], "-o", str(target)).code == 0
    assert "champion" in target.read_text()
