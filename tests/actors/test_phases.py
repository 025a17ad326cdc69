"""Two phases of an actor: games by the value after the move, then by search, with the same tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from actors.worker import Worker
from reversi.record import EXPLORED, SEARCHED, UNSEARCHED, Records, check, decode
from tests.actors.workers import Sink, Source
from tests.configs import afterstate_config, search_config
from tests.reversi.model.samples import PATTERNS, weights

SEARCH = search_config(simulations=12, full_share=1.0, margin_weight=1.0)
ACTORS = afterstate_config(round_games=30, exact_empties=4, search_from=0.5)
ACTORS = replace(ACTORS, search=replace(ACTORS.search, games=6, opening_plies=2, rescore_empties=4))


def worker(sink: Sink) -> Worker:
    source = Source()
    source.data = weights("reversi4", config=PATTERNS).to_bytes()
    return Worker(
        index=0, game="reversi4", config=ACTORS, search=SEARCH, seed=1, weights=source, records=sink, incarnation=0
    )


def delivered(sink: Sink) -> Records:
    records = Records.concatenate([decode(data, "here")[0] for data in sink.data])
    sink.data.clear()
    assert not check(records).any()
    return records


def test_games_are_searched_from_the_share_of_the_run_on() -> None:
    made = worker(sink := Sink())
    assert made.round(0.49).games == 30
    first = delivered(sink)
    assert set(first.ply_kind.tolist()) <= {0, UNSEARCHED, EXPLORED}
    report = made.round(0.5)
    assert report.games >= 6
    assert report.simulations >= 12 * 6
    second = delivered(sink)
    assert (second.ply_kind == SEARCHED).sum() > 20
    assert (second.exact_from < second.plies).any()
    assert np.abs(second.value.astype(float)).max() <= 1


def test_a_resumed_actor_goes_on_in_either_phase() -> None:
    for progress in (0.2, 0.9):
        whole, broken = worker(one := Sink()), worker(two := Sink())
        for part in (whole, broken):
            part.round(progress)
        resumed = worker(three := Sink())
        resumed.restore(broken.state())
        whole.round(progress)
        resumed.round(progress)
        assert one.data[-1] == three.data[-1]
        assert one.data[0] == two.data[0]
