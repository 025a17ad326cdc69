"""The model card: metadata that hubs read, how a model came about, what is known of it, and Python that runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from reversi.model.card import card
from reversi.model.info import ModelInfo, Origin
from reversi.model.registry import Registry
from reversi.model.training import MOST_PROMOTIONS, Promotion, Spent, Training
from tests.reversi.model.samples import MATCH, PATTERNS, weights

TRAINING = Training(
    run="night",
    algorithm="alphazero",
    program="reversi-zero 0.1.0",
    machine="a processor",
    cores=2,
    configuration="run:\n  seed: 3\nsearch:\n  simulations: 64\n",
)
SPENT = Spent(seconds=1830.0, games=120_300, positions=3_000_000)
FULL: dict[str, Any] = MATCH | {
    "opponent_version": 0,
    "elo_interval": [193.0, 266.7],
    "black": [116, 12, 22],
    "white": [115, 0, 35],
    "truth": {
        "positions": 300,
        "outcome_kept": 0.9933,
        "outcome_kept_error": 0.0047,
        "regret_discs": 1.22,
        "regret_error_discs": 0.17,
    },
    "opponents": [
        {"name": "greedy", "wins": 38, "draws": 1, "losses": 1, "points": 0.9625, "low": 0.87, "high": 0.99},
        {"name": "a|b", "wins": 8, "draws": 0, "losses": 0, "points": 1.0, "low": 0.7, "high": 1.0},
    ],
}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry", create=True, training=TRAINING)


@pytest.fixture
def info(registry: Registry) -> ModelInfo:
    """The second champion of a run, of which everything is known."""
    registry.publish(weights("reversi4", 0), "first", None)
    registry.publish(weights("reversi4", 3, seed=3), "promoted", FULL)
    return registry.publish(weights("reversi4", 7, seed=7), "promoted", FULL | {"opponent_version": 3}, SPENT)


def head(text: str) -> dict[str, Any]:
    _, metadata, _ = text.split("---\n", 2)
    values = yaml.safe_load(metadata)
    assert isinstance(values, dict)
    return values


def test_its_head_is_the_metadata_that_hubs_read(info: ModelInfo) -> None:
    values = head(card(info))
    assert (values["license"], values["library_name"]) == ("mit", "reversi-zero")
    assert values["pipeline_tag"] == "reinforcement-learning"
    assert {"reversi", "reversi4", "alphazero"} <= set(values["tags"])
    (model,) = values["model-index"]
    (result,) = model["results"]
    assert result["task"]["type"] == "reinforcement-learning"
    assert result["dataset"] == {"type": "reversi4", "name": "300 positions that an exact solver has scored"}
    assert result["metrics"] == [{"type": "accuracy", "name": "moves that keep the exact result", "value": 0.9933}]


def test_it_says_how_the_model_came_about(info: ModelInfo) -> None:
    text = card(info)
    for words in (
        "| run | night |",
        "| hardware | a processor |",
        "| cost | 30 min 30 s, 120,300 games, 3,000,000 positions, when it was judged |",
        "| CPU hours | 1.02, had all of its 2 cores been busy |",
        "```yaml\nrun:\n  seed: 3\nsearch:\n  simulations: 64\n```",
    ):
        assert words in text


def test_it_says_what_it_was_measured_by(info: ModelInfo) -> None:
    text = card(info)
    for words in (
        "| 3 | 0 | 231-12-57 | +228 |\n| 7 | 3 | 231-12-57 | +228 |",
        "95 % interval: +228 [+193, +267].",
        "as Black 116-12-22, as White 115-0-35",
        "| greedy | 38-1-1 | 0.963 [0.870, 0.990] |\n| a/b | 8-0-0 | 1.000 [0.700, 1.000] |",
        "On 300 positions",
        "99.3 \N{PLUS-MINUS SIGN}0.9 %",
        "1.22 \N{PLUS-MINUS SIGN}0.33",
    ):
        assert words in text, text
    order = re.findall("^## (.*)$", text, re.M)
    assert order == ["Use", "How it was trained", "Gate", "Against fixed opponents", "Truth", "Limits", "Licence"]


@pytest.mark.parametrize("config", [None, PATTERNS], ids=["tower", "patterns"])
def test_its_python_gives_a_move(
    config: Any, registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = weights("reversi4", 5) if config is None else weights("reversi4", 5, config=config)
    registry.publish(made, "promoted", MATCH)
    info = registry.pull(5, tmp_path / "model")
    (code,) = re.findall("```python\n(.*?)```", card(info), re.S)
    assert code.count("\n") == 3
    exec(code.replace("MODEL", info.path), {})
    assert re.fullmatch(r"\w\d\n", capsys.readouterr().out)


def test_of_what_is_not_known_nothing_is_said(registry: Registry) -> None:
    text = card(replace(registry.publish(weights("reversi4", 0), "first", None), training=None))
    for words in ("## Gate", "## Truth", "fixed opponents", "How it was trained", "| cost", "model-index", "!["):
        assert words not in text
    assert "It is the baseline of its run, which the first champion had to beat, and no champion." in text


def test_a_picture_and_an_address_are_named_where_there_are_any(info: ModelInfo) -> None:
    text = card(info, picture="learning.svg", registry="s3://bucket/models")
    assert "](learning.svg)" in text
    assert "reversi pull --registry s3://bucket/models --version 7 -o MODEL" in text


def test_a_rejected_model_and_one_with_an_origin_say_so(registry: Registry) -> None:
    rejected = registry.publish(weights("reversi4", 4), "rejected", MATCH)
    assert "It did not win its match against the champion, and was rejected." in card(rejected)
    assert rejected.training is None
    origin = Origin(model="latest", version=9, sha256="0" * 64)
    assert "| begun from | version 9 (latest), SHA-256" in card(replace(rejected, begun_from=origin))


@pytest.mark.parametrize(
    "match",
    [
        {"truth": {"outcome_kept": "\x1b[2J"}, "black": "xyz", "elo": []},
        {"truth": 3, "opponents": {"name": 1}, "elo_interval": [1]},
        {"opponents": [3, {"name": "\x1b[2J"}, {"name": "x", "wins": "many"}], "truth": {"outcome_kept": True}},
        {"elo": 10**400, "elo_interval": [float("nan"), "x"], "white": [1, 2, "3"]},
    ],
    ids=str,
)
def test_whatever_a_match_holds_nothing_of_it_reaches_a_terminal(info: ModelInfo, match: dict[str, Any]) -> None:
    text = card(replace(info, match=MATCH | match))
    assert all(line.isprintable() for line in text.split("\n"))
    assert "fixed opponents" not in text


def test_the_newest_promotions_alone_are_kept(registry: Registry) -> None:
    count = MOST_PROMOTIONS + 3
    for version in range(count):
        opponent = {"opponent_version": max(0, version - 1)}
        info = registry.publish(weights("reversi4", version), "promoted", MATCH | opponent)
    assert [each.version for each in info.promotions] == list(range(count - MOST_PROMOTIONS - 1, count))
    assert registry.get(count - 1) == info
    assert isinstance(info.history[0], Promotion)


def test_an_end_of_an_interval_that_is_not_there_is_infinite(info: ModelInfo) -> None:
    text = card(replace(info, match=FULL | {"elo_interval": [12.4, None]}))
    assert "+228 [+12, +inf]" in text
