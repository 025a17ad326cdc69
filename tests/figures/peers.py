"""Rows of other programs' self-play and random games and of ours, measured in turns on the same cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from statistics import median

from scripts.bench import measure
from scripts.bench.actors import build_actor, total
from scripts.bench.measure import Row, ratio, row
from scripts.bench.process_group import Build, ProcessGroup, Work
from scripts.bench.setup import Settings
from tests.figures import programs

PEER_STRETCHES = 4
"""Length of a peer's measurement, as a multiple of ours: one ply of its games takes seconds."""


def bench_mctx(settings: Settings) -> Iterator[Row]:
    """pgx + mctx and our actors, both with Gumbel, in turns; the peer is set up as its bare network is fastest.

    The choices are one process on all cores or one per core, and float32 or bf16.
    """
    cores = _cores(settings)
    seconds = measure.STRETCH_S
    layouts = [[cores]] if len(cores) < 2 else [[cores], [[core] for core in cores]]
    ways = [(dtype, layout) for dtype in programs.DTYPES for layout in layouts]
    with ExitStack() as stack:
        groups = [
            stack.enter_context(ProcessGroup(_on(layout, partial(programs.mctx_network, settings, dtype))))
            for dtype, layout in ways
        ]
        turns = [[total(group.rates(seconds), "positions") for group in groups] for _ in range(settings.repeats)]
    networks = [list(each) for each in zip(*turns, strict=True)]
    fastest = max(range(len(ways)), key=lambda way: median(networks[way]))
    dtype, layout = ways[fastest]
    versions = ", ".join(f"{name} {version(name)}" for name in ("pgx", "mctx", "jax"))
    note = f"{settings}, {versions}, {dtype}, processes {len(layout)}, cores {len(cores)}"
    yield row("mctx_network_positions_per_s", networks[fastest], "positions/s", note)
    theirs = _on(layout, partial(programs.mctx_selfplay, settings, dtype))
    ours = _on([cores] * settings.actors, partial(build_actor, settings, "gumbel"))
    with ProcessGroup(theirs) as their_group, ProcessGroup(ours) as our_group:
        pairs = [
            (their_group.rates(PEER_STRETCHES * seconds), our_group.rates(seconds)) for _ in range(settings.repeats)
        ]
    their_rates, our_rates = ([total(pair[side], "simulations") for pair in pairs] for side in (0, 1))
    searched = f"gumbel, {settings.simulations} simulations"
    yield row("mctx_simulations_per_s", their_rates, "simulations/s", f"{note}, {searched}")
    our_note = f"{settings}, {searched}, actors {settings.actors}, threads {settings.threads}, cores {len(cores)}"
    yield row("actors_simulations_per_s", our_rates, "simulations/s", our_note)
    asked = [total(pair[1], "asked") for pair in pairs]
    yield row("actors_evaluations_per_s", asked, "evaluations/s", f"{our_note}: what the cache did not know")
    yield ratio("actors_to_mctx", our_rates, their_rates, searched)


def bench_openspiel(settings: Settings) -> Iterator[Row]:
    """OpenSpiel's random games and ours, measured in turns on one core."""
    seconds = measure.STRETCH_S / 2
    with (
        ProcessGroup([partial(programs.openspiel_games, settings)]) as theirs,
        ProcessGroup([partial(build_playouts, settings)]) as ours,
    ):
        turns = [
            (total(theirs.rates(seconds), "games"), total(ours.rates(seconds), "games"))
            for _ in range(settings.repeats)
        ]
    their_rates, our_rates = [each[0] for each in turns], [each[1] for each in turns]
    note = f"{settings.game.name}, one core"
    theirs_note = f"{note}, open_spiel {version('open_spiel')}, its own C++ loop"
    yield row("openspiel_games_per_s", their_rates, "games/s", theirs_note)
    yield row("playout_games_per_s", our_rates, "games/s", note)
    yield ratio("playouts_to_openspiel", our_rates, their_rates, note)


def build_playouts(settings: Settings) -> Work:
    """Prepare a process that plays random games from the start, on one thread."""
    from reversi.kernels.threads import Threads
    from reversi.players.flat_mc import random_playouts

    game, seed, threads = settings.game, 0, Threads(1)

    def work() -> dict[str, int]:
        nonlocal seed
        seed += 1
        return {"games": len(random_playouts(game, game.start_own, game.start_opp, 20_000, seed=seed, threads=threads))}

    return work


def build_on_cores(cores: list[int], build: Build) -> Work:
    """Prepare a process restricted to `cores`; an empty list means all."""
    if cores:
        os.sched_setaffinity(0, cores)
    return build()


def _cores(settings: Settings) -> list[int]:
    """Return the cores that both sides use, as many as there are actors; an empty list if they cannot be chosen."""
    if settings.device != "cpu" or not hasattr(os, "sched_getaffinity"):
        return []
    return sorted(os.sched_getaffinity(0))[: settings.actors]


def _on(layout: list[list[int]], build: Build) -> list[Build]:
    return [partial(build_on_cores, cores, build) for cores in layout]


def bench_peers(settings: Settings) -> list[Row]:
    """Return all these rows."""
    return [*bench_mctx(settings), *bench_openspiel(settings)]
