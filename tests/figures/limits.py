"""What bounds each row of `reversi bench`: the layers below, the machine's peaks, the work per position."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from reversi import capacity
from reversi.games.perft import perft
from reversi.model.config import ResNetConfig
from reversi.model.weights import layer_shapes
from reversi.search.apv_mcts import Search
from reversi.search.config import SearchConfig
from reversi.search.evaluate import UniformEvaluate
from reversi.search.tree import EDGE, NODE, NODES
from scripts.bench.measure import Row
from scripts.bench.setup import PERFT_DEPTH, Settings

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
    bounds: list[Limit] = []

    def add(name: str, against: str, needs: tuple[str, ...], limit: Callable[..., float]) -> None:
        if name in rows and all(need in rows for need in needs):
            values = (rows[need].high if need.startswith(MACHINE) else rows[need].value for need in needs)
            bounds.append(Limit(row=name, value=rows[name].value, limit=limit(*values), against=against))

    rules = ("legal_moves_positions_per_s", "plies_per_s")
    plies, branching = settings.game.squares - 4, _branching(settings)
    add("perft_leaves_per_s", f"legal moves alone, {branching:.1f} a position", rules[:1], lambda x: x * branching)
    add("playout_games_per_s", f"legal moves and {plies} plies alone", rules, lambda x, y: 1 / (plies / x + plies / y))
    cores = capacity.cores()
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
    return bounds


def bytes_per_simulation(settings: Settings) -> float:
    """Return the mean bytes that a simulation reads or writes in the trees: nodes and edges on its path."""
    game = settings.game
    config = SearchConfig.puct(simulations=TREE_SIMULATIONS, c_puct=1.5, fpu_reduction=0.2)
    free = UniformEvaluate(game, TREE_GAMES)
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
    game = settings.game
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    deepest = perft(game.id, own, opp, PERFT_DEPTH[settings.size])
    return deepest / perft(game.id, own, opp, PERFT_DEPTH[settings.size] - 1)


def flop_per_position(network: ResNetConfig, size: int) -> int:
    """Return the floating-point operations to evaluate one position; a multiplication and an addition count as two.

    Convolutions count in full on every square, including borders; activations and the heads' sums are left out.
    """
    shapes = layer_shapes(network, size).values()
    return sum(2 * math.prod(shape) * (size * size if len(shape) == 4 else 1) for shape in shapes)
