"""The verdict: certain as soon as the games left cannot change it, and never another than the full match's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from evaluator.match import MatchResult
from evaluator.trial import verdict_of
from tests.evaluator.gates import gate_config


def results(games: int, seed: int, chances: list[float]) -> Iterator[MatchResult]:
    """A match game by game: random outcomes, finished in random order."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((2, 3), np.int64)
    for outcome, colour in zip(rng.choice(3, games, p=chances), rng.integers(0, 2, games), strict=True):
        counts[colour, outcome] += 1
        black, white = ((int(row[0]), int(row[1]), int(row[2])) for row in counts)
        yield MatchResult(games=games, black=black, white=white, pairs=(0, 0, 0, 0, 0))


@pytest.mark.parametrize("rule", ["wins", "score"])
@pytest.mark.parametrize("seed", range(60))
def test_stopping_when_certain_gives_the_full_matchs_verdict(rule: str, seed: int) -> None:
    config = gate_config(games=400, wins=220, rule=rule)
    draw = (0.0, 0.1, 0.3)[seed % 3]
    win = (0.55 if rule == "wins" else 0.55 - draw / 2) + (seed % 5 - 2) * 0.01
    stages = list(results(400, seed, [win, draw, 1 - win - draw]))
    verdicts = [verdict_of(config, stage) for stage in stages]
    final = stages[-1]
    points = final.wins + (final.draws / 2 if rule == "score" else 0)
    assert verdicts[-1] == ("promoted" if points >= 220 else "rejected")
    first = next(number for number, verdict in enumerate(verdicts) if verdict is not None)
    assert set(verdicts[first:]) == {verdicts[-1]}
    before = stages[first - 1]
    missing = 220 - before.wins - (before.draws / 2 if rule == "score" else 0)
    assert 0 < missing <= before.remaining, "one game earlier it was still open"


def test_half_points_count_only_under_the_rule_that_says_so() -> None:
    level = MatchResult(games=400, black=(100, 20, 80), white=(110, 0, 90), pairs=(0, 0, 0, 0, 0))
    assert verdict_of(gate_config(rule="wins"), level) == "rejected"
    assert verdict_of(gate_config(rule="score"), level) == "promoted"
