"""Compose `conf/` with the command line's overrides through Hydra; every error is one line."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reversi.errors import ConfigError, first_line, unreadable

_ABSENT = object()

KEPT = ("game.name", "algorithm.name", "network.kind", "actors.kind", "replay.kind", "replay.shards", "init")
"""Keys that a resumed run must keep.  With another value it would be a different run; with fewer shards the deliveries
in the other streams would be lost."""

MOST_BYTES = 1 << 18
"""Size limit of a saved configuration; they have about 6,000 bytes."""

LADDERS = "ladder"
"""The folder under `conf/` that is not a group of a job; `scripts/rate/ladders.py` reads it."""

RESUME = "resume"
"""The only key that belongs to a session and not to the run; `reversi train` reads it from the command line."""

AUTO = "auto"
"""The value of `resume` that goes on with the run of a name, or begins it."""


def compose(overrides: list[str]) -> dict[str, Any]:
    """Return the resolved configuration of a new run.  Bad keys and values raise ConfigError."""
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        with hydra.initialize_config_module("conf", version_base="1.3"):
            config = hydra.compose("train", overrides)
            return plain(config)
    except (HydraException, OmegaConfBaseException, RecursionError, ValueError) as error:
        raise ConfigError(_one_line(error, overrides)) from error


def each_job(overrides: list[str]) -> list[list[str]]:
    """Return the overrides of every job of a sweep, in Hydra's own order; a single job if nothing is swept.

    Raises ConfigError for an invalid override, or a sweep other than `key=a,b`, `choice(...)` or `range(...)`.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ValueType
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as error:
        raise ConfigError(_one_line(error, overrides)) from error
    values = []
    for written, override in zip(overrides, parsed, strict=True):
        if not override.is_sweep_override():
            values.append([written])
        elif override.is_discrete_sweep() and override.value_type != ValueType.GLOB_CHOICE_SWEEP:
            values.append([f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()])
        else:
            raise ConfigError(f"a sweep is key=a,b or key=choice(...) or key=range(...), got {written!r}")
    return [list(job) for job in itertools.product(*values)]


def recompose(saved: Path, overrides: list[str]) -> dict[str, Any]:
    """Return the configuration of a resumed run: the saved one, with single values changed by `overrides`."""
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        config = OmegaConf.create(_text_of(saved))
        for override in overrides:
            key, separator, _ = override.partition("=")
            if not separator or OmegaConf.is_config(OmegaConf.select(config, key)):
                raise ConfigError(f"with resume= only single values can change, as in run.minutes=20; got {override!r}")
            if OmegaConf.select(config, key, default=_ABSENT) is _ABSENT:
                raise ConfigError(f"unknown key {key!r}{_valid_keys(config, key)}")
            if key in KEPT and override != f"{key}={OmegaConf.select(config, key)}":
                raise ConfigError(
                    f"a run that goes on keeps its {key}={OmegaConf.select(config, key)}, "
                    f"got {override!r}; start a new run"
                )
        return plain(OmegaConf.merge(config, OmegaConf.from_dotlist(overrides)))
    except (OmegaConfBaseException, yaml.YAMLError, OSError, UnicodeError, RecursionError) as error:
        raise ConfigError(_one_line(error, overrides)) from error


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the single settings of a configuration, `group.key` and value."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def changes_of(saved: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """Return the overrides, `key=value`, that make `values` of the saved configuration of the same job, but for what
    belongs to a session: `resume`, `begun_from` and where its metrics go.

    ConfigError where one of them has a setting that the other lacks: that is another job.
    """
    before, after = dict(flat(saved)), dict(flat(values))
    own = {key for key in before | after if key.partition(".")[0] in (RESUME, "begun_from", "tracking")}
    if other := sorted((before.keys() ^ after.keys()) - own):
        raise ConfigError(f"the run was begun as another job: only one of the two has {other[0]}; start a new run")
    changed = [key for key in after if key not in own and after[key] != before[key]]
    return [f"{key}={json.dumps(after[key])}" for key in changed]


def saved_values(file: Path) -> dict[str, Any]:
    """Return the mapping in a configuration file.

    Raises UsageError if it cannot be opened, ConfigError, with the line, if it holds something else.
    """
    import yaml

    try:
        values = yaml.safe_load(_text_of(file))
    except OSError as error:
        raise unreadable(file, "settings as key: value", error) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        raise ConfigError(f"{where}: invalid YAML, {error.problem}") from error
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"{file}: expected settings as key: value, but {first_line(error)}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: expected settings as key: value, got {type(values).__name__}")
    return {str(key): value for key, value in values.items()}


def conf_folder() -> Path:
    """Return the folder `conf/`."""
    import conf

    return Path(next(iter(conf.__path__)))


def choices_by_group() -> dict[str, list[str]]:
    """Return the choices of every group of `conf/`, `experiment` first."""
    groups = sorted(_groups(), key=lambda group: (group != "experiment", group))
    return {group: sorted(path.stem for path in (conf_folder() / group).glob("*.yaml")) for group in groups}


def _text_of(saved: Path) -> str:
    """Return the text of a saved configuration; raise ConfigError unless it is short and has no aliases.

    What `to_yaml` writes is both.  A few lines with nine aliases of nine aliases of ... can fill any memory.
    """
    import yaml

    with open(saved, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{saved}: expected a configuration of at most {MOST_BYTES} bytes")
    text = data.decode()
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise ConfigError(f"{saved}: expected a configuration without aliases (*name)")
    return text


def to_yaml(values: dict[str, Any]) -> str:
    """Return the configuration as YAML."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(values))


