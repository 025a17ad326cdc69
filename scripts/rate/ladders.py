"""The ladders of `reversi rate`: those under `conf/ladder`, and files of the same form that people write themselves."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from evaluator.config import LadderConfig
from reversi.errors import ConfigError
from reversi.players.engines.engine import EngineLimits
from reversi.settings import build
from scripts.config.compose import LADDERS, conf_folder, saved_values

LEFT_OUT = {"champions": False, "anchor": None, "one_sided": None, "engines": asdict(EngineLimits())}
"""What a file of one's own may leave out, and what that means."""


def ladder_names() -> list[str]:
    """Return the names of the ladders under `conf/ladder`."""
    return sorted(path.stem for path in (conf_folder() / LADDERS).glob("*.yaml"))


def load_ladder(name: str) -> LadderConfig:
    """Return the ladder with this name, or that of a file whose path ends in .yaml, which may leave out `LEFT_OUT`.

    Raises ConfigError for an unknown name, an unreadable file, and for a key or value that is missing or wrong.
    """
    if name.endswith(".yaml"):
        return build(LadderConfig, LEFT_OUT | saved_values(Path(name)), LADDERS)
    if os.sep in name or name not in ladder_names():
        raise ConfigError(f"unknown ladder {name!r}; expected {', '.join(ladder_names())} or a file that ends in .yaml")
    return build(LadderConfig, saved_values(conf_folder() / LADDERS / f"{name}.yaml"), LADDERS)
