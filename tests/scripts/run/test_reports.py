"""What a run counts: rounds of actors add up, and rates are those since the row before."""

from __future__ import annotations

from dataclasses import replace

from actors.worker import ActorReport
from scripts.run.reports import Counters, PlayReport


def test_a_run_counts_all_that_a_round_of_an_actor_does() -> None:
    uncounted = set(vars(ActorReport(version=0))) - set(vars(Counters()))
    assert uncounted == {"version", "sample", "finished"}


def test_rounds_add_up_and_rates_are_since_the_row_before() -> None:
    counts = {"positions": 40, "simulations": 400, "asked": 100, "looked_up": 400, "found": 300}
    row = Counters(at_s=10.0, steps=7) + ActorReport(version=3, games=2, playing_s=3.0, waiting_s=1.0, wins=1, **counts)
    more = {"positions": 20, "simulations": 100, "asked": 50, "looked_up": 50, "found": 25}
    now = replace(row + ActorReport(version=4, games=1, playing_s=1.0, waiting_s=3.0, losses=1, **more), at_s=20.0)
    assert (now.games, now.positions, now.simulations, now.steps) == (3, 60, 500, 7)
    report = now.run_report(row, 10.0, 1.0)
    assert (report.games, report.positions, report.elapsed_s) == (3, 60, 20.0)
    assert (report.positions_per_s, report.simulations_per_s) == (2.0, 10.0)
    assert (report.asked_per_simulation, report.cache_hit_share, report.actor_waiting_share) == (0.5, 0.5, 0.75)
    assert now.play_report(row) == PlayReport(games=2, wins=0, draws=0, losses=1)


def test_in_no_time_nothing_is_divided_by_nothing() -> None:
    assert Counters().run_report(Counters(), 0.0, 1.0).positions_per_s == 0.0
