"""Batches under way: every slot gets its own answers, and versions change between and under them without a stop."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from reversi.errors import IncompatibleModelError
from reversi.games.rules import game_named
from reversi.model.evaluate import open_evaluator
from tests.configs import resnet
from tests.reversi.model.samples import LINES, SMALL, positions, weights

BOTH = pytest.mark.parametrize("backend", ["openvino", "torch"])
GAME = game_named("reversi6")
BATCH = 64
OLD, NEW = weights(GAME, 1, seed=1), weights(GAME, 2, seed=2)


def opened(backend, version=OLD, **settings):
    return open_evaluator(version, backend=backend, **{"precision": "float32", "batch": BATCH, "slots": 2} | settings)


def expected(backend, version, own, opp):
    return [answer.copy() for answer in opened(backend, version, slots=1)(own, opp)]


def same(answers, truth):
    return all(np.allclose(answer, right, atol=1e-5) for answer, right in zip(answers, truth, strict=True))


@BOTH
def test_each_slot_gets_its_own_answers_at_every_size(backend):
    evaluator = opened(backend, slots=3)
    own, opp = positions(GAME, 400)
    truth = expected(backend, OLD, own, opp)
    rng = np.random.default_rng(0)
    waiting = {}
    for _ in range(60):
        slot = int(rng.integers(3))
        if slot in waiting:
            part = waiting.pop(slot)
            assert same(evaluator.collect(slot), [answer[part] for answer in truth])
        else:
            start = int(rng.integers(300))
            part = slice(start, start + int(rng.choice([BATCH, BATCH, 1, 20, 63])))
            masks = own[part].copy(), opp[part].copy()
            evaluator.submit(slot, *masks)
            for mask in masks:
                mask[:] = 0  # the caller may use them again at once
            waiting[slot] = part


@BOTH
@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_a_version_taken_answers_from_the_next_submit_on(backend, config):
    own, opp = positions(GAME, BATCH)
    first, second = (weights(GAME, version, seed=version, config=config) for version in (1, 2))
    old, new = expected(backend, first, own, opp), expected(backend, second, own, opp)
    assert not same(old, new)
    evaluator = opened(backend, first)
    evaluator.submit(0, own, opp)
    evaluator.submit(1, own, opp)
    assert same(evaluator.collect(0), old)
    prepared = evaluator.prepare(second)
    assert (prepared.version, evaluator.version) == (2, 1)
    evaluator.submit(0, own, opp)
    evaluator.take(prepared)
    assert evaluator.version == 2
    assert same(evaluator.collect(1), old)
    evaluator.submit(1, own, opp)
    assert same(evaluator.collect(0), old), "this batch was under way before the change"
    evaluator.submit(0, own, opp)
    for slot in (0, 1):
        assert same(evaluator.collect(slot), new)
    assert same(evaluator(own, opp), new)


@BOTH
def test_play_goes_on_while_versions_are_prepared_in_another_thread(backend):
    own, opp = positions(GAME, BATCH)
    truth = [expected(backend, version, own, opp) for version in (OLD, NEW)]
    evaluator = opened(backend)
    asked, prepared = threading.Semaphore(0), []
    judged = {1: 0, 2: 0}  # batches answered by each version
    during = 0  # of them, while another version was being prepared

    def prepare():
        for turn in range(6):
            asked.acquire()
            prepared.append(evaluator.prepare((NEW, OLD)[turn % 2]))

    other = threading.Thread(target=prepare)
    other.start()
    for _ in range(6):
        evaluator.submit(0, own, opp)
        asked.release()
        done = False
        while not done:
            done = bool(prepared)
            evaluator.submit(1, own, opp)
            for slot in (0, 1):
                assert same(evaluator.collect(slot), truth[evaluator.version - 1])
                judged[evaluator.version] += 1
                during += not prepared
                if slot == 0:
                    evaluator.submit(0, own, opp)
        evaluator.collect(0)
        evaluator.take(prepared.pop())
    other.join()
    assert evaluator.version == 1
    assert min(judged.values()) >= 6
    assert during >= 1 or backend == "torch", "torch has a version ready before a batch is done"


@BOTH
def test_preparing_another_game_or_network_is_refused_and_the_old_one_stays(backend):
    evaluator = opened(backend)
    with pytest.raises(IncompatibleModelError, match="reversi6, got version 2 for reversi8"):
        evaluator.prepare(weights("reversi8", 2))
    with pytest.raises(IncompatibleModelError, match="2 blocks x 16 channels, got 1 blocks x 8"):
        evaluator.prepare(weights(GAME, 3, config=resnet(blocks=1, channels=8)))
    assert evaluator.version == 1
    assert same(evaluator(*positions(GAME, 3)), expected(backend, OLD, *positions(GAME, 3)))
