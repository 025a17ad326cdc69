"""Dataclasses built from mappings, as of configuration and JSON, and their range checks, with one wording of errors."""

from __future__ import annotations

import dataclasses
import math
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, TypeVar, Union

from reversi.errors import ConfigError, CorruptFileError, first_line

T = TypeVar("T")

MOST_INTEGER = 2**63 - 1
"""Largest integer of a setting: what arrays and kernels hold."""

LATER = {"later": True}
"""Metadata of a field added after the first models and runs were saved: a missing field has its default."""


def require(holds: bool, key: str, expected: str, got: object) -> None:
    """Raise ConfigError, `KEY must be EXPECTED, got GOT`, unless `holds`."""
    if not holds:
        raise ConfigError(f"{key} must be {expected}, got {got!r}")


@dataclasses.dataclass(frozen=True)
class Range:
    """The numbers that a field may have, beside its type: `threads: Annotated[int, at_least(1)]`."""

    least: float
    most: float
    includes_least: bool = True
    includes_most: bool = True

    def __contains__(self, value: float) -> bool:
        low = self.least <= value if self.includes_least else self.least < value
        return low and (value <= self.most if self.includes_most else value < self.most)

    def __str__(self) -> str:
        """`from 0 to 1`, `at least 0`, `above 0`: as messages say it."""
        if self.includes_least and self.most < math.inf:
            return f"from {self.least} to {'' if self.includes_most else 'below '}{self.most}"
        low = f"{'at least' if self.includes_least else 'above'} {self.least}"
        return low if self.most == math.inf else f"{low} and at most {self.most}"


def at_least(least: float) -> Range:
    """Return the finite numbers from `least` on."""
    return Range(least, math.inf, includes_most=False)


def between(least: float, most: float) -> Range:
    """Return the numbers from `least` to `most`, both included."""
    return Range(least, most)


def above(least: float, most: float = math.inf) -> Range:
    """Return the numbers above `least`, up to `most`; by default even an infinite one."""
    return Range(least, most, includes_least=False)


FINITE_ABOVE_0 = Range(0, math.inf, includes_least=False, includes_most=False)
"""The finite numbers above 0."""

FROM_0_TO_BELOW_1 = Range(0, 1, includes_most=False)
"""The numbers from 0 to 1, without 1."""


def require_ranges(config: object, group: str) -> None:
    """Raise ConfigError unless every field of a dataclass is in the range beside its type, or null.

    group  the dotted name of `config` in messages, or ""
    """
    cls: Any = type(config)
    for name, numbers in _ranges(cls).items():
        value = getattr(config, name)
        expected = "finite" if numbers.most == value == math.inf else str(numbers)
        require(value is None or value in numbers, _dotted(group, name), expected, value)
        if isinstance(value, int):
            require(value <= MOST_INTEGER, _dotted(group, name), f"at most {MOST_INTEGER}", value)


def build(cls: type[T], values: Any, path: str) -> T:
    """Return `cls` from a mapping with exactly its field names; `path` is the dotted name used in messages, or "".

    Fields with the metadata `LATER` may be missing.  Raises ConfigError for a missing, unknown or wrongly typed value.
    """
    require(isinstance(values, Mapping), path or "it", "a group of settings", values)
    assert dataclasses.is_dataclass(cls)
    hints, names = _hints(cls), [field.name for field in dataclasses.fields(cls)]
    for name in values:
        if name not in names:
            raise ConfigError(f"unknown key {_dotted(path, str(name))!r}; valid here: {', '.join(names) or 'none'}")
    for field in dataclasses.fields(cls):
        if field.name not in values and not is_later(field):
            raise ConfigError(f"key {_dotted(path, field.name)!r} is missing")
    return cls(**{name: value_of(hints[name], values[name], _dotted(path, name)) for name in names if name in values})


