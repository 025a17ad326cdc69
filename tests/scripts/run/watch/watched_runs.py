"""Runs whose metrics are written down for a page: moments, verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scripts.run.watch.view import RunView
from tests.scripts.run.written_runs import Row, made, write


def moment(at_s: float, **values: float) -> list[Row]:
    """Return what is written every few seconds: rows of the run, the learner and the replay, and of two roles."""
    games = 10 * at_s
    parts: list[dict[str, Any]] = [
        {"run/elapsed_s": at_s, "run/games": games, "run/simulations": 0.0, "run/simulations_per_s": 5.0, **values},
        {"learner/losses/policy": 1.5, "learner/training_s": 3.0, "learner/waiting_s": 1.0, "learner/version": 4.0},
        {"replay/positions": 100.0, "replay/samples_total": 30.0, "replay/positions_total": 10.0},
        {"health/learner/alive": 1.0, "health/learner/wanted": 1.0, "health/learner/restarts": 0.0}
        | {"health/learner/pending_s": 0.5, "health/learner/rss_mb": 300.0},
        {"health/memory/driver_mb": 200.0},
    ]
    return [{"step": int(at_s), "elapsed_s": at_s, **part} for part in parts]


def verdict(at_s: float, candidate: int, opponent: int, *, promoted: bool, elo: float = 50.0, champion: float) -> Row:
    """Return the gate's row after a match; `champion` is the champion's Elo after it."""
    results = (230.0, 10.0, 100.0) if promoted else (150.0, 9.0, 180.0)
    return {
        "step": int(at_s),
        "elapsed_s": at_s,
        "gate/champion_version": float(candidate if promoted else opponent),
        "gate/candidate_version": float(candidate),
        "gate/opponent_version": float(opponent),
        **dict(zip(("gate/wins", "gate/draws", "gate/losses"), results, strict=True)),
        "gate/elo": elo,
        "gate/elo_low": elo - 30,
        "gate/elo_high": elo + 30,
        "gate/champion_elo": champion,
        "gate/match_s": 4.0,
        "gate/truth/positions": 300.0,
        "gate/truth/outcome_kept": 0.98,
        "gate/truth/outcome_kept_error": 0.01,
        "gate/truth/regret_discs": 1.5,
        "gate/truth/regret_error_discs": 0.1,
    }


NO_MATCH: Row = {"step": 0, "elapsed_s": 0.0, "gate/champion_version": -1.0, "gate/candidate_version": -1.0} | {
    f"gate/{part}": 0.0 for part in ("wins", "draws", "losses")
}
"""The gate's row when the first model is published."""

VERDICTS = [
    verdict(20.0, 2, 0, promoted=True, elo=1000.0, champion=1000.0),
    verdict(40.0, 4, 2, promoted=False, elo=-20.0, champion=1000.0),
    verdict(60.0, 6, 2, promoted=True, elo=90.0, champion=1090.0),
]


def run_with(folder: Path, verdicts: list[dict[str, float]]) -> RunView:
    """Return the page of a run of 6x6 with moments every five seconds and some verdicts."""
    made(folder, "run.minutes=10", "run.seed=7")
    moments = [row for at_s in np.arange(5.0, 65.0, 5.0) for row in moment(float(at_s))]
    write(folder, [NO_MATCH, *moments, *verdicts])
    return RunView(folder)
