"""The rows of `reversi bench`: what each one does and counts; `ROWS` names them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import TYPE_CHECKING

from scripts.bench_setup import (
    Settings,
    algorithm_config,
    empty_replay,
    learner_config,
    random_weights,
    records_of,
    selfplay_in_all_phases,
    training_batches,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reversi.games.bitboard import Masks
    from reversi.search.evaluate import Evaluate

MEASUREMENT_S = 0.3
"""Least time of one measurement."""

LONGEST_S = 20.0
"""Time after which a row is measured no more than three times: a CPU without bf16 takes long for self-play."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure: the median of `repeats` measurements that lay between `low` and `high`."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    repeats: int
    measured_with: str


def row(name: str, values: list[float], unit: str, measured_with: str) -> Row:
    """Return the row of these measurements."""
    return Row(
        name=name,
        value=median(values),
        unit=unit,
        low=min(values),
        high=max(values),
        repeats=len(values),
        measured_with=measured_with,
    )


def rates(work: Callable[[], int], settings: Settings) -> list[float]:
    """Return units per second of several measurements of `work`, which returns the units it did; warmed up before."""
    work()
    return [rate(work) for _ in range(settings.repeats)]


def rate(work: Callable[[], int]) -> float:
    """Return units per second of `work`, repeated for `MEASUREMENT_S` at least."""
    units, start = 0, time.perf_counter()
    while True:
        units += work()
        elapsed = time.perf_counter() - start
        if elapsed >= MEASUREMENT_S:
            return units / elapsed


