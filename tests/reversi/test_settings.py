"""One wording for every setting that does not fit, with its ends, its openness and what null is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from reversi.errors import ConfigError
from reversi.settings import require, require_ranges


@dataclass
class Oven:
    heat: float | None = 180
    shelves: int = 3

    def check(self) -> None:
        require_ranges(self, "oven", heat=(50, 250), shelves=(1, math.inf))


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


@pytest.mark.parametrize(
    ("oven", "message"),
    [
        (Oven(heat=49.9), "oven.heat must be from 50 to 250, got 49.9"),
        (Oven(heat=250.1), "oven.heat must be from 50 to 250, got 250.1"),
        (Oven(heat=math.nan), "oven.heat must be from 50 to 250, got nan"),
        (Oven(shelves=0), "oven.shelves must be at least 1, got 0"),
        (Oven(shelves=math.inf), "oven.shelves must be at least 1, got inf"),  # type: ignore[arg-type]
    ],
)
def test_what_is_outside_a_range_is_refused(oven: Oven, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        oven.check()
    assert str(error.value) == message
