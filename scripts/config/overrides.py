"""Overrides as people type them, made into Hydra's grammar: paths, names that look like numbers, a folder of one's own.

Hydra reads `run.name=2026` as a number and `run.dir=/x/lr=0.1` and `run.dir=~/x` not at all, and shells expand `~` only
at the beginning of a word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from reversi.errors import ConfigError, UsageError

TEXTS = (
    *("run.name", "run.dir", "registry.url", "cluster.namespace", "cluster.working_dir", "cluster.token_file"),
    *("tracking.wandb.project", "tracking.wandb.entity", "tracking.wandb.group", "tracking.wandb.id", "tracking.host"),
)
"""Settings that are text whatever it looks like."""

SEARCH_PATH = "hydra.searchpath"
"""The only key of Hydra's own that has an effect: folders with files like those of `conf/`, before which they come."""

_WORDS = re.compile(r"(?![\w.+-]*$)[A-Za-z0-9_/\\+.$%*@?|:{} -]+")
"""Text that Hydra takes as it is; a single word may be a number to it."""

CONFIG_DIR = ("--config-dir", "-cd")
"""Hydra's flags for one such folder."""


def spelled(overrides: Iterable[str]) -> list[str]:
    """Return overrides with the home folder for `~`, and with quotes around texts that Hydra would not read as such."""
    return [_spelled(override) for override in overrides]


def _spelled(override: str) -> str:
    key, separator, value = override.partition("=")
    if not separator or value[:1] in ("", "'", '"', "[", "{"):
        return override
    if value.startswith("~"):
        value = os.path.expanduser(value)
        if value.startswith("~"):
            raise ConfigError(f"{key} must be a folder that exists for this user, who has no such home, got {value!r}")
    text = key.lstrip("+") in TEXTS and value != "null" and not re.search(r"[,(\\]", value)  # not a sweep
    if (text and not _WORDS.fullmatch(value)) or "=" in value:
        escaped = re.sub(r"(\\*)'", r"\1\1\\'", value)
        return f"{key}='{escaped}'"
    return f"{key}={value}"


def names_run(overrides: Iterable[str]) -> bool:
    """Return whether overrides give the run a name."""
    return any(override.startswith("run.name=") for override in overrides)


def resumed_run(overrides: Iterable[str]) -> tuple[str | None, list[str]]:
    """Return the run that `resume=` names, `auto` or None for a new one, and the other overrides."""
    named, rest = None, []
    for override in overrides:
        key, _, value = override.partition("=")
        if key == "resume":
            named = None if value in ("", "null") else os.path.expanduser(value.strip("'\""))
        else:
            rest.append(override)
    return named, rest


def without_config_dir(arguments: Sequence[str]) -> list[str]:
    """Return command-line arguments with `--config-dir DIR` as an override; UsageError if there is no such folder."""
    rest, folders = list[str](), list[str]()
    left = iter(arguments)
    for argument in left:
        flag, separator, value = argument.partition("=")
        if flag not in CONFIG_DIR:
            rest.append(argument)
            continue
        folder = value if separator else next(left, None)
        if folder is None:
            raise UsageError(f"{flag} must be followed by a folder")
        folders.append(folder)
    return [*rest, *map(config_dir_override, folders[-1:])]


def config_dir_override(folder: str | Path) -> str:
    """Return the override that puts the groups in `folder` before those of `conf/`; UsageError if there is none."""
    path = Path(folder).expanduser().absolute()
    if not path.is_dir():
        raise UsageError(f"--config-dir must be a folder with groups as in conf/, got {str(folder)!r}")
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", f"file://{path}")
    return f"{SEARCH_PATH}=['{escaped}']"


def check_hydra_keys(overrides: Iterable[str]) -> None:
    """Raise ConfigError for what is no setting, and for keys of Hydra itself that have no effect here."""
    for override in overrides:
        if "=" not in override and not override.startswith("~"):
            raise ConfigError(f"expected KEY=VALUE, as in run.minutes=20, got {override!r}")
        key = re.split(r"[=@]", override.lstrip("+~"), maxsplit=1)[0]
        if re.match(r"hydra([./]|$)", key) and key != SEARCH_PATH:
            raise ConfigError(f"{key} has no effect here; of Hydra's own keys only {SEARCH_PATH} has one")