class Counting:
    """A network that counts the positions it judges."""

    def __init__(self, evaluate: Evaluate) -> None:
        self.positions = 0
        self._evaluate = evaluate

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Answer as the network does."""
        self.positions += len(own)
        return self._evaluate(own, opp)


def bench_perft(settings: Settings) -> Iterator[Row]:
    """The rules on one core: leaves of the game tree, the last ply counted."""
    import numpy as np

    from reversi.games.perft import perft

    game = settings.game
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    depth = {4: 12, 6: 10, 8: 10}[settings.size]
    found = rates(lambda: perft(game.id, own, opp, depth), settings)
    yield row("perft_leaves_per_s", found, "leaves/s", f"{game.name}, depth {depth}, one core")


def bench_playouts(settings: Settings) -> Iterator[Row]:
    """Uniformly random games on one core, from the start to the end."""
    from reversi.search.flat_mc import random_playouts

    game, seeds = settings.game, count()

    def work() -> int:
        return len(random_playouts(game, game.start_own, game.start_opp, 20_000, next(seeds)))

    yield row("playout_games_per_s", rates(work, settings), "games/s", f"{game.name}, one core")


def bench_tree(settings: Settings) -> Iterator[Row]:
    """The tree alone on one core: descend, expand and back up with a network that costs nothing."""
    import numpy as np

    from reversi.search.apv_mcts import Search
    from reversi.search.config import SearchConfig
    from reversi.search.evaluate import UniformEvaluate

    game, games, simulations = settings.game, 64, 64
    search = Search(
        game,
        SearchConfig(simulations=simulations),
        UniformEvaluate(game, games),
        games,
        np.random.default_rng(0),
    )
    own, opp = np.full(games, game.start_own, np.uint64), np.full(games, game.start_opp, np.uint64)

    def work() -> int:
        return int(search.run(own, opp).visits.sum())

    note = f"{game.name}, {games} games x {simulations} simulations, free network, one core"
    yield row("tree_simulations_per_s", rates(work, settings), "simulations/s", note)


def bench_openvino(settings: Settings) -> Iterator[Row]:
    """OpenVINO in float32, to compare with torch in float32; nothing where it is not installed."""
    from importlib.util import find_spec

    if find_spec("openvino") is not None:
        yield _inference("inference_openvino_float32_positions_per_s", "openvino", settings)


def bench_torch(settings: Settings) -> Iterator[Row]:
    """Plain torch in float32."""
    yield _inference("inference_torch_float32_positions_per_s", "torch", settings)


def bench_selfplay(settings: Settings) -> Iterator[Row]:
    """The bare network, self-play with it, and their ratio, in turns: batch after batch, then one ply of all games.

    Evaluations are positions that the network judged: simulations that end in a finished game cost none.
    """
    from reversi.model.evaluate import open_evaluator

    evaluate = open_evaluator(random_weights(settings), batch=settings.batch, threads=settings.threads)
    selfplay = selfplay_in_all_phases(settings)
    selfplay.search.evaluate = counting = Counting(evaluate)

    def ply() -> int:
        before = counting.positions
        selfplay.step(0)
        return counting.positions - before

    def bare() -> int:
        evaluate(selfplay.own, selfplay.opp)
        return len(selfplay.own)

    ply()
    bare()
    pairs: list[tuple[float, float]] = []
    start_s = time.perf_counter()
    while len(pairs) < 3 or (len(pairs) < 4 * settings.repeats and time.perf_counter() - start_s < LONGEST_S):
        pairs.append((rate(bare), rate(ply)))
    network, played = [each[0] for each in pairs], [each[1] for each in pairs]
    note = f"{settings}, {evaluate.name} {evaluate.precision}, threads {settings.threads}"
    play_note = f"{note}, {settings.simulations} simulations"
    yield row("inference_positions_per_s", network, "positions/s", note)
    yield row("selfplay_evaluations_per_s", played, "evaluations/s", play_note)
    shares = [each[1] / each[0] for each in pairs]
    yield Row(
        name="selfplay_to_inference",
        value=median(played) / median(network),
        unit="ratio",
        low=min(shares),
        high=max(shares),
        repeats=len(pairs),
        measured_with=play_note,
    )


def bench_learner(settings: Settings) -> Iterator[Row]:
    """Training: samples drawn and turned, forward, backward, optimiser, averaged weights."""
    from learner.trainer import Trainer

    training = settings.training
    trainer = Trainer(training.game, training.network, learner_config(training), algorithm_config(), 0)
    batches = training_batches(training)

    def work() -> int:
        trainer.step(next(batches), 0.0)
        return training.batch

    note = f"{training}, threads {training.threads}, drawing included"
    yield row("learner_samples_per_s", rates(work, training), "samples/s", note)


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
    yield row("replay_add_positions_per_s", rates(work, settings), "positions/s", note)


def bench_replay_sample(settings: Settings) -> Iterator[Row]:
    """Samples out of the replay, each under a random symmetry, as the float arrays of a training batch."""
    batches = training_batches(settings)

    def work() -> int:
        return len(next(batches).planes)

    note = f"{settings.game.name}, batch {settings.batch}, drawn, turned, as float arrays, one core"
    yield row("replay_sample_positions_per_s", rates(work, settings), "positions/s", note)


ROWS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "perft_leaves_per_s": bench_perft,
    "playout_games_per_s": bench_playouts,
    "tree_simulations_per_s": bench_tree,
    "inference_positions_per_s": bench_selfplay,
    "inference_openvino_float32_positions_per_s": bench_openvino,
    "inference_torch_float32_positions_per_s": bench_torch,
    "selfplay_evaluations_per_s": bench_selfplay,
    "selfplay_to_inference": bench_selfplay,
    "learner_samples_per_s": bench_learner,
    "replay_add_positions_per_s": bench_replay_add,
    "replay_sample_positions_per_s": bench_replay_sample,
}
"""Every row with what measures it, in the order of the table."""


def _inference(name: str, backend: str, settings: Settings) -> Row:
    from reversi.model.evaluate import open_evaluator

    weights = random_weights(settings)
    evaluate = open_evaluator(
        weights, backend=backend, precision="float32", batch=settings.batch, threads=settings.threads
    )
    selfplay = selfplay_in_all_phases(settings)

    def work() -> int:
        evaluate(selfplay.own, selfplay.opp)
        return len(selfplay.own)

    note = f"{settings}, {evaluate.name} {evaluate.precision}, threads {settings.threads}"
    return row(name, rates(work, settings), "positions/s", note)
