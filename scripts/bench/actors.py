"""Rows of `reversi bench` about self-play: one actor compared with its bare network, and several actors at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from reversi.capacity import cores
from scripts.bench import measure
from scripts.bench.measure import Row, in_turns, measured, ratio, row
from scripts.bench.process_group import ProcessGroup, Work
from scripts.bench.setup import Settings, free_network, open_network, open_selfplay, positions_of, spread_phases

if TYPE_CHECKING:
    from actors.selfplay import SelfPlay
    from reversi.model.evaluate import Evaluator

BATCHES = 16
"""Batches of a piece of work per slot: many, since only one slot is filled at its start and end."""

TREE_GAMES = 4096
"""Games of the rows about trees on several threads: a group of `conf/actors/gpu.yaml`, for which threads are meant."""

LESSON_GAMES, LESSONS = 256, 4
"""Games whose lessons are measured, and lessons of each."""


def network_work(network: Evaluator, settings: Settings) -> Work:
    """Return work that keeps the bare network busy: batches in two slots, so that it does not wait for its caller."""
    own, opp = positions_of(settings, settings.batch)

    def work() -> dict[str, int]:
        for slot in range(2):
            network.submit(slot, own, opp)
        for batch in range(BATCHES):
            for slot in range(2):
                network.collect(slot)
                if batch + 1 < BATCHES:
                    network.submit(slot, own, opp)
        return {"positions": 2 * BATCHES * settings.batch}

    return work


def selfplay_work(selfplay: SelfPlay) -> Work:
    """Return work that continues self-play, with the counts of `actors.source.ActorCounts`."""

    def work() -> dict[str, int]:
        before = selfplay.counts
        selfplay.play(BATCHES, 0)
        return dict(vars(selfplay.counts - before))

    return work


def build_network(settings: Settings) -> Work:
    """Prepare a process that runs the bare network."""
    return network_work(open_network(settings), settings)


def build_actor(settings: Settings, method: str | None = None) -> Work:
    """Prepare a process that plays as an actor does, without a learner."""
    selfplay = open_selfplay(settings, open_network(settings), method=method)
    spread_phases(selfplay)
    return selfplay_work(selfplay)


def bench_selfplay(settings: Settings) -> Iterator[Row]:
    """The bare network, self-play with it, and their ratio, measured in turns."""
    network = open_network(settings)
    selfplay = open_selfplay(settings, network)
    spread_phases(selfplay)
    bare, play = network_work(network, settings), selfplay_work(selfplay)
    before = selfplay.counts
    networks, asked = in_turns([measured(bare, "positions"), measured(play, "asked")], 4 * settings.repeats)
    done = selfplay.counts - before
    note = f"{settings}, {network.name} {network.precision}, threads {settings.threads}"
    actors, search = selfplay.config, selfplay.search
    searched = f"{search.method}, {search.simulations} simulations, {actors.groups} groups of {settings.batch}"
    play_note = f"{note}, {searched}, cache {actors.cache_positions:,}"
    yield row("inference_positions_per_s", networks, "positions/s", note)
    yield row("selfplay_evaluations_per_s", asked, "evaluations/s", play_note)
    yield ratio("selfplay_to_inference", asked, networks, play_note)
    yield row("evaluations_per_simulation", [done.asked / done.simulations], "ratio", f"{play_note}, random network")
    if done.looked_up:
        yield row("cache_hit_rate", [done.found / done.looked_up], "ratio", f"{play_note}, random network")


def tree_work(settings: Settings, threads: int) -> Work:
    """Return work that plays `TREE_GAMES` games as an actor without network, cache and solver."""
    sized, trees = (
        replace(settings, batch=TREE_GAMES),
        {"tree_threads": threads, "cache_positions": 0, "solve_empties": 0},
    )
    selfplay = open_selfplay(sized, free_network(sized), groups=1, **trees)
    spread_phases(selfplay)
    return selfplay_work(selfplay)


def bench_tree_threads(settings: Settings) -> Iterator[Row]:
    """Self-play with a free network on one thread and on two: the gain of the trees from threads."""
    threads = min(2, cores())
    works = [tree_work(settings, each) for each in (1, threads)]
    alone, together = in_turns([measured(work, "simulations") for work in works], settings.repeats)
    note = f"{settings.game.name}, self-play of {TREE_GAMES} games, {settings.simulations} simulations, free network"
    yield row("tree_threads_simulations_per_s", together, "simulations/s", f"{note}, {threads} threads")
    note = f"{note}, {threads} threads to one thread {threads} times"
    yield ratio("tree_parallel_efficiency", together, [threads * each for each in alone], note)


def lessons_work(settings: Settings, threads: int) -> Work:
    """Return work that makes lessons: self-play that hardly searches, so that lessons are nearly all of it."""
    sized = replace(settings, batch=LESSON_GAMES, simulations=2)
    changes = {"tree_threads": threads, "cache_positions": 0, "solve_empties": 0, "lessons": LESSONS}
    selfplay = open_selfplay(sized, free_network(sized), groups=1, **changes)
    spread_phases(selfplay)

    def work() -> dict[str, int]:
        records = selfplay.play(BATCHES, 0)
        return {"lessons": 0 if records is None else len(records) * LESSONS // (LESSONS + 1)}

    return work


def bench_lessons(settings: Settings) -> Iterator[Row]:
    """Lessons on one thread and on two."""
    threads = min(2, cores())
    works = [lessons_work(settings, each) for each in (1, threads)]
    alone, together = in_turns([measured(work, "lessons") for work in works], settings.repeats)
    note = f"{settings.game.name}, {LESSONS} a game of self-play with 2 simulations and a free network"
    yield row("lessons_per_s", alone, "lessons/s", f"{note}, one thread")
    note = f"{note}, {threads} threads to one thread {threads} times"
    yield ratio("lessons_parallel_efficiency", together, [threads * each for each in alone], note)


def bench_actors(settings: Settings) -> Iterator[Row]:
    """One actor and several, one bare network and several, each in its own process, measured in turns.

    A loss of speed beyond that of the bare networks is caused by the actors themselves.
    """
    count, seconds = settings.actors, measure.STRETCH_S
    network, actor = partial(build_network, settings), partial(build_actor, settings)
    with (
        ProcessGroup([network]) as one_network,
        ProcessGroup([network] * count) as networks,
        ProcessGroup([actor]) as one_actor,
        ProcessGroup([actor] * count) as actors,
    ):
        stretches = [
            [group.rates(seconds) for group in (one_network, networks, one_actor, actors)]
            for _ in range(settings.repeats)
        ]
    alone, together, played_alone, played = (
        [total(turn[group], name) for turn in stretches]
        for group, name in enumerate(("positions", "positions", "simulations", "simulations"))
    )
    note = f"{settings}, {count} processes, threads {settings.threads}"
    play_note = f"{note}, {settings.simulations} simulations"
    yield row("networks_positions_per_s", together, "positions/s", note)
    yield row("actors_simulations_per_s", played, "simulations/s", play_note)
    plies = [total(turn[3], "positions") for turn in stretches]
    yield row("actors_positions_per_s", plies, "positions/s", f"{play_note}, searched plies")
    kept = [several / one for several, one in zip(played, played_alone, strict=True)]
    bare_kept = [several / one for several, one in zip(together, alone, strict=True)]
    yield ratio("actors_scaling", kept, bare_kept, f"{play_note}: what {count} actors make of one, to bare networks")


def total(rates: list[dict[str, float]], name: str) -> float:
    """Return the sum of the rates called `name` over a group."""
    return sum(each[name] for each in rates)
