"""The limits of a machine: rows with which the others are compared, and the network's work per position."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from scripts.bench.measure import Row, rates, row
from scripts.bench.setup import PERFT_DEPTH, Settings, positions_of

if TYPE_CHECKING:
    from torch import Tensor

    from reversi.model.config import ResNetConfig

PRODUCTS = {
    "cpu": ((4096, 1024, 256), (1024, 1024, 1024), (2048, 2048, 2048)),
    "cuda": ((8192, 8192, 8192), (65536, 1024, 1024)),
}
"""Matrix products, [m, k] by [k, n]: which one comes closest to the peak differs between machines."""

COPIED_BYTES = 256 * 2**20
"""Size of the copy that measures memory, far larger than any cache."""

IN_CACHE = 4096
"""Positions for measuring the rules' kernels: 100 kB."""


MACHINE = ("matmul_", "memory_")
"""Prefixes of rows about the machine; as a limit their best measurement counts, the least affected by other work."""

TREE_GAMES, TREE_SIMULATIONS = 64, 64
"""Trees for counting the memory of a simulation; those of the row `tree_simulations_per_s`."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The limit of a row."""

    row: str
    value: float
    limit: float
    against: str


def limits(rows: Mapping[str, Row], settings: Settings) -> list[Limit]:
    """Return the limits of those `rows` for which they were measured too."""
    found: list[Limit] = []

    def add(name: str, against: str, needs: tuple[str, ...], limit: Callable[..., float]) -> None:
        if name in rows and all(need in rows for need in needs):
            values = (rows[need].high if need.startswith(MACHINE) else rows[need].value for need in needs)
            found.append(Limit(row=name, value=rows[name].value, limit=limit(*values), against=against))

    rules = ("legal_moves_positions_per_s", "plies_per_s")
    plies, branching = settings.game.squares - 4, _branching(settings)
    add("perft_leaves_per_s", f"legal moves alone, {branching:.1f} a position", rules[:1], lambda x: x * branching)
    add("playout_games_per_s", f"legal moves and {plies} plies alone", rules, lambda x, y: 1 / (plies / x + plies / y))
    cores = os.cpu_count() or 1
    add("playout_all_cores_games_per_s", f"one core {cores} times", ("playout_games_per_s",), lambda x: cores * x)
    memory = ("memory_copy_gb_per_s",)
    simulation = bytes_per_simulation(settings)
    for name in ("tree_simulations_per_s", "tree_1024_games_simulations_per_s"):
        add(name, f"memory, {simulation:,.0f} bytes a simulation", memory, lambda x: x * 1e9 / simulation)
    flop = flop_per_position(settings.network, settings.size)
    for name in (
        "inference_positions_per_s",
        "inference_openvino_float32_positions_per_s",
        "inference_torch_float32_positions_per_s",
    ):
        precision = "bf16" if name in rows and " bf16" in rows[name].measured_with else "float32"
        peak = f"matmul_{precision}_tflop_per_s"
        add(name, f"{precision} matrix products, {flop / 1e6:.1f} MFLOP a position", (peak,), lambda x: x * 1e12 / flop)
    add("selfplay_evaluations_per_s", "the bare network", ("inference_positions_per_s",), float)
    add("actors_simulations_per_s", "as many bare networks", ("networks_positions_per_s",), float)
    training = settings.training
    step = 3 * flop_per_position(training.network, training.size)
    threads = training.threads / settings.threads
    add(
        "learner_samples_per_s",
        f"bf16 matrix products, {step / 1e6:.1f} MFLOP a sample",
        ("matmul_bf16_tflop_per_s",),
        lambda x: x * threads * 1e12 / step,
    )
    add("replay_add_positions_per_s", "legal moves and plies alone", rules, lambda x, y: 1 / (1 / x + 1 / y))
    return found


def bytes_per_simulation(settings: Settings) -> float:
    """Return the mean bytes that a simulation reads or writes in the trees: nodes and edges on its path."""
    import numpy as np

    from reversi.search.apv_mcts import Search
    from reversi.search.config import SearchConfig
    from reversi.search.evaluate import UniformEvaluate
    from reversi.search.tree import EDGE, NODE, NODES

    game = settings.game
    config, free = SearchConfig(simulations=TREE_SIMULATIONS), UniformEvaluate(game, TREE_GAMES)
    search = Search(game, config, free, TREE_GAMES)
    search.run(np.full(TREE_GAMES, game.start_own, np.uint64), np.full(TREE_GAMES, game.start_opp, np.uint64))
    trees, touched = search._trees, 0
    for used, nodes, edges in zip(trees.used, trees.nodes, trees.edges, strict=True):
        made = nodes[: used[NODES]]
        visits = edges["visits"][made["entry"]]
        touched += int((visits * (NODE.itemsize + np.maximum(made["degree"], 0) * EDGE.itemsize)).sum())
    return touched / (TREE_GAMES * TREE_SIMULATIONS)


