"""Compose `conf/` with the command line's overrides through Hydra; every error is one line."""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reversi.errors import ConfigError, closest, did_you_mean, first_line, unreadable
from reversi.settings import known, members
from scripts.config.overrides import SEARCH_PATH, check_hydra_keys, spelled

_ABSENT = object()

KEPT = ("game.name", "algorithm.name", "actors.kind", "learner.kind", "replay.kind", "replay.shards", "init")
"""Keys that a resumed run must keep, beside all of `network`.  With another value it would be a different run, which
its checkpoints do not fit; with fewer shards the deliveries in the other streams would be lost."""

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

    overrides = spelled(overrides)
    check_hydra_keys(overrides)
    try:
        with hydra.initialize_config_module("conf", version_base="1.3"), _warnings_as_errors():
            config = hydra.compose("train", overrides)
            return plain(config)
    except ConfigError:
        raise
    except (HydraException, OmegaConfBaseException, RecursionError, ValueError) as error:
        raise ConfigError(_one_line(error, overrides)) from error


def each_job(overrides: list[str]) -> list[list[str]]:
    """Return the overrides of every job of a sweep, in Hydra's own order; a single job if nothing is swept.

    Raises ConfigError for an invalid override, or a sweep other than `key=a,b`, `choice(...)` or `range(...)`.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ValueType
    from hydra.errors import HydraException

    overrides = spelled(overrides)
    check_hydra_keys(overrides)
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
    return recomposed(_saved_text(saved), overrides)


def recomposed(saved: str, overrides: list[str]) -> dict[str, Any]:
    """Return the configuration in the text `saved`, as this version has it, with single values changed by `overrides`.

    Settings that this version does not have any more are dropped with a line on standard error, and those that it has
    since can be set.  Raises ConfigError for overrides as `compose` does, and for what a run keeps.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    overrides = spelled(overrides)
    check_hydra_keys(overrides)
    for override in overrides:
        if "=" not in override and not override.startswith("~"):
            raise _not_single(override)
        if override.startswith(SEARCH_PATH):
            raise ConfigError("a run that goes on has its configuration; --config-dir is for new runs and resume=auto")
    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as error:
        raise ConfigError(_one_line(error, overrides)) from error
    values = _of_this_version(_read(saved, overrides))
    for written, change in zip(overrides, parsed, strict=True):
        if change.is_sweep_override() or change.package is not None:
            raise _not_single(written)
        _set(values, change.key_or_group, _ABSENT if change.is_delete() else change.value(), written)
    return _resolved(values, overrides)


