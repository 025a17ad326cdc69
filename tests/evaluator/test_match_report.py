"""What a match says besides its score: colours, discs and times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.match import Match
from evaluator.match_report import MatchReport, mean_margin, report_of
from evaluator.openings import Openings, random_openings
from evaluator.stats import Z95
from reversi.games.position import Position
from reversi.games.rules import GAMES, TICTACTOE
from reversi.players import Forfeit, GreedyPlayer, RandomPlayer

REVERSI4 = GAMES["reversi4"]
UNKNOWN = math.nan


class Clock:
    """Seconds that pass only while a player thinks."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Thinker(RandomPlayer):
    """A random player that takes a minute for its first batch, and some seconds for each later position."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(REVERSI4, rng())
        self._clock, self._seconds, self._first = clock, seconds, True

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        self._clock.now_s += 60.0 if self._first else self._seconds * len(own)
        self._first = False
        return super().choose(own, opp)


class Quitter(GreedyPlayer):
    """Resigns every game in which it has Black."""

    def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
        answers: list[int | Forfeit] = []
        for history in histories:
            position = Position.start(REVERSI4)
            for action in history:
                position = position.play(action)
            chosen = int(self.choose(*position.as_batch())[0])
            answers.append(Forfeit("it resigned", resigned=True) if position.black_to_move else chosen)
        return answers


def played(match: Match) -> Match:
    while not match.round(60):
        pass
    return match


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("margins", "mean", "interval"),
    [
        ([[4.0, 2.0], [-2.0, 0.0]], 1.0, (1 - Z95 * math.sqrt(2 * 32) / 4, 1 + Z95 * math.sqrt(2 * 32) / 4)),
        ([[4.0, -4.0], [6.0, -6.0]], 0.0, (0.0, 0.0)),  # the opening decides, not the player
        ([[3.0, UNKNOWN], [1.0, UNKNOWN]], 2.0, (2 - Z95 * math.sqrt(2 * 2) / 2, 2 + Z95 * math.sqrt(2 * 2) / 2)),
        ([[4.0, 2.0], [UNKNOWN, UNKNOWN]], 3.0, None),
        ([[UNKNOWN, UNKNOWN]], None, None),
    ],
)
def test_the_mean_margin_has_an_interval_by_openings(
    margins: list[list[float]], mean: float | None, interval: tuple[float, float] | None
) -> None:
    found, found_interval = mean_margin(np.array(margins))
    assert found == mean
    assert found_interval == (None if interval is None else pytest.approx(interval))


def test_the_interval_contains_the_true_mean_19_times_of_20() -> None:
    inside = 0
    for seed in range(1000):
        opening = rng(seed).normal(0, 10, (100, 1))
        low, high = mean_margin(rng(seed + 1000).normal(3 + np.hstack([opening, opening]), 5))[1] or (0.0, 0.0)
        inside += low < 3 < high
    assert 930 <= inside <= 965


def test_a_report_counts_by_colour_and_leaves_out_games_given_up() -> None:
    match = played(Match(REVERSI4, Quitter(REVERSI4, rng()), RandomPlayer(REVERSI4, rng(2)), openings(10), 20))
    report, result = report_of(match), match.result()
    whole = [game for game in match.finished_games() if not game.forfeit]
    margins = [game.black_margin * (1 if game.a_is_black else -1) for game in whole]
    assert result.forfeits == (20 - len(whole), 0)
    assert 10 <= len(whole) < 15
    assert (report.as_black, report.as_white) == (result.black, result.white)
    assert report.margin == pytest.approx(np.mean(margins))
    quitters = [Quitter(REVERSI4, rng(seed)) for seed in (1, 2)]
    given_up = played(Match(REVERSI4, *quitters, random_openings(REVERSI4, 3, 3, seed=1), 6))
    assert given_up.result().forfeits == (3, 3)
    assert report_of(given_up).margin is None
    assert str(report_of(given_up)).startswith("as Black 0-0-3, as White 3-0-0")


def openings(count: int) -> Openings:
    return random_openings(REVERSI4, count, 4, seed=1)


def test_a_match_measures_the_time_of_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    match = Match(REVERSI4, Thinker(clock, 2.0), Thinker(clock, 0.5), openings(20), 40)
    assert match.seconds_per_move() == (None, None)
    match.round(0)
    assert match.seconds_per_move() == (None, None)  # a first batch warms up
    assert played(match).seconds_per_move() == (2.0, 0.5)


def test_tic_tac_toe_has_no_discs() -> None:
    game = GAMES["tictactoe"]
    assert game.id == TICTACTOE
    match = Match(game, GreedyPlayer(game, rng()), RandomPlayer(game, rng(2)), random_openings(game, 4, 2, 1), 8)
    report = report_of(played(match))
    assert (report.margin, report.margin_interval) == (None, None)
    assert "margin" not in str(report)


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ((12.34, 0.00421), "12.3 s against 4.2 ms a move"),
        ((0.0000031, None), "0.0031 ms against unknown a move"),
        ((0.5, 0.123), "500 ms against 123 ms a move"),
        ((0.9996, 0.9994), "1 s against 999 ms a move"),
        ((0.0996, 0.0994), "100 ms against 99 ms a move"),
        ((1234.5, 999.6), "1234 s against 1000 s a move"),
    ],
)
def test_a_line_has_times_in_fitting_units(times: tuple[float, float | None], shown: str) -> None:
    counts = {"as_black": (1, 0, 2), "as_white": (2, 1, 0)}
    report = MatchReport(**counts, margin=-0.04, margin_interval=(-1.26, 1.2), seconds_per_move=times)
    assert str(report) == f"as Black 1-0-2, as White 2-1-0; margin -0.0 [-1.3, +1.2] discs a game; {shown}"
