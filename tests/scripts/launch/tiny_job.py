"""The smallest of training jobs, and what is read of their runs."""

from __future__ import annotations

import json
from pathlib import Path

GATE = (
    "gate.games=20",
    "gate.wins=11",
    "gate.simulations=4",
    "gate.opening_plies=4",
    "gate.opponents=[random]",
    "gate.opponent_games=4",
)

FEW_GAMES = (
    "actors.round_games=20",
    "replay.min_positions=100",
    "replay.window_start=500",
    "replay.capacity_positions=600",
    "replay.bucket_capacity=5000",
    "learner.batch=8",
)
"""For samples that are whole games."""

TINY = (
    "game=reversi4",
    "network.blocks=1",
    "network.channels=8",
    "search.simulations=4",
    "actors.games=16",
    "actors.opening_plies=2",
    "actors.precision=float32",
    "replay.min_positions=200",
    "replay.bucket_capacity=5000",
    "learner.batch=64",
    "learner.publish_every_steps=10",
    "learner.candidate_every_steps=40",
    *GATE,
    "run.summary_games=20",
    "tracking=[jsonl,tensorboard]",
)
TINY_TD = (
    "experiment=reversi8_patterns",
    "game=reversi4",
    "actors.depth=1",
    *FEW_GAMES,
    "learner.publish_every_steps=10",
    "learner.candidate_every_steps=40",
    *GATE,
    "tracking=jsonl",
)
"""The smallest job of patterns."""


def metrics(run: Path, prefix: str) -> list[dict[str, float]]:
    """Return the rows with a metric of that prefix so far."""
    file = run / "metrics.jsonl"
    rows = [json.loads(line) for line in (file.read_text() if file.exists() else "").splitlines()]
    return [row for row in rows if any(name.startswith(f"{prefix}/") for name in row)]


def elapsed_s(run: Path) -> float:
    """Return the seconds of training that the last checkpoint of `run` has counted."""
    newest = max((run / "checkpoints").glob("0*"))
    return float(json.loads((newest / "run.json").read_text())["elapsed_s"])