def value_of(kind: Any, value: Any, path: str) -> Any:
    """Return `value` as `kind` (a plain type, Literal, optional, tuple or dataclass), or raise ConfigError.

    A dataclass of that kind that was built before is returned as it is.
    """
    if dataclasses.is_dataclass(value) and isinstance(value, kind):
        return value
    if dataclasses.is_dataclass(kind):
        return build(typing.cast(type, kind), value, path)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        fits = any(value == each and type(value) is type(each) for each in arguments)
        require(fits, path, f"one of {', '.join(map(str, arguments))}", value)
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return value_of(_chosen([a for a in arguments if a is not type(None)], value, path), value, path)
    if origin is tuple:
        require(isinstance(value, list | tuple), path, "a list", value)
        if arguments[-1] is Ellipsis:
            arguments = arguments[:1] * len(value)
        require(len(value) == len(arguments), path, f"a list of {len(arguments)}", value)
        return tuple(value_of(each, item, path) for each, item in zip(arguments, value, strict=True))
    if origin is dict:
        require(isinstance(value, Mapping), path, "a group of settings", value)
        return {str(key): value_of(arguments[1], item, _dotted(path, str(key))) for key, item in value.items()}
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return float(value)
    if kind is not Any:
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        require(fits, path, _KIND_NAMES.get(kind, kind.__name__), value)
    return value


def members(kind: Any, value: Any, path: str) -> dict[str, Any] | None:
    """Return the types of what `value` of this type holds, by name; None for a single setting, such as a number, a list
    or a mapping of a person's own names to plain values.

    Raises ConfigError where `value` does not say which of several dataclasses it is.
    """
    if typing.get_origin(kind) in (Union, types.UnionType):
        groups = [each for each in typing.get_args(kind) if dataclasses.is_dataclass(each)]
        if not groups or value is None:
            return None
        kind = _chosen(groups, value, path)
    if typing.get_origin(kind) is dict and dataclasses.is_dataclass(typing.get_args(kind)[1]):
        return dict.fromkeys(map(str, value), typing.get_args(kind)[1]) if isinstance(value, Mapping) else None
    return {each.name: _hints(kind)[each.name] for each in dataclasses.fields(kind)} if _is_group(kind) else None


def known(kind: Any, values: Any, path: str = "") -> Any:
    """Return `values` of this type without the keys that it does not have, such as settings of another version."""
    names = members(kind, values, path)
    if names is None or not isinstance(values, Mapping):
        return values
    return {key: known(names[key], value, _dotted(path, key)) for key, value in values.items() if key in names}


def is_later(field: dataclasses.Field[Any]) -> bool:
    """Return whether a dataclass field may be missing in saved data (see `LATER`)."""
    return field.metadata == LATER


@contextmanager
def reading(where: str, what: str) -> Iterator[None]:
    """Raise CorruptFileError, `WHERE: expected WHAT, but ...`, for what `json.loads` and `build` refuse inside."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{where}: expected {what}, but {first_line(error)}") from error


@cache
def _ranges(cls: type) -> dict[str, Range]:
    """Return the ranges of a dataclass's fields."""
    kinds = typing.get_type_hints(cls, include_extras=True)
    return {
        name: each
        for name, kind in kinds.items()
        for each in getattr(kind, "__metadata__", ())
        if isinstance(each, Range)
    }


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields; cached: they take longer than the rest of `build`."""
    return typing.get_type_hints(cls)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _chosen(kinds: list[Any], value: Any, path: str) -> Any:
    """Return which of several dataclasses `value` configures, by their first field, `kind` or `name`."""
    if len(kinds) == 1:
        return kinds[0]
    require(isinstance(value, Mapping), path, "a group of settings", value)
    tag = dataclasses.fields(kinds[0])[0].name
    known = {str(name): kind for kind in kinds for name in typing.get_args(_hints(kind)[tag])}
    given = value.get(tag)
    require(str(given) in known, _dotted(path, tag), f"one of {', '.join(known)}", given)
    return known[str(given)]


_KIND_NAMES = {int: "an integer", float: "a number", str: "text", bool: "true or false"}


def _dotted(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
