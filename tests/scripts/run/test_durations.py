"""Durations for people: two units at most, and no exponent or fraction of a minute."""

from __future__ import annotations

import pytest

from scripts.run.durations import duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.44, "0.4 s"),
        (5.0, "5 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (150.0, "2 min 30 s"),
        (3599.0, "59 min 59 s"),
        (3600.0, "1 h"),
        (60_000.0, "16 h 40 min"),
        (86_400.0, "1 d"),
        (266_400.0, "3 d 2 h"),
        (86_400_000.0, "1,000 d"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
