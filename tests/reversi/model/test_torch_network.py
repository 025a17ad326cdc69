"""Masks become planes as `write_planes` makes them, in the layout that convolutions like."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reversi.games.planes import PLANES, write_masks, write_planes
from reversi.games.rules import GAMES
from reversi.model.network import fold
from reversi.model.torch_network import FoldedNetwork, square_bits, unpack_planes
from tests.reversi.games import oracle
from tests.reversi.model.samples import LINES, SMALL, STACKS, network, positions, weights


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


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_every_activation_of_the_tower_stays_channels_last(monkeypatch, config):
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
    opened = FoldedNetwork(weights(game, config=config), torch.device("cpu"), "bf16")
    logits, outlook = opened(torch.from_numpy(masks.view(np.int64)))
    assert seen == [True] * 8
    assert (logits.dtype, outlook.dtype) == (torch.float32, torch.float32)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("count", [0, 1, 50])
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_lines_are_looked_up_exactly_and_summed_in_the_precision_asked_for(game, count, precision):
    net = network(game, seed=4, config=LINES)
    own, opp = positions(game, count)
    masks, planes = np.zeros((count, PLANES), np.uint64), np.zeros((count, PLANES, game.size, game.size), np.float32)
    write_masks(game.id, own, opp, masks)
    write_planes(game.id, own, opp, planes)
    logits, _ = FoldedNetwork(fold(net, game, 0), torch.device("cpu"), precision)(
        torch.from_numpy(masks.view(np.int64))
    )
    with torch.inference_mode():
        expected = net(torch.from_numpy(planes)).policy
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4 if precision == "float32" else 0.1)


@pytest.mark.parametrize("config", [STACKS["2x2, dense"], LINES], ids=str)
def test_opening_a_network_draws_no_random_numbers(config):
    """In a serial run the learner is in the same process, and its own draws shall not depend on who plays."""
    opened = weights(GAMES["reversi6"], config=config)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    FoldedNetwork(opened, torch.device("cpu"), "float32")
    assert torch.rand(3).tolist() == expected.tolist()
