"""Training batches: equal to a slow twin, and a symmetry of the sample is the same symmetry of everything in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learner.batches import TrainingBatch, training_batch
from learner.replay.samples import Samples, samples_of
from reversi.games.planes import write_planes
from reversi.games.rules import GAMES, Game, legal_actions_mask
from tests.random_games import random_records


def some(name: str, count: int, seed: int = 3) -> Samples:
    samples = samples_of(random_records(name, 8, seed))
    return picked(samples, np.random.default_rng(seed).permutation(len(samples))[:count])


def picked(samples: Samples, rows: Any) -> Samples:
    return Samples(**{name: getattr(samples, name)[rows] for name in Samples.COLUMNS})


def squares(game: Game, mask: int) -> np.ndarray:
    """A mask as an N by N array of 0 and 1."""
    return np.array([[mask >> (8 * row + col) & 1 for col in range(game.size)] for row in range(game.size)])


def arrays(batch: TrainingBatch) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in batch.tensors().items()}


def turned(grid: np.ndarray, s: int) -> np.ndarray:
    """Symmetry `s` of the last two axes, as `games.symmetry` words it."""
    grid = grid.swapaxes(-1, -2) if s & 4 else grid
    grid = grid[..., ::-1, :] if s & 2 else grid
    return grid[..., :, ::-1] if s & 1 else grid


def turned_policy(policy: np.ndarray, s: int) -> np.ndarray:
    """Symmetry `s` of policies [B, A]; the pass stays."""
    size = int((policy.shape[1] - 1) ** 0.5)
    board = turned(policy[:, :-1].reshape(-1, size, size), s)
    return np.concatenate([board.reshape(len(policy), -1), policy[:, -1:]], axis=1)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("s", range(8))
def test_one_symmetry_turns_planes_policy_owner_and_legal_mask_alike(name: str, s: int) -> None:
    game, samples = GAMES[name], some(name, 40)
    plain = arrays(training_batch(game, samples, np.zeros(len(samples), np.int64), 0.2))
    image = arrays(training_batch(game, samples, np.full(len(samples), s), 0.2))
    np.testing.assert_array_equal(image["planes"], turned(plain["planes"], s))
    np.testing.assert_array_equal(image["owner"], turned(plain["owner"], s))
    np.testing.assert_array_equal(image["policy"], turned_policy(plain["policy"], s))
    np.testing.assert_array_equal(image["legal"], turned_policy(plain["legal"], s))
    for same in ("wdl", "margin", "policy_weight"):
        np.testing.assert_array_equal(image[same], plain[same])


@pytest.mark.parametrize("name", GAMES)
def test_planes_and_legal_mask_are_those_of_the_turned_position(name: str) -> None:
    """Read the turned position off the first two planes; the rules must say the rest of it themselves."""
    game, samples = GAMES[name], some(name, 60)
    symmetry = np.random.default_rng(0).integers(0, 8, len(samples))
    batch = arrays(training_batch(game, samples, symmetry))
    bits = np.array([[1 << (8 * r + c) for c in range(game.size)] for r in range(game.size)], np.uint64)
    discs = batch["planes"][:, :2].astype(np.uint64) * bits
    own, opp = discs.sum(axis=(2, 3), dtype=np.uint64).T
    planes, legal = np.empty_like(batch["planes"]), np.empty_like(batch["legal"])
    write_planes(game.id, own.copy(), opp.copy(), planes)
    legal_actions_mask(game.id, own.copy(), opp.copy(), legal)
    np.testing.assert_array_equal(batch["planes"], planes)
    np.testing.assert_array_equal(batch["legal"], legal)
    np.testing.assert_array_equal(batch["planes"][:, 2].reshape(len(samples), -1), batch["legal"][:, :-1])
    assert not batch["policy"][batch["legal"] == 0].any()


@pytest.mark.parametrize("name", GAMES)
def test_an_unturned_batch_equals_a_slow_twin(name: str) -> None:
    game, samples = GAMES[name], some(name, 40)
    batch = arrays(training_batch(game, samples, np.zeros(len(samples), np.uint8), 0.25))
    for b in range(len(samples)):
        np.testing.assert_array_equal(batch["planes"][b, 0], squares(game, int(samples.own[b])))
        np.testing.assert_array_equal(batch["planes"][b, 1], squares(game, int(samples.opp[b])))
        mine, theirs = squares(game, int(samples.final_own[b])), squares(game, int(samples.final_opp[b]))
        np.testing.assert_array_equal(batch["owner"][b], mine - theirs)
        visits = samples.policy[b].astype(float)
        np.testing.assert_allclose(batch["policy"][b], visits / max(visits.sum(), 1), rtol=1e-6)
        assert batch["policy_weight"][b] == samples.policy_weight[b]
        assert batch["margin"][b] == pytest.approx(int(samples.margin[b]) / game.squares)
        margin, share = int(samples.margin[b]), 0.25 * samples.policy_weight[b]
        result = np.array([margin > 0, margin == 0, margin < 0], float)
        value = float(samples.value[b])
        root = np.array([(1 + value) / 2, 0, (1 - value) / 2])
        np.testing.assert_allclose(batch["wdl"][b], (1 - share) * result + share * root, atol=1e-6)


def test_targets_are_distributions() -> None:
    samples = some("reversi8", 200)
    batch = arrays(training_batch(GAMES["reversi8"], samples, np.arange(len(samples)) % 8, 0.2))
    np.testing.assert_allclose(batch["wdl"].sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(batch["policy"].sum(axis=1), samples.policy_weight, atol=1e-6)
    assert 0 < samples.policy_weight.mean() < 1


def test_the_expected_result_is_the_mix_of_result_and_root_value() -> None:
    samples = some("reversi6", 100)
    wdl = training_batch(GAMES["reversi6"], samples, np.zeros(100, np.int64), 0.2).wdl.numpy()
    share = 0.2 * samples.policy_weight
    expected = (1 - share) * np.sign(samples.margin) + share * samples.value.astype(np.float64)
    np.testing.assert_allclose(wdl[:, 0] - wdl[:, 2], expected, atol=1e-6)


def test_owner_and_margin_tell_the_same_game() -> None:
    game = GAMES["reversi6"]
    batch = arrays(training_batch(game, some("reversi6", 100), np.arange(100) % 8))
    np.testing.assert_allclose(batch["owner"].sum(axis=(1, 2)), batch["margin"] * game.squares, atol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 2, 33])
def test_a_sample_does_not_depend_on_its_batch(count: int) -> None:
    game, samples = GAMES["reversi6"], some("reversi6", 33)
    symmetry = np.random.default_rng(1).integers(0, 8, 33)
    whole = arrays(training_batch(game, samples, symmetry, 0.1))
    part = training_batch(game, samples[:count], symmetry[:count], 0.1)
    assert len(part) == count
    for name, array in arrays(part).items():
        np.testing.assert_array_equal(array, whole[name][:count])


def test_read_only_samples_give_the_same_batch() -> None:
    """As they come out of Ray's object store."""
    samples, frozen = some("reversi6", 20), some("reversi6", 20)
    for name in Samples.COLUMNS:
        getattr(frozen, name).flags.writeable = False
    symmetry = np.arange(20) % 8
    expected = arrays(training_batch(GAMES["reversi6"], samples, symmetry))
    for name, array in arrays(training_batch(GAMES["reversi6"], frozen, symmetry)).items():
        np.testing.assert_array_equal(array, expected[name])
