"""Masks become planes as `write_planes` makes them, in the layout that convolutions like."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reversi.games.planes import PLANES, write_masks, write_planes
from reversi.games.rules import GAMES
from reversi.model.torch_network import FoldedNetwork, square_bits, unpack_planes
from tests.reversi.games import oracle
from tests.reversi.model.samples import STACKS, positions, weights


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("count", [0, 1, 100])
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_unpacked_masks_are_the_planes(game, count, precision):
    own, opp = oracle.scattered(game, count, seed=3)
    if count == 100 and game.size == 8:
        assert (own >> np.uint64(63)).any(), "a mask with bit 63 set is a negative number to torch"
    masks, planes = np.zeros((count, PLANES), np.uint64), np.zeros((count, PLANES, game.size, game.size), np.float32)
    write_masks(game.id, own, opp, masks)
    write_planes(game.id, own, opp, planes)
    unpacked = unpack_planes(torch.from_numpy(masks.view(np.int64)), square_bits(game.size), game.size, precision)
    assert unpacked.dtype == precision
    assert unpacked.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_array_equal(unpacked.float().numpy(), planes)


def test_every_activation_of_the_tower_stays_channels_last(monkeypatch):
    game = GAMES["reversi6"]
    own, opp = positions(game, 5)
    masks = np.zeros((5, PLANES), np.uint64)
    write_masks(game.id, own, opp, masks)
    seen = []
    plain = torch.nn.functional.conv2d

    def watched(features, weight, bias, padding):
        seen.append(features.is_contiguous(memory_format=torch.channels_last))
        assert weight.is_contiguous(memory_format=torch.channels_last)
        return plain(features, weight, bias, padding=padding)

    monkeypatch.setattr(torch.nn.functional, "conv2d", watched)
    network = FoldedNetwork(weights(game), torch.device("cpu"), "bf16")
    logits, outlook = network(torch.from_numpy(masks.view(np.int64)))
    assert seen == [True] * 8
    assert (logits.dtype, outlook.dtype) == (torch.float32, torch.float32)


def test_opening_a_network_draws_no_random_numbers():
    """In a serial run the learner is in the same process, and its own draws shall not depend on who plays."""
    opened = weights(GAMES["reversi6"], config=STACKS["2x2, dense"])
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    FoldedNetwork(opened, torch.device("cpu"), "float32")
    assert torch.rand(3).tolist() == expected.tolist()
