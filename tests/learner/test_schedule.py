"""When weights and candidates are due, by steps or by the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from learner.schedule import Publications
from reversi.errors import ConfigError
from tests.learner.jobs import CONFIG


def test_weights_go_out_by_the_clock_every_second_at_first() -> None:
    due = Publications(replace(CONFIG, publish_every_s=5.0, candidate_every_s=30.0, candidate_growth=0.5))
    published, offered = list[int](), list[int]()
    for half in range(1, 401):  # 200 seconds, a step each half second
        is_published, is_offered = due.due(half, 0.5, by_time=True)
        published += [half] if is_published else []
        offered += [half] if is_offered else []
    assert published[:3] == [2, 4, 6]
    assert published[59:62] == [128, 138, 148]  # 60 s are over
    assert offered == [60, 128, 198, 298]  # 30, 64, 99 and 149 s: 30 s, or half of the seconds so far, at a publication


def test_without_a_clock_steps_count() -> None:
    timed = replace(CONFIG, publish_every_s=5.0, candidate_every_s=30.0, publish_every_steps=3, candidate_every_steps=6)
    first = Publications(timed)
    for due in (first, Publications(replace(timed, publish_every_s=None, candidate_every_s=None))):
        found = [due.due(step, 1e6, by_time=due is not first) for step in range(1, 13)]
        assert [step for step, each in enumerate(found, 1) if each[0]] == [3, 6, 9, 12]
        assert [step for step, each in enumerate(found, 1) if each[1]] == [6, 12]
        assert (due.trained_s, due.published_s, due.offered_s) == (0, 0, 0)


def test_both_or_neither_come_by_the_clock() -> None:
    with pytest.raises(ConfigError, match=r"a number if learner.publish_every_s is one, else null, got None"):
        replace(CONFIG, publish_every_s=5.0)
