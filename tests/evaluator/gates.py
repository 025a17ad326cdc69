"""The gate that the evaluator's tests change: `conf/gate/default.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from evaluator.config import GateConfig

FILE = Path(__file__).parents[2] / "conf" / "gate" / "default.yaml"


def gate_config(**changes: Any) -> GateConfig:
    """Return the settings of `FILE` but for `changes`."""
    return GateConfig(**{**yaml.safe_load(FILE.read_text()), **changes})
