"""Jobs that repeat exactly, and all the state of a run, to compare two of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from actors import worker
from evaluator import gate
from learner import learner
from learner.replay import memory
from reversi import archive
from scripts.config.compose import compose
from scripts.config.job import JobConfig, job_of
from scripts.run.folder import RunFolder

FORMATS = {
    "actor": worker.STATE_FORMAT,
    "gate": gate.STATE_FORMAT,
    "learner": learner.STATE_FORMAT,
    "replay": memory.STATE_FORMAT,
}
"""The format of each kind of state in a checkpoint."""

COUNTED = (
    "cluster=serial",
    "tracking=jsonl",
    "run.minutes=null",
    "run.checkpoint_minutes=60",
    "actors.count=1",
    "registry.keep_rejected=1",
)
TABLE = (
    "experiment=tictactoe_qlearning",
    "gate.opening_plies=3",
    "actors.games=10",
    "actors.round_games=10",
    "replay.min_positions=100",
    "replay.bucket_capacity=5000",
    "learner.batch=64",
    "learner.publish_every_steps=2",
    "learner.candidate_every_steps=6",
    "gate.games=8",
    "gate.wins=3",
    "gate.simulations=0",
    "run.games=400",
)
CLOCKS = ("at_s", "playing_s", "waiting_s", "between_s", "match_s", "seconds")
"""What is measured, and differs from run to run."""


def job_in(folder: Path, name: str, *overrides: str) -> JobConfig:
    return job_of(compose([f"run.dir={folder}", f"run.name={name}", *COUNTED, *overrides]))


def header(checkpoint: Path, part: str) -> archive.Header:
    """Return all of a part in a checkpoint, such as `actor-0`, but its arrays."""
    kind = part.partition("-")[0]
    return archive.unpack((checkpoint / f"{part}.safetensors").read_bytes(), kind, FORMATS[kind], part)[1]


def without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_clocks(inner) for name, inner in value.items() if name not in CLOCKS}
    return [without_clocks(inner) for inner in value] if isinstance(value, list) else value


def whole_state(run: Path) -> dict[str, Any]:
    """Return all that a run is: every array and number of every part, and every model with its verdict."""
    found: dict[str, Any] = {}
    files = RunFolder(run, io.StringIO(), resumed=True).newest_checkpoint()
    for name, data in files.items():
        if name.endswith(".safetensors"):
            part = name.removesuffix(".safetensors")
            kind = part.partition("-")[0]
            arrays, header = archive.unpack(data, kind, FORMATS[kind], name)
            found[part] = without_clocks(dict(header))
            found |= {f"{part}.{key}": (array.dtype, array.shape, array.tobytes()) for key, array in arrays.items()}
    numbers = json.loads(files["run.json"])
    found["counts"] = without_clocks({name: numbers[name] for name in ("games", "progress", "end")})
    for model in sorted((run / "registry" / "models").glob("*/model.json")):
        info = json.loads(model.read_text())
        found[f"model {model.parent.name}"] = {name: info[name] for name in ("version", "verdict", "sha256")} | {
            "match": without_clocks(info["match"]),
            "weights": (model.parent / "model.safetensors").exists(),
        }
    gated = run / "registry" / "gated.json"
    found["gated"] = gated.read_text() if gated.exists() else ""  # before the first promotion
    return found


def differences(one: Path, other: Path) -> list[str]:
    expected, found = whole_state(one), whole_state(other)
    return sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