def plain(config: Any) -> dict[str, Any]:
    """Return a composed configuration as resolved plain values, without `resume`."""
    from omegaconf import OmegaConf

    values = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items() if key != RESUME}


def _one_line(error: Exception, overrides: list[str]) -> str:
    """Return Hydra's error as one line: the bad key or value, and the valid ones."""
    text = str(error)
    if match := re.search(r"Could not override '([^']+)'", text):
        return f"unknown key {match[1]!r}{_valid_keys(_chosen_config(overrides), match[1])}"
    if match := re.search(r"Could not find '([^']+)'", text):
        return f"unknown choice {match[1]!r}{_valid_choices(match[1])}"
    if match := re.search(r"Could not override '?([\w/]+)'?\. *No match in the defaults list", text, re.S):
        return f"unknown group {match[1]!r}; valid: {', '.join(_groups())}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"cannot read {' '.join(overrides)!r}: {lines[0] if lines else type(error).__name__}"


def _groups() -> list[str]:
    folders = (path.name for path in conf_folder().iterdir() if path.is_dir())
    return sorted(name for name in folders if not name.startswith("_") and name != LADDERS)


def _valid_choices(choice: str) -> str:
    group = choice.rpartition("/")[0]
    names = sorted(p.stem for p in (conf_folder() / group).glob("*.yaml")) if group else []
    return f"; valid for {group}: {', '.join(names)}" if names else ""


def _chosen_config(overrides: list[str]) -> Any:
    """Return the configuration of the choices in `overrides`, without their single values."""
    import hydra

    groups = _groups()
    with hydra.initialize_config_module("conf", version_base="1.3"):
        return hydra.compose("train", [item for item in overrides if item.partition("=")[0] in groups])


def _valid_keys(node: Any, key: str) -> str:
    """Return the keys of configuration `node` at the point where `key` does not match."""
    path: list[str] = []
    for part in key.split("."):
        if not hasattr(node, "keys") or part not in node:
            break
        node, path = node[part], [*path, part]
    if not hasattr(node, "keys"):
        return f"; {'.'.join(path)} is a single value"
    return f"; valid {'under ' + '.'.join(path) if path else 'at the top'}: {', '.join(map(str, node.keys()))}"
