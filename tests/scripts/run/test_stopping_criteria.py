"""How far training is: what a finished run is to be given; `test_session.py` has the criteria at work."""

from __future__ import annotations

import pytest

from scripts.run.stopping_criteria import raised_limit


@pytest.mark.parametrize(
    ("limits", "minutes", "played", "says"),
    [
        ((10, None), 10.1, 5_000, "run.minutes=20"),
        ((0.01, None), 0.05, 5_000, "run.minutes=0.08"),
        ((10.5, 5_001), 10.5, 5_000, "run.minutes=21"),
        ((10, 5_000), 3.0, 5_000, "run.games=10000"),
        ((None, 5_000), 3.0, 4_990, "run.games=10000"),
        ((None, 600), 3.0, 6_500, "run.games=9600"),
    ],
)
def test_a_finished_run_goes_on_with_the_limit_that_ended_it_raised(
    limits: tuple[float | None, int | None], minutes: float, played: int, says: str
) -> None:
    assert raised_limit(*limits, 60 * minutes, played) == says
