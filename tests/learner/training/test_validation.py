"""Validation games: what a look says, the best network, early stopping, and that a resumed learner is the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learner.algorithms.config import SupervisedConfig
from learner.algorithms.reports import FullValidation, SupervisedLosses
from learner.learner import Learner
from learner.replay.columns import SampleColumns
from learner.replay.samples import samples_of
from learner.training.trainer import Trainer
from learner.training.validation import Validation
from reversi.errors import CorruptFileError
from reversi.model.weights import Weights
from tests.learner.jobs import CONFIG, GAME, moves, stack
from tests.learner.learners import Shelf

ALGORITHM = SupervisedConfig(name="supervised", value_weight=0.0, validation_every_steps=2, patience=3)
NETWORK = stack(head="policy", filters=(16,), hidden=(), square_bias=True, planes=2)
KEPT = moves(40, seed=1)


class Moves:
    """A `BatchSource` without end: a few games, again and again."""

    def __init__(self) -> None:
        self._samples, self._drawn = samples_of(moves(4, seed=2)), 0

    def sample(self, n_batches: int, batch: int) -> SampleColumns:
        self._drawn += 1
        rows = np.random.default_rng(self._drawn).integers(0, len(self._samples), n_batches * batch)
        return self._samples.take(rows)


def learner(sink: Shelf, algorithm: SupervisedConfig = ALGORITHM, round_s: float = 0.05) -> Learner:
    config = replace(CONFIG, ema_decay=0.0, weight_decay=0.0, warmup_steps=0, learning_rate=0.02, round_s=round_s)
    return Learner(
        config=config,
        algorithm=algorithm,
        network=NETWORK,
        game=GAME,
        source=Moves(),
        sink=sink,
        seed=7,
        validation=KEPT,
    )


def test_a_look_of_a_network_that_knows_nothing() -> None:
    """Nearly equal logits: the loss is the mean logarithm of the number of legal moves."""
    validation = Validation(KEPT, ALGORITHM, Trainer(GAME, NETWORK, CONFIG, ALGORITHM, 7))
    validation.validate_if_due(1)
    assert validation.newest is None
    validation.validate_if_due(2)
    report = validation.newest
    assert report is not None
    samples = samples_of(KEPT)
    choices = (samples.policy_weight == 1).nonzero()[0]
    assert report.positions == len(choices)
    assert 0.8 < report.loss < 1.4
    assert 0.1 < report.top1 < 0.7 < report.top5 <= 1
    assert report.best_loss == report.loss
    assert report.summary.startswith("loss ")


def test_games_learned_by_heart_end_the_training_and_the_best_network_is_the_candidate() -> None:
    sink = Shelf()
    made = learner(sink, round_s=60)
    report = made.round(0.0)
    assert report.finished
    assert report.validation is not None
    assert report.validation.looks_since_best == 3
    assert report.validation.loss > report.validation.best_loss
    assert isinstance(report.losses, SupervisedLosses)
    again = made.round(0.0)
    assert (again.steps, again.finished) == (0, True)
    offered = made.offer_candidate()
    assert offered.done
    assert offered.report is not None
    assert made.offer_candidate() == offered
    assert offered.report.loss == pytest.approx(report.validation.best_loss, rel=1e-5)
    last = Weights.from_bytes(sink.taken[-1][0], "test")
    newest = made.trainer.averaged(0)
    assert any((last.arrays[name] != newest.arrays[name]).any() for name in newest.arrays)
    best = [Weights.from_bytes(data, "test") for data, candidate in sink.taken if candidate][-2]
    assert all((last.arrays[name] == best.arrays[name]).all() for name in last.arrays) == (best.version != 0)


def test_without_patience_training_goes_on() -> None:
    made = learner(Shelf(), replace(ALGORITHM, patience=None), round_s=0.1)
    assert ALGORITHM.patience is not None
    looks = 0
    while looks <= ALGORITHM.patience:
        report = made.round(0.0)
        assert not report.finished
        assert report.steps > 0
        looks = report.validation.looks_since_best if report.validation else 0


def test_a_resumed_learner_remembers_its_looks_and_its_best_network() -> None:
    made = learner(Shelf(), round_s=60)
    made.round(0.0)
    sink = Shelf()
    again = learner(sink)
    again.restore(made.state())
    report = again.round(0.0)
    assert (report.steps, report.finished) == (0, True)
    assert report.validation == made.round(0.0).validation
    assert again.state() == made.state()
    assert again.offer_candidate() == made.offer_candidate()
    best = Weights.from_bytes(sink.taken[-1][0], "test").arrays
    theirs = made._validation.candidate(0) if made._validation is not None else None
    assert theirs is not None
    assert all((best[name] == theirs.arrays[name]).all() for name in best)


def test_a_validation_in_parts_gives_what_one_call_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it goes on in another process; its weights are offered when it is over, and not before."""
    monkeypatch.setattr("learner.training.validation.BATCH", 64)
    sink = Shelf()
    whole, made = learner(Shelf(), round_s=60), learner(sink, round_s=60)
    for each in (whole, made):
        each.round(0.0)
    made.config = replace(made.config, round_s=1e-6)
    taken, parts = len(sink.taken), []
    while not (answer := made.offer_candidate()).done:
        parts.append(answer.positions)
        assert answer.report is None
        assert len(sink.taken) == taken
        successor = learner(sink, round_s=1e-6)
        successor.restore(made.state())
        made = successor
    assert answer == whole.offer_candidate()
    assert answer.report is not None
    assert answer.report.positions == answer.all_positions
    assert parts == list(range(64, answer.positions, 64))
    assert [candidate for _, candidate in sink.taken[taken:]] == [True]