def with_changes(saved: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the saved configuration of a run with these settings, `group.key` and value, changed."""
    values = _of_this_version(_read(_saved_text(saved), []))
    for key, value in changes.items():
        _set(values, key, value, f"{key}={value}")
    return _resolved(values, [])


def _read(text: str, overrides: list[str]) -> dict[str, Any]:
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        config = OmegaConf.create(text)
        if not OmegaConf.is_dict(config):
            raise ConfigError("cannot read the saved configuration: expected settings as key: value")
        return plain(config)
    except (OmegaConfBaseException, yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        raise error if isinstance(error, ConfigError) else ConfigError(_one_line(error, overrides)) from error


def _resolved(values: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return plain(OmegaConf.create(values))
    except (OmegaConfBaseException, RecursionError, ValueError) as error:
        raise ConfigError(_one_line(error, overrides)) from error


def _of_this_version(values: dict[str, Any]) -> dict[str, Any]:
    """Return a saved configuration without the settings that this version does not have; say which these are."""
    from scripts.config.job import JobConfig

    kept: dict[str, Any] = known(JobConfig, values)
    if dropped := sorted(dict(flat(values)).keys() - dict(flat(kept)).keys()):
        print(f"settings that this version does not have are dropped: {', '.join(dropped)}", file=sys.stderr)
    return kept


def _set(values: dict[str, Any], key: str, value: Any, written: str) -> None:
    """Change or remove one setting of a run; ConfigError for one that there is not, is a group or is kept."""
    from scripts.config.job import JobConfig

    kind: Any = JobConfig
    group: Any = values
    *parents, last = key.split(".")
    for depth, part in enumerate([*parents, last]):
        where = ".".join(key.split(".")[:depth])
        names = members(kind, group, where)
        if names is None and not isinstance(group, dict):
            raise ConfigError(f"unknown key {key!r}; {where} is a single value")
        if names is not None and part not in names:
            under = f"under {where}" if where else "at the top"
            raise ConfigError(f"unknown key {key!r}{_like(key, depth, names)} valid {under}: {', '.join(names)}")
        kind = Any if names is None else names[part]
        if depth < len(parents):
            group = group.setdefault(part, {})
    turned_off = value is None and members(kind, None, key) is None
    if members(kind, group.get(last), key) is not None and not turned_off:
        raise _not_single(written)
    before = group.get(last, _ABSENT)
    if (key in KEPT or key.startswith("network.")) and value != before:
        kept = key if before is _ABSENT else f"{key}={before}"
        raise ConfigError(f"a run that goes on keeps its {kept}, got {written!r}; start a new run")
    if value is _ABSENT:
        group.pop(last, None)
    else:
        group[last] = value


def _not_single(override: str) -> ConfigError:
    return ConfigError(f"with resume= only single values can change, as in run.minutes=20; got {override!r}")


@contextmanager
def _warnings_as_errors() -> Iterator[None]:
    """Raise ConfigError for a folder of `hydra.searchpath` that is not there, of which Hydra only warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if "searchpath" in str(warning.message):
            raise ConfigError(f"{SEARCH_PATH} must be folders with groups as in conf/: {first_line(warning.message)}")


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the single settings of a configuration, `group.key` and value."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def changes_of(saved: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings, `group.key` and value, that differ in `values` from the saved configuration of the same job,
    but for what belongs to a session: `resume`, `begun_from` and where its metrics go.

    ConfigError where the saved one has a setting that `values` lacks: that is another job.
    """
    from scripts.config.job import JobConfig

    before, after = dict(_settings(JobConfig, _of_this_version(saved))), dict(_settings(JobConfig, values))
    own = {key for key in before | after if key.partition(".")[0] in (RESUME, "begun_from", "tracking")}
    if other := sorted(before.keys() - after.keys() - own):
        raise ConfigError(f"the run was begun as another job: only the run has {other[0]}; start a new run")
    return {key: after[key] for key in after if key not in own and (key not in before or after[key] != before[key])}


def _settings(kind: Any, values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of a configuration, `group.key` and value; names of a person's own are no keys but values."""
    names = members(kind, values, path)
    if names is None:
        yield path, values
    else:
        for key in names.keys() & values.keys():
            yield from _settings(names[key], values[key], f"{path}.{key}" if path else key)


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


def _saved_text(saved: Path) -> str:
    """Return the text of a run's configuration; ConfigError for one that cannot be read."""
    import yaml

    try:
        return _text_of(saved)
    except (yaml.YAMLError, OSError, UnicodeError, RecursionError) as error:
        raise ConfigError(_one_line(error, [])) from error


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
        return f"unknown group {match[1]!r}{did_you_mean(closest(match[1], _groups()))} valid: {', '.join(_groups())}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"cannot read {' '.join(overrides)!r}: {lines[0] if lines else type(error).__name__}"


def _groups() -> list[str]:
    folders = (path.name for path in conf_folder().iterdir() if path.is_dir())
    return sorted(name for name in folders if not name.startswith("_") and name != LADDERS)


def _valid_choices(choice: str) -> str:
    group, _, name = choice.rpartition("/")
    names = sorted(p.stem for p in (conf_folder() / group).glob("*.yaml")) if group else []
    return f"{did_you_mean(closest(name, names))} valid for {group}: {', '.join(names)}" if names else ""


def _chosen_config(overrides: list[str]) -> Any:
    """Return the configuration of the choices in `overrides`, without their single values."""
    import hydra

    groups = [*_groups(), SEARCH_PATH]
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
    names = list(map(str, node))
    if not path and (inside := [f"{group}.{key}" for group in names if key in getattr(node[group], "keys", tuple)()]):
        return f", did you mean {' or '.join(map(repr, inside))}?"
    where = f"under {'.'.join(path)}" if path else "at the top"
    more = () if path else (*_groups(), RESUME)
    return f"{_like(key, len(path), (*names, *more))} valid {where}: {', '.join(names)}"


def _like(key: str, depth: int, names: Iterable[str]) -> str:
    """Return the question whether part `depth` of a dotted key was meant as one of `names`, or a semicolon."""
    parts = key.split(".")
    guess = closest(parts[depth], names)
    return did_you_mean(guess and ".".join([*parts[:depth], guess, *parts[depth + 1 :]]))
