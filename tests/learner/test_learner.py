"""The learner in rounds: what it draws, when it publishes, and that a resumed one is the uninterrupted one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learner.algorithms.config import QTableConfig
from learner.algorithms.reports import LOSSES, AlphaZeroLosses
from learner.learner import Learner
from learner.replay.columns import SampleColumns
from reversi.errors import ConfigError, CorruptFileError, IncompatibleModelError
from reversi.games.rules import GAMES
from reversi.model.config import TableConfig
from reversi.model.weights import Weights
from tests.learner.jobs import ALGORITHM, CONFIG, DQN, GAME, NETWORK, TABLE, samples, stack, transitions
from tests.learner.learners import Pool, Shelf, learner

Q_TABLE = QTableConfig(name="q_table", learning_rate=0.5, discount=0.9)


def test_the_first_round_publishes_untrained_weights_even_without_samples() -> None:
    source, sink = Pool(0), Shelf()
    report = learner(source, sink).round(0.0)
    assert (report.steps, report.samples, report.step, report.version, report.losses) == (0, 0, 0, 0, None)
    assert (sink.versions, sink.taken[0][1]) == ([0], True)
    assert source.asked == [(2, 32)]


def test_a_learner_that_begins_with_a_model_publishes_it_as_version_0() -> None:
    before, sink = learner(Pool(4), Shelf()), Shelf()
    before.round(0.5)
    model = before.trainer.averaged(9)
    begun = learner(Pool(0), sink)
    begun.begin_from(model.to_bytes())
    assert begun.round(0.0).version == 0
    published = Weights.from_bytes(sink.taken[0][0], "shelf")
    for name, array in published.arrays.items():
        np.testing.assert_allclose(array, model.arrays[name], rtol=1e-6, atol=1e-7, err_msg=name)
    assert sink.taken[0][1], "it is the gate's first model"
    with pytest.raises(IncompatibleModelError, match="expected a model for reversi6, got version 9 for reversi4"):
        learner(Pool(0), Shelf(), GAMES["reversi6"]).begin_from(model.to_bytes())


def test_a_round_trains_until_the_source_is_empty_and_reports_means() -> None:
    source, sink = Pool(4), Shelf()
    report = learner(source, sink).round(0.5)
    assert (report.steps, report.samples, report.step) == (8, 256, 8)
    assert isinstance(report.losses, AlphaZeroLosses)
    assert 1.0 < report.losses.policy + report.losses.value < 5.0
    assert report.losses.summary.startswith("policy ")
    assert report.gradient_norm > 0
    assert report.training_s > 0


def test_a_round_ends_when_its_time_is_over_at_the_end_of_a_chunk() -> None:
    report = learner(Pool(10_000), Shelf(), round_s=0.05).round(0.0)
    assert report.steps % 2 == 0
    assert 2 <= report.steps < 2000


def test_a_round_of_so_many_draws_looks_at_no_clock() -> None:
    made = learner(Pool(5), Shelf(), round_s=1e-9)
    assert [made.round(0.0, draws=2).steps for _ in range(4)] == [4, 4, 2, 0]


def test_weights_go_out_every_so_many_steps_and_some_to_the_gate() -> None:
    sink = Shelf()
    made = learner(Pool(7), sink)
    made.round(0.0)
    assert sink.versions == [0, 1, 2, 3, 4]  # steps 0, 3, 6, 9, 12 of 14
    assert [candidate for _, candidate in sink.taken] == [True, False, True, False, True]
    made.offer_candidate()
    assert (sink.versions[-1], sink.taken[-1][1]) == (5, True)
    assert len({data for data, _ in sink.taken}) == 6


def test_candidates_of_a_long_run_are_further_and_further_apart() -> None:
    sink = Shelf()
    learner(Pool(45), sink, candidate_growth=0.5).round(0.0)  # 90 steps, a publication every 3, a candidate every 6
    assert [3 * number for number, (_, candidate) in enumerate(sink.taken) if candidate] == [
        0,
        6,
        12,
        18,
        24,
        36,
        54,
        78,
    ]


def test_a_resumed_learner_is_the_uninterrupted_one() -> None:
    made = learner(Pool(3), Shelf())
    made.round(0.1)
    state = made.state()
    for chunk in (3, 4):
        made._source = Pool(1, chunk)
        made.round(0.2)
    again = learner(Pool(0), Shelf())
    again.restore(state)
    for chunk in (3, 4):
        again._source = Pool(1, chunk)
        again.round(0.2)
    assert again.state() == made.state()


@pytest.mark.parametrize("prefetch", [1, 2, 50])
def test_prefetching_changes_no_bit(prefetch: int) -> None:
    made, sink = [], []
    for ahead in (0, prefetch):
        sink.append(Shelf())
        made.append(learner(Pool(3), sink[-1], prefetch=ahead))
        made[-1].round(0.1)
        made[-1]._source = Pool(4, 3)
        made[-1].round(0.2)
    assert made[0].state() == made[1].state()
    assert sink[0].taken == sink[1].taken
    assert made[0].trainer.step_count == 14


def test_what_is_drawn_ahead_is_trained_on_in_the_same_round() -> None:
    source = Pool(10_000)
    report = learner(source, Shelf(), round_s=0.05, prefetch=3).round(0.0)
    assert report.samples == source.seed * 2 * 32 == report.steps * 32


@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_error_of_the_source_is_raised_after_the_steps_before_it(prefetch: int) -> None:
    made = learner(Pool(2, breaks=True), Shelf(), prefetch=prefetch)
    with pytest.raises(CorruptFileError, match="the replay is gone"):
        made.round(0.0)
    assert made.trainer.step_count == 4


def test_samples_drawn_but_not_handed_out_are_part_of_the_state() -> None:
    """They are trained on first, whether the learner was resumed in between or not."""
    states = []
    for resumed in (False, True):
        made = learner(Pool(2), Shelf())
        made.round(0.1)
        for seed in (3, 4):
            made.hold(samples(64, seed))
        if resumed:
            state = made.state()
            made = learner(Pool(0), Shelf())
            made.restore(state)
        made._source = Pool(1, 4)
        report = made.round(0.2)
        assert (report.samples, report.step) == (3 * 64, 10)
        states.append(made.state())
    plain = learner(Pool(2), Shelf())
    plain.round(0.1)
    plain._source = Pool(3, 2)
    plain.round(0.2)
    assert states[0] == states[1] == plain.state()


def test_a_resumed_learner_hands_out_the_version_it_had_published() -> None:
    sink = Shelf()
    made = learner(Pool(4), sink)
    made.round(0.0)
    heard = Shelf()
    again = learner(Pool(0), heard)
    again.restore(made.state())
    again.round(0.0)
    assert heard.taken == [(sink.taken[-1][0], False)]


class Decisions:
    """A `BatchSource` of so many chunks of transitions."""

    def __init__(self, game: str, chunks: int, first: int = 0) -> None:
        self.game, self.left, self.seed = game, chunks, first

    def sample(self, n_batches: int, batch: int) -> SampleColumns | None:
        if not self.left:
            return None
        self.left, self.seed = self.left - 1, self.seed + 1
        return transitions(n_batches * batch, self.seed, self.game)


ACTION_VALUES: dict[str, dict[str, Any]] = {
    "dqn": {"config": CONFIG, "algorithm": DQN, "network": stack(), "game": GAMES["tictactoe"]},
    "q_table": {"config": TABLE, "algorithm": Q_TABLE, "network": TableConfig(), "game": GAMES["tictactoe"]},
}


@pytest.mark.parametrize("kind", ACTION_VALUES)
def test_action_values_are_learned_in_rounds_and_a_resumed_learner_is_the_uninterrupted_one(kind: str) -> None:
    def made(chunks: int, sink: Shelf, first: int = 0) -> Learner:
        source = Decisions("tictactoe", chunks, first)
        return Learner(source=source, sink=sink, seed=7, **ACTION_VALUES[kind])

    whole, sink = made(4, Shelf()), Shelf()
    report = whole.round(0.3)
    assert (report.steps, report.samples, report.finished, report.validation) == (8, 256, False, None)
    assert isinstance(report.losses, LOSSES[kind])
    assert report.losses.total > 0
    assert report.losses.summary.startswith("loss ")
    part = made(2, Shelf())
    part.round(0.3)
    part.hold(transitions(64, 3, "tictactoe"))
    again = made(1, sink, 3)
    again.restore(part.state())
    again.round(0.3)
    assert again.state() == whole.state()
    assert Weights.from_bytes(sink.taken[-1][0], "shelf").network == ACTION_VALUES[kind]["network"]


def test_one_algorithm_is_not_resumed_with_another() -> None:
    states = {}
    for kind, parts in ACTION_VALUES.items():
        states[kind] = Learner(source=Pool(0), sink=Shelf(), seed=7, **parts).state()
    for kind, parts in ACTION_VALUES.items():
        other = next(name for name in ACTION_VALUES if name != kind)
        made = Learner(source=Pool(0), sink=Shelf(), seed=7, **parts)
        with pytest.raises(CorruptFileError, match=f"expected {kind} on tictactoe, got {other} on tictactoe"):
            made.restore(states[other])


def test_a_network_that_the_algorithm_cannot_train_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^network must be a table for algorithm=q_table"):
        Learner(config=CONFIG, algorithm=Q_TABLE, network=NETWORK, game=GAME, source=Pool(0), sink=Shelf(), seed=7)


def test_a_state_of_another_game_or_damaged_is_refused() -> None:
    state = learner(Pool(1), Shelf()).state()
    with pytest.raises(CorruptFileError, match="expected alphazero on reversi6, got alphazero on reversi4"):
        learner(Pool(0), Shelf(), GAMES["reversi6"]).restore(state)
    with pytest.raises(CorruptFileError):
        learner(Pool(0), Shelf()).restore(state[:-100])


def test_versions_go_on_behind_those_of_the_registry() -> None:
    old, sink = learner(Pool(0), Shelf()), Shelf()
    old.round(0.0)
    resumed = Learner(
        config=CONFIG,
        algorithm=ALGORITHM,
        network=NETWORK,
        game=GAME,
        source=Pool(0),
        sink=sink,
        seed=7,
        newest=50,
    )
    resumed.restore(old.state())
    resumed.offer_candidate()
    assert sink.versions == [51]
