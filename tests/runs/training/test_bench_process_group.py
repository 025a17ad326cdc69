"""A group works together, counts the same interval for all, and says what went wrong in a process."""

from __future__ import annotations

import os
import time
from functools import partial

import pytest

from reversi.errors import ConfigError, ReversiError
from scripts.bench.process_group import ProcessGroup, Work, _within


def steady(units: int) -> Work:
    def work() -> dict[str, int]:
        time.sleep(0.01)
        return {"units": units, "pieces": 1}

    return work


def unable() -> Work:
    raise ConfigError("no such device")


def dying() -> Work:
    os._exit(1)


def test_every_process_is_counted_over_the_stretch() -> None:
    with ProcessGroup([partial(steady, 1), partial(steady, 5)]) as group:
        for _ in range(2):
            slow, fast = group.rates(0.3)
            assert 0 < slow["pieces"] <= 100
            assert slow["units"] == pytest.approx(slow["pieces"])
            assert fast["units"] == pytest.approx(5 * fast["pieces"])


def test_pieces_count_by_what_lies_within_the_stretch() -> None:
    pieces = [(0.0, 1.0, {"units": 10}), (1.0, 2.0, {"units": 10}), (2.0, 4.0, {"units": 40}), (4.0, 5.0, {"units": 9})]
    assert _within(pieces, 0.5, 3.0) == {"units": pytest.approx((5 + 10 + 20) / 2.5)}


def test_an_expected_error_is_raised_as_it_was() -> None:
    with pytest.raises(ConfigError, match="no such device"):
        ProcessGroup([partial(steady, 1), unable])


def test_a_dead_process_is_noticed() -> None:
    with pytest.raises(ReversiError, match="a measuring process died"):
        ProcessGroup([dying])
