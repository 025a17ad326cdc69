"""The trained network: shapes of its heads, gradients, and that folding keeps its answers."""

import numpy as np
import pytest
import torch

from reversi.games.rules import GAMES, game_named
from reversi.model.network import DualNetwork, build_network, calibrate, fold, unfold
from tests.reversi.model.samples import LINES, SMALL, STACKS, network, planes_of, weights


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
@pytest.mark.parametrize("batch", [0, 1, 5])
def test_heads_have_their_shapes_and_ranges(game, batch, config):
    size = game.size
    out = network(game, config=config)(planes_of(game, batch))
    shapes = [tuple(head.shape) for head in out]
    assert shapes == [(batch, game.actions), (batch, 3), (batch,), (batch, size, size)]
    assert (out.margin.abs() <= 1).all()
    assert (out.owner.abs() <= 1).all()


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_an_untrained_network_is_nearly_uniform_and_undecided(config):
    torch.manual_seed(0)
    out = DualNetwork(config, 6)(planes_of(game_named("reversi6"), 64))
    assert out.policy.std() < 0.1
    assert out.wdl.std() < 0.15
    assert out.margin.abs().max() < 0.3


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_channels_last_memory_changes_nothing(config):
    game = game_named("reversi6")
    made, planes = network(game, config=config), planes_of(game, 3)
    plain = made(planes)
    for one, other in zip(plain, made.to(memory_format=torch.channels_last)(planes), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_every_parameter_gets_a_gradient(config):
    made = DualNetwork(config, 4).train()
    out = made(planes_of(game_named("reversi4"), 16))
    sum(head.square().sum() for head in out).backward()
    without = [name for name, p in made.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert without == []


def test_a_folded_convolution_is_the_normed_one():
    made = network(game_named("reversi6"))
    arrays = fold(made, game_named("reversi6"), 0).arrays
    planes = torch.rand(4, 4, 6, 6)
    weight, bias = (torch.from_numpy(arrays[f"stem.{part}"]) for part in ("weight", "bias"))
    torch.testing.assert_close(torch.conv2d(planes, weight, bias, padding=1), made.stem(planes), atol=1e-5, rtol=1e-5)


def test_lines_begin_with_the_answers_of_the_network_without_them():
    planes = planes_of(game_named("reversi6"), 9)
    torch.manual_seed(0)
    plain = DualNetwork(SMALL, 6).eval()(planes)
    torch.manual_seed(0)
    for one, other in zip(DualNetwork(LINES, 6).eval()(planes), plain, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)


def test_a_folded_table_is_what_lines_add_to_the_normed_convolution():
    game = game_named("reversi6")
    made, planes = network(game, config=LINES), planes_of(game, 20)
    arrays = fold(made, game, 0).arrays
    assert arrays.keys() - fold(network(game), game, 0).arrays.keys() == {"lines.table"}
    rows = made.lines.rows(planes)
    sums = torch.from_numpy(arrays["lines.table"])[rows.long()].sum(2).view(20, 6, 6, -1).permute(0, 3, 1, 2)
    expected = made.stem(planes, made.lines(planes)) - made.stem(planes)
    assert sums.std() > 0.2
    torch.testing.assert_close(sums, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_folding_copies_so_that_training_may_go_on(config):
    made = network(game_named("reversi4"), config=config).to(memory_format=torch.channels_last)
    folded = fold(made, game_named("reversi4"), 3)
    before = {name: array.copy() for name, array in folded.arrays.items()}
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(1)
    assert folded.version == 3
    for name, array in folded.arrays.items():
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("config", [SMALL, LINES, *STACKS.values()])
def test_unfolded_weights_fold_to_themselves(config):
    before = weights("reversi6", 5, config=config)
    made = build_network(config, 6)
    unfold(made, before)
    after = fold(made, GAMES["reversi6"], 5)
    assert after.arrays.keys() == before.arrays.keys()
    for name, array in before.arrays.items():
        np.testing.assert_allclose(after.arrays[name], array, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("config", [SMALL, LINES])
def test_an_unfolded_network_answers_as_the_one_that_was_folded(config):
    """Calibrated, it does so in training mode too, on the batch that it was calibrated with."""
    game, planes = GAMES["reversi6"], planes_of(GAMES["reversi6"], 64)
    trained = network(game, 3, config)
    made = DualNetwork(config, 6)
    unfold(made, fold(trained, game, 0))
    with torch.no_grad():
        expected, unfolded = trained(planes), made.eval()(planes)
        calibrate(made, planes)
        assert made.training
        norms = [module for module in made.modules() if isinstance(module, torch.nn.BatchNorm2d)]
        spreads = torch.cat([norm.running_var for norm in norms])
        assert (spreads.min(), spreads.max()) != (spreads[0], spreads[0]), "it has measured"
        calibrated, in_training = made.eval()(planes), made.train()(planes)
    for name in ("policy", "wdl", "margin"):
        for answers in (unfolded, calibrated, in_training):
            torch.testing.assert_close(getattr(answers, name), getattr(expected, name), rtol=1e-4, atol=2e-4)
