"""The rows of `reversi bench`: what each one does and counts; `ROWS` lists them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, cycle

from reversi.capacity import cores
from scripts.bench.actors import bench_actors, bench_lessons, bench_selfplay, bench_tree_threads
from scripts.bench.limits import (
    bench_legal_moves,
    bench_matmul_bf16,
    bench_matmul_float32,
    bench_memory,
    bench_plies,
)
from scripts.bench.measure import Row, rates, row
from scripts.bench.patterns import (
    bench_afterstate_games,
    bench_alphabeta,
    bench_evaluations,
    bench_simulations,
    bench_td,
)
from scripts.bench.redis import bench_redis
from scripts.bench.setup import (
    PERFT_DEPTH,
    Settings,
    algorithm_config,
    empty_replay,
    learner_config,
    positions_of,
    random_weights,
    records_of,
    training_batches,
)
from scripts.bench.watch import bench_watch

ENDING_EMPTIES = {4: 8, 6: 14, 8: 14}
"""Empty squares of the positions to solve, by the size of the board."""


def bench_perft(settings: Settings) -> Iterator[Row]:
    """The rules on one core: leaves of the game tree, the last ply counted."""
    import numpy as np

    from reversi.games.perft import perft

    game = settings.game
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    depth = PERFT_DEPTH[settings.size]
    leaves = rates(lambda: perft(game.id, own, opp, depth), settings.repeats)
    yield row("perft_leaves_per_s", leaves, "leaves/s", f"{game.name}, depth {depth}, one core")


def bench_playouts(settings: Settings) -> Iterator[Row]:
    """Uniformly random games on one core, from the start to the end."""
    yield row("playout_games_per_s", playout_rates(settings, 1), "games/s", f"{settings.game.name}, one core")


def bench_playouts_on_all_cores(settings: Settings) -> Iterator[Row]:
    """The same games on all cores."""
    threads = cores()
    games = playout_rates(settings, threads)
    yield row("playout_all_cores_games_per_s", games, "games/s", f"{settings.game.name}, {threads} threads")


def playout_rates(settings: Settings, threads: int) -> list[float]:
    """Return random games per second on `threads` threads."""
    from reversi.kernels.threads import Threads
    from reversi.players.flat_mc import random_playouts

    game, seeds, pool = settings.game, count(), Threads(threads)

    def work() -> int:
        return len(
            random_playouts(game, game.start_own, game.start_opp, 20_000 * threads, seed=next(seeds), threads=pool)
        )

    return rates(work, settings.repeats)


def bench_tree(settings: Settings) -> Iterator[Row]:
    """The tree alone on one core, in cache: descend, expand and back up, with a free network."""
    yield _tree("tree_simulations_per_s", 64, settings)


def bench_large_tree(settings: Settings) -> Iterator[Row]:
    """The same with more games than fit into the caches."""
    yield _tree("tree_1024_games_simulations_per_s", 1024, settings)


def _tree(name: str, games: int, settings: Settings) -> Row:
    simulations = 64
    note = f"{settings.game.name}, {games} games x {simulations} simulations, free network, one core"
    return row(name, tree_rates(settings, games, simulations), "simulations/s", note)


def tree_rates(settings: Settings, games: int, simulations: int) -> list[float]:
    """Return simulations per second of PUCT from the start of `games` games, with a free network."""
    import numpy as np

    from reversi.search.apv_mcts import Search
    from reversi.search.config import SearchConfig
    from reversi.search.evaluate import UniformEvaluate

    game = settings.game
    config = SearchConfig.puct(simulations=simulations, c_puct=1.5, fpu_reduction=0.2)
    free = UniformEvaluate(game, games)
    search = Search(game, config, free, games)
    own, opp = np.full(games, game.start_own, np.uint64), np.full(games, game.start_opp, np.uint64)
    return rates(lambda: int(search.run(own, opp).visits.sum()), settings.repeats)


def bench_solver(settings: Settings) -> Iterator[Row]:
    """The exact solver on one core: the best move of positions of random games with 14 empty squares (8 on 4x4)."""

    from reversi.solver.solver import Solver

    game = settings.game
    solver, waiting = Solver(game), cycle(_endings(settings, 20))
    seconds: list[float] = []

    def work() -> int:
        own, opp = next(waiting)
        solution = solver.solve(own, opp)
        seconds.append(solution.seconds)
        return solution.nodes

    note = f"{game.name}, {ENDING_EMPTIES[settings.size]} empty squares, best move, one core"
    yield row("solver_positions_per_s", rates(work, settings.repeats), "positions/s", note)
    yield row("solver_ending_ms", [1000 * each for each in seconds], "ms", note)


def _endings(settings: Settings, count: int) -> list[tuple[int, int]]:
    """Return positions of random games, as (own, opp)."""
    import random

    from reversi.games.position import Position

    rng, endings = random.Random(0), list[tuple[int, int]]()
    discs = settings.game.squares - ENDING_EMPTIES[settings.size]
    while len(endings) < count:
        position = Position.start(settings.game)
        while not position.is_over and (position.own | position.opp).bit_count() < discs:
            position = position.play(rng.choice(position.legal_actions()))
        if not position.is_over:
            endings.append((position.own, position.opp))
    return endings


def bench_openvino(settings: Settings) -> Iterator[Row]:
    """OpenVINO in float32, to compare with torch in float32; no row if it is not installed."""
    from importlib.util import find_spec

    if settings.device == "cpu" and find_spec("openvino") is not None:
        yield _inference("inference_openvino_float32_positions_per_s", "openvino", settings)


def bench_torch(settings: Settings) -> Iterator[Row]:
    """Plain torch in float32."""
    yield _inference("inference_torch_float32_positions_per_s", "torch", settings)


def bench_learner(settings: Settings) -> Iterator[Row]:
    """Training: samples drawn and transformed by symmetries, forward, backward, optimiser, averaged weights."""
    from learner.training.trainer import Trainer

    training = settings.training
    trainer = Trainer(training.game, training.network, learner_config(training), algorithm_config(training), 0)
    batches = training_batches(training)

    def work() -> int:
        trainer.step(next(batches), 0.0)
        return training.batch

    note = f"{training}, threads {training.threads}, drawing included"
    yield row("learner_samples_per_s", rates(work, training.repeats), "samples/s", note)


def bench_replay_add(settings: Settings) -> Iterator[Row]:
    """Deliveries of finished games into the replay: decoded, every move replayed and checked, stored as samples."""
    from reversi.record import encode

    records = records_of(settings)
    replay, sequence = empty_replay(settings), count()
    deliveries = [encode(records, "bench", next(sequence)) for _ in range(200)]
    waiting = iter(deliveries)

    def work() -> int:
        nonlocal replay, waiting
        data = next(waiting, None)
        if data is None:
            replay, waiting = empty_replay(settings), iter(deliveries)
            data = next(waiting)
        return replay.add(data).positions

    note = f"{settings.game.name}, {len(records)} games a delivery, every move checked, one core"
    yield row("replay_add_positions_per_s", rates(work, settings.repeats), "positions/s", note)


def bench_replay_sample(settings: Settings) -> Iterator[Row]:
    """Samples from the replay, each under a random symmetry, as the float arrays of a training batch."""
    batches = training_batches(settings)

    def work() -> int:
        return len(next(batches).planes)

    note = f"{settings.game.name}, batch {settings.batch}, drawn, turned, as float arrays, one core"
    yield row("replay_sample_positions_per_s", rates(work, settings.repeats), "positions/s", note)


def _inference(name: str, backend: str, settings: Settings) -> Row:
    from reversi.model.evaluate import open_evaluator

    evaluate = open_evaluator(
        random_weights(settings),
        backend=backend,
        device=settings.device,
        precision="float32",
        batch=settings.batch,
        threads=settings.threads,
    )
    own, opp = positions_of(settings, settings.batch)

    def work() -> int:
        evaluate(own, opp)
        return len(own)

    note = f"{settings}, {evaluate.name} {evaluate.precision}, threads {settings.threads}"
    return row(name, rates(work, settings.repeats), "positions/s", note)


LAYERS: dict[str, dict[str, Callable[[Settings], Iterator[Row]]]] = {
    "rules": {
        "perft_leaves_per_s": bench_perft,
    },
    "playouts": {
        "playout_games_per_s": bench_playouts,
        "playout_all_cores_games_per_s": bench_playouts_on_all_cores,
    },
    "tree": {
        "tree_simulations_per_s": bench_tree,
        "tree_1024_games_simulations_per_s": bench_large_tree,
        "tree_threads_simulations_per_s": bench_tree_threads,
        "tree_parallel_efficiency": bench_tree_threads,
    },
    "lessons": {
        "lessons_per_s": bench_lessons,
        "lessons_parallel_efficiency": bench_lessons,
    },
    "solver": {
        "solver_positions_per_s": bench_solver,
        "solver_ending_ms": bench_solver,
    },
    "network": {
        "inference_positions_per_s": bench_selfplay,
        "inference_openvino_float32_positions_per_s": bench_openvino,
        "inference_torch_float32_positions_per_s": bench_torch,
    },
    "self-play": {
        "selfplay_evaluations_per_s": bench_selfplay,
        "selfplay_to_inference": bench_selfplay,
        "evaluations_per_simulation": bench_selfplay,
        "cache_hit_rate": bench_selfplay,
    },
    "processes": {
        "networks_positions_per_s": bench_actors,
        "actors_simulations_per_s": bench_actors,
        "actors_positions_per_s": bench_actors,
        "actors_scaling": bench_actors,
    },
    "patterns": {
        "pattern_evaluations_per_s": bench_evaluations,
        "pattern_simulations_per_s": bench_simulations,
        "alphabeta_positions_per_s": bench_alphabeta,
        "alphabeta_depth": bench_alphabeta,
        "afterstate_games_per_s": bench_afterstate_games,
        "td_games_per_s": bench_td,
    },
    "learner": {
        "learner_samples_per_s": bench_learner,
    },
    "replay": {
        "replay_add_positions_per_s": bench_replay_add,
        "replay_sample_positions_per_s": bench_replay_sample,
        "redis_ingest_positions_per_s": bench_redis,
        "redis_bytes_per_position": bench_redis,
    },
    "watching": {
        "watch_percent": bench_watch,
    },
    "limits": {
        "legal_moves_positions_per_s": bench_legal_moves,
        "plies_per_s": bench_plies,
        "matmul_bf16_tflop_per_s": bench_matmul_bf16,
        "matmul_float32_tflop_per_s": bench_matmul_float32,
        "memory_copy_gb_per_s": bench_memory,
    },
}
"""The function that measures each row, by layer, in the order of the table; the last layer is the machine's limits."""

ROWS = {name: bench for layer in LAYERS.values() for name, bench in layer.items()}
"""The function that measures each row."""
