"""Networks without a value head behind an evaluator: their answers on every backend, and what action values mean."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
import torch

from reversi.errors import IncompatibleModelError
from reversi.games.planes import PLANES, write_planes
from reversi.games.position import Position
from reversi.games.rules import game_named, legal_actions_mask
from reversi.games.symmetry import SYMMETRIES, action_table, transform_masks
from reversi.model import machine
from reversi.model.action_values import Q_TEMPERATURE, judge_actions
from reversi.model.evaluate import open_evaluator
from reversi.model.network import fold
from tests.reversi.model.samples import STACKS, positions, stack, weights

TOLERANCE = {"float32": 1e-4, "bf16": 0.1}
"""Largest difference of a logit or an action value, which spread over 1 to 3.  Measured: 0.000002; 0.043."""

EVERY_STACK = pytest.mark.parametrize("config", STACKS.values(), ids=STACKS)
BOTH = pytest.mark.parametrize("backend", ["openvino", "torch"])
GAME = game_named("reversi6")
BATCH = 256


def truth(made, own, opp):
    """Return logits and values by the network as it is trained, by float32 torch."""
    planes = np.zeros((len(own), PLANES, made.size, made.size), np.float32)
    game = game_named(f"reversi{made.size}")
    write_planes(game.id, own, opp, planes)
    with torch.inference_mode():
        out = made(torch.from_numpy(planes)).numpy()
    if made.config.head == "policy":
        return out, np.zeros(len(own), np.float32)
    legal = np.zeros((len(own), game.actions), np.bool_)
    legal_actions_mask(game.id, own, opp, legal)
    return out / Q_TEMPERATURE, np.where(legal, out, -np.inf).max(1).clip(-1, 1)


def errors(made, answers, expected):
    """Return the largest difference of an output of the network and of a value."""
    scale = Q_TEMPERATURE if made.config.head == "q" else 1
    logits, value = (abs(answer - right).max() for answer, right in zip(answers, expected, strict=True))
    return np.array([logits * scale, value])


@EVERY_STACK
@BOTH
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_answers_agree_with_float32_torch_at_every_batch_size(backend, precision, config):
    if precision == "bf16" and not machine.cpu_has_bf16():
        pytest.skip("this CPU computes in float32 where bf16 is asked for")
    made = stack(GAME, config, seed=1)
    evaluator = open_evaluator(fold(made, GAME, 5), backend=backend, precision=precision, batch=BATCH)
    assert (evaluator.name, evaluator.precision, evaluator.version) == (backend, precision, 5)
    own, opp = positions(GAME, BATCH + 44)
    expected = truth(made, own, opp)
    worst = np.zeros(2)
    for count in (BATCH + 44, 0, 1, 7, BATCH):
        logits, value = evaluator(own[:count], opp[:count])
        assert logits.dtype == value.dtype == np.float32
        assert (logits.shape, value.shape) == ((count, GAME.actions), (count,))
        if count:
            worst = np.maximum(worst, errors(made, (logits, value), [array[:count] for array in expected]))
    assert (worst <= TOLERANCE[precision]).all(), f"outputs and values differ by {worst}"


@EVERY_STACK
@pytest.mark.parametrize("layout", ["boards", "lanes"])
@pytest.mark.parametrize("name", ["reversi4", "reversi8"])
def test_openvino_answers_alike_in_both_layouts_and_on_every_board(name, layout, config):
    from reversi.model.openvino_backend import OpenVinoBackend

    game = game_named(name)
    made = stack(game, config, seed=2)
    settings = {"precision": "float32", "layout": layout, "batch": 40, "threads": 1, "slots": 1}
    backend = OpenVinoBackend(fold(made, game, 1), **settings)
    own, opp = positions(game, 40)
    scale = Q_TEMPERATURE if config.head == "q" else 1
    expected = truth(made, own, opp)[0] * scale
    for count in (40, 1, 7):
        logits, outlook = backend.run(own[:count], opp[:count])
        np.testing.assert_allclose(logits, expected[:count], atol=1e-4)
        assert not outlook.any()


@EVERY_STACK
@BOTH
def test_slots_and_versions_are_kept_apart(backend, config):
    nets = [stack(GAME, config, seed=seed) for seed in (1, 2)]
    old, new = (fold(made, GAME, version) for version, made in enumerate(nets))
    own, opp = positions(GAME, 90)
    was, becomes = (truth(made, own, opp) for made in nets)
    evaluator = open_evaluator(old, backend=backend, precision="float32", batch=64, slots=2)
    masks = own[:64].copy(), opp[:64].copy()
    evaluator.submit(0, *masks)
    for mask in masks:
        mask[:] = 0  # the caller may use them again at once
    evaluator.submit(1, own[64:], opp[64:])
    prepared = evaluator.prepare(new)
    evaluator.take(prepared)
    assert errors(nets[0], evaluator.collect(0), [array[:64] for array in was]).max() < 1e-4
    assert errors(nets[0], evaluator.collect(1), [array[64:] for array in was]).max() < 1e-4
    assert errors(nets[1], evaluator(own, opp), becomes).max() < 1e-4
    assert errors(nets[1], was, becomes)[0] > 0.5, "the two versions should differ"


@EVERY_STACK
@BOTH
def test_a_version_is_swapped_in_a_fifth_of_a_second(backend, config):
    versions = [weights(GAME, version, seed=version, config=config) for version in range(4)]
    evaluator = open_evaluator(versions[0], backend=backend, precision="float32", batch=BATCH)
    evaluator(*positions(GAME, BATCH))

    def took_s(version):
        start_s = time.perf_counter()
        evaluator.load(version)
        return time.perf_counter() - start_s

    assert any(took_s(version) < 0.2 for version in 30 * versions), "at the latest when nothing else runs"


def test_another_stack_is_not_another_version():
    evaluator = open_evaluator(weights(GAME, config=STACKS["2x2, dense"]), batch=4)
    with pytest.raises(IncompatibleModelError, match=r"4-8-16, dense 32-32, got 2 x \(dense 16-16\)"):
        evaluator.load(weights(GAME, 1, config=STACKS["2 agents, dense"]))


@BOTH
def test_a_margin_has_no_share_where_there_is_none(backend):
    config = STACKS["2x2, dense"]
    made = stack(GAME, config)
    own, opp = positions(GAME, 9)
    evaluator = open_evaluator(fold(made, GAME, 0), backend=backend, precision="float32", batch=9, margin_weight=0.25)
    np.testing.assert_allclose(evaluator(own, opp)[1], 0.75 * truth(made, own, opp)[1], atol=1e-4)


def test_the_value_is_the_best_legal_action_s_and_no_more_than_a_win():
    start = Position.start("reversi4")
    own, opp = (np.array([mask] * 3, np.uint64) for mask in (start.own, start.opp))
    logits, outlook = np.full((3, 17), 0.9, np.float32), np.full((3, 2), 7, np.float32)
    legal = start.legal_actions()
    logits[:, legal] = [[-0.5, 0.25, -0.75, 0.125], [-2, -1.5, -3, -4], [0, 1.5, 0, 0]]
    raw = logits.copy()
    judge_actions(start.game.id, own, opp, logits, outlook)
    assert outlook.tolist() == [[0.25, 0], [-1, 0], [1, 0]]
    np.testing.assert_allclose(logits, raw / Q_TEMPERATURE, rtol=1e-6)


def test_where_only_a_pass_is_left_nothing_was_learned():
    rng = np.random.default_rng(3)
    position = Position.start("reversi4")
    while position.legal_moves() != ["pass"]:
        position = Position.start("reversi4") if position.is_over else position
        position = position.play(int(rng.choice(position.legal_actions())))
    own, opp = np.array([position.own], np.uint64), np.array([position.opp], np.uint64)
    logits, outlook = np.full((1, 17), 0.9, np.float32), np.ones((1, 2), np.float32)
    judge_actions(position.game.id, own, opp, logits, outlook)
    assert outlook.tolist() == [[0, 0]]


@BOTH
@pytest.mark.parametrize("symmetry", range(SYMMETRIES))
def test_what_sees_one_square_at_a_time_turns_with_the_board(backend, symmetry):
    config = dataclasses.replace(STACKS["2x2, dense"], width=1, hidden=())
    evaluator = open_evaluator(weights(GAME, config=config), backend=backend, precision="float32", batch=64)
    own, opp = positions(GAME, 64)
    logits, value = (answer.copy() for answer in evaluator(own, opp))
    assert value.std() > 0.05
    turned_logits, turned_value = evaluator(*(transform_masks(GAME.id, side, symmetry) for side in (own, opp)))
    np.testing.assert_allclose(turned_logits[:, action_table(GAME)[symmetry]], logits, atol=1e-4)
    np.testing.assert_allclose(turned_value, value, atol=1e-5)
