"""One wording for every setting that does not fit, with its ends, its openness and what null is."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from reversi.errors import ConfigError, CorruptFileError
from reversi.settings import (
    FINITE_ABOVE_0,
    FROM_0_TO_BELOW_1,
    LATER,
    above,
    at_least,
    between,
    build,
    reading,
    require,
    require_ranges,
)


@dataclass
class Oven:
    heat: Annotated[float | None, between(50, 250)] = 180
    shelves: Annotated[int, at_least(1)] = 3
    fans: Annotated[float, above(0, 2)] = 1
    minutes: Annotated[float, above(0)] = 60
    watts: Annotated[float, FINITE_ABOVE_0] = 2000
    ajar: Annotated[float, FROM_0_TO_BELOW_1] = 0

    def check(self) -> None:
        require_ranges(self, "oven")


def test_an_error_names_the_key_what_was_expected_and_what_came() -> None:
    with pytest.raises(ConfigError) as error:
        require(False, "oven.door", "open or shut", "ajar")
    assert str(error.value) == "oven.door must be open or shut, got 'ajar'"
    require(True, "oven.door", "open or shut", "ajar")


def fits(oven: Oven) -> bool:
    try:
        oven.check()
    except ConfigError:
        return False
    return True


def test_both_ends_are_in_a_range_and_null_is_left_to_the_type() -> None:
    assert all(fits(Oven(heat=heat)) for heat in (50, 180, 250, None))
    assert not any(fits(Oven(heat=heat)) for heat in (49.9, 250.1))
    assert [fits(Oven(shelves=shelves)) for shelves in (0, 1, 10**9)] == [False, True, True]


def test_an_end_may_be_left_out_of_a_range() -> None:
    assert [fits(Oven(fans=fans)) for fans in (0, 1e-9, 2, 2.1)] == [False, True, True, False]
    assert [fits(Oven(minutes=minutes)) for minutes in (0, 1e-9, math.inf)] == [False, True, True]
    assert [fits(Oven(watts=watts)) for watts in (0, 1e-9, math.inf)] == [False, True, False]
    assert [fits(Oven(ajar=ajar)) for ajar in (-1e-9, 0, 0.99, 1)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("oven", "message"),
    [
        (Oven(heat=49.9), "oven.heat must be from 50 to 250, got 49.9"),
        (Oven(heat=250.1), "oven.heat must be from 50 to 250, got 250.1"),
        (Oven(heat=math.nan), "oven.heat must be from 50 to 250, got nan"),
        (Oven(fans=3), "oven.fans must be above 0 and at most 2, got 3"),
        (Oven(minutes=0), "oven.minutes must be above 0, got 0"),
        (Oven(watts=math.inf), "oven.watts must be finite, got inf"),
        (Oven(ajar=1), "oven.ajar must be from 0 to below 1, got 1"),
        (Oven(shelves=0), "oven.shelves must be at least 1, got 0"),
        (Oven(shelves=2**63), f"oven.shelves must be at most {2**63 - 1}, got {2**63}"),
        (Oven(shelves=math.inf), "oven.shelves must be finite, got inf"),  # type: ignore[arg-type]
    ],
)
def test_what_is_outside_a_range_is_refused(oven: Oven, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        oven.check()
    assert str(error.value) == message


@dataclass(frozen=True, kw_only=True)
class Tin:
    kind: Literal["tin"]
    size: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Tray:
    kind: Literal["tray"]
    rows: Literal[2, 4]


@dataclass(frozen=True, kw_only=True)
class Cake:
    form: Tin | Tray
    heat: float
    layers: tuple[str, ...] = field(default=(), metadata=LATER)


TRAY: dict[str, Any] = {"form": {"kind": "tray", "rows": 2}, "heat": 180}


def test_a_dataclass_is_built_from_a_mapping() -> None:
    assert build(Cake, TRAY, "cake") == Cake(form=Tray(kind="tray", rows=2), heat=180.0)
    tin = {"form": {"kind": "tin", "size": [20, 30]}, "heat": 0.5, "layers": ["a", "b"]}
    assert build(Cake, tin, "cake") == Cake(form=Tin(kind="tin", size=(20, 30)), heat=0.5, layers=("a", "b"))
    assert build(Cake, TRAY | {"form": Tin(kind="tin", size=(1, 2))}, "").form == Tin(kind="tin", size=(1, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": None}, "cake.form must be a group of settings, got None"),
        ({"form": {"kind": "pan"}}, "cake.form.kind must be one of tin, tray, got 'pan'"),
        ({"form": {"kind": []}}, "cake.form.kind must be one of tin, tray, got []"),
        ({"form": {"kind": "tin", "size": [1]}}, "cake.form.size must be a list of 2, got [1]"),
        ({"form": {"kind": "tray", "rows": 3}}, "cake.form.rows must be one of 2, 4, got 3"),
        ({"form": {"kind": "tray", "rows": 2.0}}, "cake.form.rows must be one of 2, 4, got 2.0"),
        ({"form": {"kind": "tray"}}, "key 'cake.form.rows' is missing"),
        ({"heat": True}, "cake.heat must be a number, got True"),
        ({"heat": 10**400}, f"cake.heat must be a number, got {10**400}"),
        ({"layers": "ab"}, "cake.layers must be a list, got 'ab'"),
        ({"layers": ["a", 1]}, "cake.layers must be text, got 1"),
        ({"icing": 1}, "unknown key 'cake.icing'; valid here: form, heat, layers"),
    ],
)
def test_what_does_not_fit_a_dataclass_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build(Cake, TRAY | change, "cake")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("3", "it must be a group of settings, got 3"),
        ("{}", "key 'kind' is missing"),
        ("{", "Expecting property name"),
        ("[" * 50_000, "maximum recursion depth"),
    ],
)
def test_a_damaged_file_is_named_with_what_was_expected(text: str, reason: str) -> None:
    with pytest.raises(CorruptFileError) as error, reading("tray.json", "a tray"):
        build(Tray, json.loads(text), "")
    assert str(error.value).startswith(f"tray.json: expected a tray, but {reason}")
