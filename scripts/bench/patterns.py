"""Rows of a network of patterns: its evaluations, its searches, the games and the learning of `algorithm=td`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scripts.bench.measure import Row, rates, row
from scripts.bench.setup import Settings, default_job, positions_of

if TYPE_CHECKING:
    from actors.afterstate import AfterstatePlay
    from reversi.model.weights import Weights
    from scripts.config.job import JobConfig

POSITIONS = 20_000


def pattern_weights(settings: Settings) -> Weights:
    """Return small random tables for the board's patterns, as a network has after some minutes: about a disc each."""
    import numpy as np

    from reversi.model.weights import Weights, array_dtype, array_shapes

    network, rng = default_job(settings.size, "network=patterns").network, np.random.default_rng(0)
    arrays = {
        name: (4 + np.zeros(shape) if name in ("width", "temperature") else rng.normal(0, 40, shape)).astype(
            array_dtype(network, name)
        )
        for name, shape in array_shapes(network, settings.size).items()
    }
    return Weights(settings.game.name, network, 0, arrays)


def bench_evaluations(settings: Settings) -> Iterator[Row]:
    """The values of positions from all phases of the game, in a kernel on one core."""
    import numpy as np

    from reversi.model.evaluate import open_evaluator
    from reversi.patterns.evaluate import margins_of

    tables = open_evaluator(pattern_weights(settings)).tables
    own, opp = positions_of(settings, POSITIONS)
    out = np.empty(POSITIONS, np.int64)

    def work() -> int:
        margins_of(tables, own, opp, out)
        return POSITIONS

    note = f"{settings.game.name}, {len(tables.lookup.offset)} instances, positions of all phases, one core"
    yield row("pattern_evaluations_per_s", rates(work, settings.repeats), "positions/s", note)


def bench_simulations(settings: Settings) -> Iterator[Row]:
    """A move by APV-MCTS as in play, priors and the solver included, on one core."""
    from itertools import cycle

    from reversi.model.evaluate import open_evaluator
    from reversi.players import playing_config
    from reversi.search.apv_mcts import Search

    simulations = 4000
    search = Search(settings.game, playing_config(simulations), open_evaluator(pattern_weights(settings)), 1)
    own, opp = positions_of(settings, 64)
    waiting = cycle(range(64))

    def work() -> int:
        b = next(waiting)
        return int(search.run(own[b : b + 1], opp[b : b + 1]).visits.sum())

    note = f"{settings.game.name}, {simulations} a move as in play, positions of all phases, one core"
    yield row("pattern_simulations_per_s", rates(work, settings.repeats), "simulations/s", note)


def bench_alphabeta(settings: Settings) -> Iterator[Row]:
    """Alpha-beta as in play, selective cut-offs included, on one core: positions with about half of the squares
    empty, and the depth that it completes in a tenth of a second."""
    from itertools import cycle

    import numpy as np

    from reversi.alphabeta.alphabeta import AlphaBeta
    from reversi.model.evaluate import open_evaluator

    game, seconds = settings.game, 0.1
    search = AlphaBeta(game, open_evaluator(pattern_weights(settings)).tables)
    own, opp = positions_of(settings, 400)
    empties = game.squares - np.bitwise_count(own | opp)
    middle = np.argsort(np.abs(empties.astype(int) - game.squares // 2), kind="stable")
    waiting, depths = cycle(middle[:20].tolist()), list[float]()

    def work() -> int:
        b = next(waiting)
        found = search.run(int(own[b]), int(opp[b]), seconds=seconds, fresh=True)
        depths.append(found.depth)
        return found.nodes

    note = f"{game.name}, {seconds} s a move, random tables, about {game.squares // 2} empty squares, one core"
    yield row("alphabeta_positions_per_s", rates(work, settings.repeats), "positions/s", note)
    yield row("alphabeta_depth", depths, "plies", note)


def bench_afterstate_games(settings: Settings) -> Iterator[Row]:
    """Games by the value after the move, endings by the solver, as records; on one core."""
    play = _afterstate_play(settings)

    def work() -> int:
        records = play.round(0.0, 0)
        assert records is not None
        return len(records)

    note = f"{settings.game.name}, {play.config.exact_empties} empty squares exact, one core"
    yield row("afterstate_games_per_s", rates(work, settings.repeats), "games/s", note)


def bench_td(settings: Settings) -> Iterator[Row]:
    """Games learned backwards by TD(lambda), each position's weights updated in turn; on one core."""
    from learner.algorithms.sample_kinds import sample_kind
    from learner.learner import Learner
    from learner.replay.columns import SampleColumns
    from learner.weight_store import WeightStore

    job, records = _td_job(settings), _afterstate_play(settings).round(0.0, 0)
    assert records is not None
    samples = sample_kind(job.algorithm).of(records)

    class Again:
        """A source of the same games, over and over."""

        def sample(self, n_batches: int, batch: int) -> SampleColumns:
            """Return all of them."""
            return samples

    learner = Learner(
        config=job.learner,
        algorithm=job.algorithm,
        network=job.network,
        game=settings.game,
        source=Again(),
        sink=WeightStore(),
        seed=0,
    )
    note = f"{settings.game.name}, games of {samples.positions / len(samples):.0f} positions, one core"
    learned = rates(lambda: learner.round(0.0, draws=1).samples, settings.repeats)
    yield row("td_games_per_s", learned, "games/s", note)


def _td_job(settings: Settings) -> JobConfig:
    return default_job(settings.size, "network=patterns", "algorithm=td", "actors=afterstate", "learner=td")


def _afterstate_play(settings: Settings) -> AfterstatePlay:
    from actors.afterstate import AfterstatePlay
    from actors.config import AfterstateActorConfig
    from reversi.model.evaluate import open_evaluator

    actors = _td_job(settings).actors
    assert isinstance(actors, AfterstateActorConfig), f"the job plays by afterstates, got {actors.kind!r}"
    return AfterstatePlay(settings.game, actors, open_evaluator(pattern_weights(settings)), 0)
