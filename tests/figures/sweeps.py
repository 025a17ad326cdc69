"""The cost as a function of one size, with the others unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median

from reversi import capacity
from scripts.bench import measure
from scripts.bench.actors import TREE_GAMES, build_actor, build_network, network_work, selfplay_work, total, tree_work
from scripts.bench.limits import bench_matmul_bf16
from scripts.bench.measure import in_turns, measured
from scripts.bench.process_group import ProcessGroup, Work
from scripts.bench.rows import bench_perft, playout_rates, tree_rates
from scripts.bench.setup import Settings, open_network, open_selfplay, spread_phases
from tests.figures.limits import flop_per_position

BATCHES = (1, 4, 16, 64, 128, 256, 512, 1024)
GAMES = (1, 4, 16, 64, 256, 1024, 4096)
SIMULATIONS = (8, 16, 32, 64, 128, 256)
BOARDS = (4, 6, 8)

TREE_SIMULATIONS = 64
"""Simulations of the sweep over games."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Medians of rates over one size."""

    name: str
    title: str
    across: str
    """Meaning of the points."""
    unit: str
    points: list[int]
    series: dict[str, list[float]] = field(default_factory=dict)
    """A value for each point, by the name of the measurement."""
    relative: bool = False
    """Whether the values are shares or ratios, not rates over several orders of magnitude."""


def sweep_batch(settings: Settings) -> Sweep:
    """The bare network by batch size, in both precisions, and the peak of bf16 matrix products."""
    sweep = Sweep(
        name="batch",
        title=f"Network over batch: {_network(settings)}, threads {settings.threads}",
        across="positions of one run",
        unit="positions/s",
        points=list(BATCHES),
    )
    for precision in ("bf16", "float32"):
        works = []
        for batch in BATCHES:
            sized = replace(settings, batch=batch)
            works.append(network_work(open_network(sized, precision=precision), sized))
        sweep.series[precision] = _medians(works, "positions", settings)
    peak = next(bench_matmul_bf16(settings)).high * 1e12 / flop_per_position(settings.network, settings.size)
    sweep.series["peak of bf16 matrix products"] = [peak] * len(BATCHES)
    return sweep


def sweep_games(settings: Settings) -> Sweep:
    """The tree by the number of games at once, with a free network: the cost of exceeding the caches."""
    search = [median(tree_rates(settings, games, TREE_SIMULATIONS)) for games in GAMES]
    return Sweep(
        name="games",
        title=f"Tree over games: {settings.game.name}, {TREE_SIMULATIONS} simulations, free network, one core",
        across="games",
        unit="simulations/s",
        points=list(GAMES),
        series={"search": search},
    )


def sweep_simulations(settings: Settings) -> Sweep:
    """The share of the bare network's speed that self-play keeps, by simulations."""
    sweep = Sweep(
        name="simulations",
        title=f"Self-play over simulations: {settings}, threads {settings.threads}",
        across="simulations",
        unit="evaluations/s to the bare network's positions/s",
        points=list(SIMULATIONS),
        relative=True,
    )
    for method in ("gumbel", "puct"):
        shares = []
        for simulations in SIMULATIONS:
            sized = replace(settings, simulations=simulations)
            network = open_network(sized)
            selfplay = open_selfplay(sized, network, method=method)
            spread_phases(selfplay)
            works = [network_work(network, sized), selfplay_work(selfplay)]
            bare, play = in_turns([measured(works[0], "positions"), measured(works[1], "asked")], settings.repeats)
            shares.append(median(play) / median(bare))
        sweep.series[method] = shares
    return sweep


def sweep_board(settings: Settings) -> Sweep:
    """Every layer below the learner, by board size."""
    sweep = Sweep(
        name="board",
        title=f"Layers over the board: one core, {settings.blocks} x {settings.channels}, batch {settings.batch}",
        across="squares a side",
        unit="a second",
        points=list(BOARDS),
    )
    boards = [replace(settings, size=size) for size in BOARDS]
    sweep.series["perft leaves"] = [next(bench_perft(board)).value for board in boards]
    sweep.series["random games"] = [median(playout_rates(board, 1)) for board in boards]
    sweep.series["simulations, free network"] = [median(tree_rates(board, 64, TREE_SIMULATIONS)) for board in boards]
    networks = [network_work(open_network(board), board) for board in boards]
    sweep.series["positions of the network"] = _medians(networks, "positions", settings)
    return sweep


def sweep_threads(settings: Settings) -> Sweep:
    """The gain from more threads in one process, relative to one thread."""
    points = _up_to_all_cores()
    sweep = Sweep(
        name="threads",
        title=f"One process over threads: {_network(settings)}, batch {settings.batch}",
        across="threads",
        unit="times one thread",
        points=points,
        relative=True,
    )
    sweep.series["random games"] = _to_first([median(playout_rates(settings, threads)) for threads in points])
    trees = [tree_work(settings, threads) for threads in points]
    sweep.series[f"self-play of {TREE_GAMES:,} games, free network"] = _to_first(
        _medians(trees, "simulations", settings)
    )
    threaded = [replace(settings, threads=threads) for threads in points]
    networks = [network_work(open_network(each), each) for each in threaded]
    sweep.series["network"] = _to_first(_medians(networks, "positions", settings))
    return sweep


def sweep_actors(settings: Settings) -> Sweep:
    """The share of its speed that a process keeps beside others: bare networks and actors."""
    points = _up_to_all_cores()
    sweep = Sweep(
        name="actors",
        title=f"Processes side by side: {settings}, {settings.simulations} simulations, threads {settings.threads}",
        across="processes",
        unit="times one process",
        points=points,
        relative=True,
    )
    for name, build, counted in (
        ("bare networks", partial(build_network, settings), "positions"),
        ("actors", partial(build_actor, settings), "simulations"),
    ):
        rates = []
        for count in points:
            with ProcessGroup([build] * count) as group:
                turns = [total(group.rates(measure.STRETCH_S), counted) for _ in range(settings.repeats)]
                rates.append(median(turns))
        sweep.series[name] = _to_first(rates)
    return sweep


def _medians(works: list[Work], name: str, settings: Settings) -> list[float]:
    """Return the median rate of each piece of work, all measured in turns."""
    rates = in_turns([measured(work, name) for work in works], settings.repeats)
    return [median(each) for each in rates]


def _to_first(values: list[float]) -> list[float]:
    return [value / values[0] for value in values]


def _up_to_all_cores() -> list[int]:
    cores = capacity.cores()
    return sorted({1 << power for power in range(cores.bit_length())} | {cores})


def _network(settings: Settings) -> str:
    return f"{settings.blocks} blocks x {settings.channels}, {settings.size}x{settings.size}"


SWEEPS: dict[str, Callable[[Settings], Sweep]] = {
    "batch": sweep_batch,
    "games": sweep_games,
    "simulations": sweep_simulations,
    "board": sweep_board,
    "threads": sweep_threads,
    "actors": sweep_actors,
}
"""The function that measures each sweep, in the order of the page."""