def _branching(settings: Settings) -> float:
    """Return the mean number of leaves per position in the second-last ply of the perft row."""
    import numpy as np

    from reversi.games.perft import perft

    game = settings.game
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    deepest = perft(game.id, own, opp, PERFT_DEPTH[settings.size])
    return deepest / perft(game.id, own, opp, PERFT_DEPTH[settings.size] - 1)


def flop_per_position(network: ResNetConfig, size: int) -> int:
    """Return the floating-point operations to evaluate one position; a multiplication and an addition count as two.

    Convolutions count in full on every square, including borders; activations and the heads' sums are left out.
    """
    from reversi.model.weights import layer_shapes

    shapes = layer_shapes(network, size).values()
    return sum(2 * math.prod(shape) * (size * size if len(shape) == 4 else 1) for shape in shapes)


def bench_matmul_bf16(settings: Settings) -> Iterator[Row]:
    """Matrix products by torch in bf16, the fastest of several shapes: on a CPU with AMX, the speed of AMX."""
    yield _matmul("matmul_bf16_tflop_per_s", "bfloat16", settings)


def bench_matmul_float32(settings: Settings) -> Iterator[Row]:
    """The same in float32."""
    yield _matmul("matmul_float32_tflop_per_s", "float32", settings)


def bench_memory(settings: Settings) -> Iterator[Row]:
    """A copy far larger than the caches, on one thread; bytes read and written both count."""
    import numpy as np

    source, target = np.ones((2, COPIED_BYTES), np.uint8)

    def work() -> int:
        np.copyto(target, source)
        return 2 * COPIED_BYTES

    found = [each / 1e9 for each in rates(work, settings.repeats)]
    yield row("memory_copy_gb_per_s", found, "GB/s", f"{COPIED_BYTES >> 20} MB, read and written, one thread")


def bench_legal_moves(settings: Settings) -> Iterator[Row]:
    """The legal moves of positions from all phases, in cache, one core."""
    import numpy as np

    from reversi.games.rules import legal_masks

    own, opp = positions_of(settings, IN_CACHE)
    out = np.empty(len(own), np.uint64)

    def work() -> int:
        for _ in range(100):
            legal_masks(settings.game.id, own, opp, out)
        return 100 * len(own)

    note = f"{settings.game.name}, {len(own)} positions in cache, one core"
    yield row("legal_moves_positions_per_s", rates(work, settings.repeats), "positions/s", note)


def bench_plies(settings: Settings) -> Iterator[Row]:
    """One ply in each of many positions, in cache, one core; a copy restores the positions."""
    import numpy as np

    from reversi.games.rules import legal_actions_mask, play_batch

    own, opp = positions_of(settings, IN_CACHE)
    legal = np.zeros((len(own), settings.game.actions), np.uint8)
    legal_actions_mask(settings.game.id, own, opp, legal)
    actions = legal.argmax(axis=1).astype(np.int32)
    own_after, opp_after = own.copy(), opp.copy()

    def work() -> int:
        for _ in range(100):
            own_after[:], opp_after[:] = own, opp
            play_batch(settings.game.id, own_after, opp_after, actions)
        return 100 * len(own)

    note = f"{settings.game.name}, {len(own)} positions in cache, one core"
    yield row("plies_per_s", rates(work, settings.repeats), "plies/s", note)


def _matmul(name: str, dtype: str, settings: Settings) -> Row:
    import torch

    torch.set_num_threads(settings.threads)
    found: dict[tuple[int, int, int], list[float]] = {}
    for m, k, n in PRODUCTS[settings.device]:
        first = torch.ones((m, k), dtype=getattr(torch, dtype), device=settings.device)
        second = torch.ones((k, n), dtype=first.dtype, device=settings.device)
        found[m, k, n] = rates(_product(first, second), settings.repeats)
    fastest = max(found, key=lambda shape: median(found[shape]))
    shape = " x ".join(map(str, fastest))
    note = f"{shape}, torch {dtype} on the {settings.device}, threads {settings.threads}"
    return row(name, [each / 1e12 for each in found[fastest]], "TFLOP/s", note)


def _product(first: Tensor, second: Tensor) -> Callable[[], int]:
    """Return work that multiplies the matrices once and returns its operations."""
    import torch

    result = first @ second

    def work() -> int:
        torch.mm(first, second, out=result)
        if result.is_cuda:
            torch.cuda.synchronize()
        return 2 * first.shape[0] * first.shape[1] * second.shape[1]

    return work
