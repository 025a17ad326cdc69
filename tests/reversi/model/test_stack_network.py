"""Stacks of layers as they are trained: shapes, padding, dropout, agents; what leaves nothing of a board is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.games.rules import GAMES, game_named
from reversi.model.config import StackConfig, TableConfig
from reversi.model.network import build_network, fold
from reversi.model.stack_network import StackNetwork
from reversi.model.weights import Weights, array_shapes
from tests.reversi.model.samples import SMALL, STACKS, planes_of, stack

EVERY_STACK = pytest.mark.parametrize("config", STACKS.values(), ids=STACKS)
GAME = game_named("reversi6")


@EVERY_STACK
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
@pytest.mark.parametrize("batch", [0, 1, 5])
def test_every_action_gets_a_number_and_the_pass_gets_0(config, game, batch):
    out = stack(game, config)(planes_of(game, batch))
    assert (out.shape, out.dtype) == ((batch, game.actions), torch.float32)
    assert (out[:, -1] == 0).all()
    if batch == 5:
        assert out[:, :-1].std() > 0.1


@EVERY_STACK
def test_the_arrays_of_a_stack_are_its_parameters(config):
    made = stack(GAME, config).to(memory_format=torch.channels_last)
    folded = Weights.from_bytes(fold(made, GAME, 3).to_bytes(), "here")
    assert (folded.version, folded.network) == (3, config)
    assert {name: array.shape for name, array in folded.arrays.items()} == array_shapes(config, GAME.size)
    other = StackNetwork(config, GAME.size).eval()
    other.load_state_dict({name: torch.from_numpy(array) for name, array in folded.arrays.items()})
    planes = planes_of(GAME, 9)
    torch.testing.assert_close(other(planes), made(planes), atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(1)
    again = StackNetwork(config, GAME.size).eval()
    again.load_state_dict({name: torch.from_numpy(array) for name, array in folded.arrays.items()})
    torch.testing.assert_close(again(planes), other(planes))


def test_an_even_width_looks_below_and_to_the_right():
    config = dataclasses.replace(STACKS["2x2, dense"], filters=(1,), hidden=(), dropout=0.0)
    made = StackNetwork(config, 4)
    agent = made.agents[0]
    with torch.no_grad():
        agent.convolutions[0].weight.zero_()
        agent.convolutions[0].weight[0, 0] = torch.tensor([[1.0, 2.0], [4.0, 8.0]])
        agent.output.weight.fill_(1)
    planes = torch.zeros(1, 4, 4, 4)
    planes[0, 0, 2, 2] = planes[0, 0, 0, 3] = 1
    expected = [[0, 0, 2, 1], [0, 8, 4, 0], [0, 2, 1, 0], [0, 0, 0, 0]]
    assert made(planes)[0, :16].reshape(4, 4).tolist() == expected


def test_a_bias_of_every_square_is_added_to_that_square():
    made = stack(GAME, STACKS["3x3, bias of squares"])
    planes = planes_of(GAME, 3)
    before = made(planes)
    with torch.no_grad():
        made.agents[0].output.bias[7] += 0.5
    change = made(planes) - before
    np.testing.assert_allclose(change[:, 7].detach(), 0.5, atol=1e-6)
    assert change.abs().sum() == change[:, 7].abs().sum()


def test_two_agents_take_turns_by_the_discs_on_the_board():
    game, config = GAME, STACKS["2 agents, dense"]
    made, planes = stack(game, config), planes_of(game, 60)
    odd = planes[:, :2].sum((1, 2, 3)) % 2 == 1
    assert 10 < odd.sum() < 50
    alone = StackNetwork(dataclasses.replace(config, agents=1), game.size).eval()
    for agent, rows in ((0, ~odd), (1, odd)):
        alone.agents[0].load_state_dict(made.agents[agent].state_dict())
        torch.testing.assert_close(made(planes)[rows], alone(planes)[rows])
    made.train()(planes[~odd]).square().sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in made.agents[0].parameters())
    assert all(parameter.grad.abs().sum() == 0 for parameter in made.agents[1].parameters())


def test_a_network_of_two_planes_sees_discs_alone():
    made, planes = stack(GAME, STACKS["2 agents, dense"]), planes_of(GAME, 4)
    blank = planes.clone()
    blank[:, 2:] = 0
    torch.testing.assert_close(made(blank), made(planes))


def test_one_plane_has_a_number_for_either_sides_discs():
    made, planes = stack(GAME, STACKS["one plane, linear"]), planes_of(GAME, 4)
    seen = []
    made.agents[0].convolutions[0].register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    made(planes)
    assert torch.equal(seen[0][:, 0], 2 * planes[:, 0] + planes[:, 1])


@pytest.mark.parametrize("hidden", [(), (5,)], ids=["then the output", "then a dense layer"])
def test_layers_at_every_square_are_applied_one_after_another_to_each_square(hidden):
    config = dataclasses.replace(STACKS["linear, then dense"], filters=(3,), hidden=hidden)
    made, planes = stack(GAME, config).double(), planes_of(GAME, 6).double()
    agent = made.agents[0]
    features = agent.convolutions[0](planes[:, : config.planes]).relu()
    for layer in agent.pointwise:
        features = torch.einsum("oi,birc->borc", layer.weight, features) + layer.bias[:, None, None]
    features = features.flatten(1)
    for layer in agent.hidden:
        features = layer(features).relu()
    expected, out = agent.output(features), made(planes)[:, :-1].double()
    torch.testing.assert_close(out, expected, rtol=1e-6, atol=1e-6)  # a network's answers are float32
    parameters = list(made.parameters())
    for got, wanted in zip(
        torch.autograd.grad(out.square().sum(), parameters),
        torch.autograd.grad(expected.square().sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)
        assert got.abs().sum() > 0


def test_two_agents_see_black_and_white_whoever_moves():
    made, planes = stack(GAME, STACKS["2 agents, signed"]), planes_of(GAME, 40)
    even = planes[:, :2].sum((1, 2, 3)) % 2 == 0
    black = torch.where(even[:, None, None], planes[:, 0] - planes[:, 1], planes[:, 1] - planes[:, 0])
    of_agents = made.of_agents(planes)
    for agent in (0, 1):
        torch.testing.assert_close(of_agents[:, agent, :-1], made.agents[agent](black[:, None]))
    mover = torch.where(even[:, None], of_agents[:, 0], of_agents[:, 1])
    torch.testing.assert_close(made(planes), mover)
    assert (of_agents[..., -1] == 0).all()


def test_dropout_is_for_training_alone():
    made, planes = stack(GAME, STACKS["3x3, bias of squares"]), planes_of(GAME, 10)
    torch.testing.assert_close(made(planes), made(planes))
    made.train()
    assert (made(planes) - made(planes)).abs().max() > 0.1
    mean = torch.stack([made(planes) for _ in range(30)]).mean(0)
    assert (mean - made.eval()(planes)).abs().mean() < 0.2


@EVERY_STACK
def test_an_untrained_stack_is_nearly_uniform_and_every_parameter_learns(config):
    torch.manual_seed(0)
    made, planes = StackNetwork(config, 6).train(), planes_of(GAME, 64)
    out = made(planes)
    assert 0 < out[:, :-1].std() < 0.2
    out.square().sum().backward()
    without = [name for name, p in made.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert without == []


@EVERY_STACK
def test_autocast_and_channels_last_change_little(config):
    made, planes = stack(GAME, config), planes_of(GAME, 8)
    expected = made(planes)
    made = made.to(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        out = made(planes.contiguous(memory_format=torch.channels_last))
    assert out.dtype == torch.float32
    assert (out - expected).abs().max() < 0.1


def test_activations_of_convolutions_stay_channels_last():
    made = stack(GAME, STACKS["2x2, dense"]).to(memory_format=torch.channels_last)
    seen = []
    for layer in made.agents[0].convolutions:
        layer.register_forward_hook(
            lambda _, __, out: seen.append(out.is_contiguous(memory_format=torch.channels_last))
        )
    made(planes_of(GAME, 4).contiguous(memory_format=torch.channels_last))
    assert seen == [True] * 3


def test_convolutions_that_leave_nothing_of_the_board_are_refused():
    config = dataclasses.replace(STACKS["no padding"], filters=(4, 4))
    assert StackNetwork(config, 6)(torch.zeros(1, 4, 6, 6)).shape == (1, 37)
    with pytest.raises(ConfigError, match="without padding leave nothing of a board of 4x4"):
        StackNetwork(config, 4)
    data = fold(stack(GAME, config), GAME, 0)
    small = Weights("reversi4", config, 0, data.arrays)
    with pytest.raises(IncompatibleModelError, match=r"here: network\.filters without padding leave nothing"):
        Weights.from_bytes(small.to_bytes(), "here")


def test_what_learns_by_gradients_is_built():
    assert build_network(SMALL, 6).config == SMALL
    config = STACKS["2x2, dense"]
    assert isinstance(config, StackConfig)
    assert build_network(config, 6).config == config
    with pytest.raises(ConfigError, match="must be dual_resnet or stack to learn by gradients, got table"):
        build_network(TableConfig(), 3)