def test_another_best_network_is_validated_from_the_first_position() -> None:
    made = learner(Shelf(), round_s=60)
    untrained = made.offer_candidate().report
    assert untrained is not None
    assert made._validation is not None
    made._validation.newest = replace(untrained, best_loss=float("inf"))  # so that the next one is better
    report = made.round(0.0).validation
    trained = made.offer_candidate().report
    assert trained is not None
    assert report is not None
    assert trained.loss == pytest.approx(report.best_loss, rel=1e-5)
    assert trained.loss != pytest.approx(untrained.loss, rel=1e-3)


def test_a_damaged_best_network_is_refused() -> None:
    validation = Validation(KEPT, ALGORITHM, Trainer(GAME, NETWORK, CONFIG, ALGORITHM, 7))
    validation.validate_if_due(2)
    arrays = validation.arrays()
    del arrays[min(arrays)]
    with pytest.raises(CorruptFileError, match="another shape"):
        validation.restore(arrays, validation.state())


def test_no_kept_games_are_no_reason_to_stop() -> None:
    none = KEPT.select(np.zeros(len(KEPT), bool))
    validation = Validation(none, ALGORITHM, Trainer(GAME, NETWORK, CONFIG, ALGORITHM, 7))
    validation.validate_if_due(2)
    assert validation.newest is None
    assert validation.validate_candidate() == FullValidation()
    assert validation.candidate(1) is None
    assert not validation.finished


def test_only_a_better_network_is_a_new_best(monkeypatch: pytest.MonkeyPatch) -> None:
    validation = Validation(KEPT, ALGORITHM, Trainer(GAME, NETWORK, CONFIG, ALGORITHM, 7))
    losses = iter([3.0, 4.0, 2.0])
    monkeypatch.setattr(validation, "_evaluate", lambda *_: (next(losses), 0.0, 0.0))
    found = []
    for step in (2, 4, 6):
        validation.validate_if_due(step)
        found.append(validation.has_new_candidate)
        validation.candidate(step)
    assert found == [True, False, True]


def test_without_early_stopping_every_validated_network_is_the_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    validation = Validation(KEPT, replace(ALGORITHM, patience=None), Trainer(GAME, NETWORK, CONFIG, ALGORITHM, 7))
    losses = iter([3.0, 4.0, 2.0])
    monkeypatch.setattr(validation, "_evaluate", lambda *_: (next(losses), 0.0, 0.0))
    for step in (2, 4, 6):
        validation.validate_if_due(step)
        assert validation.has_new_candidate
        validation.candidate(step)
    assert not validation.finished
    assert validation.newest is not None
    assert validation.newest.best_loss == 2.0


@pytest.mark.parametrize(("place", "shares"), [(0, (1, 1)), (4, (0, 1)), (5, (0, 0))])
def test_top_5_are_five(place: int, shares: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learner.training.validation.ranks", lambda logits, batch: torch.full((len(logits),), place))
    validation = Validation(KEPT, ALGORITHM, Trainer(GAME, NETWORK, CONFIG, ALGORITHM, 7))
    validation.validate_if_due(2)
    assert validation.newest is not None
    assert (validation.newest.top1, validation.newest.top5) == shares
