"""Deep Q-learning: batches of transitions, targets worked out slowly, the target network, and a game learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from learner.algorithms.config import DqnConfig
from learner.algorithms.dqn import Dqn, TransitionBatch, transition_batch
from learner.algorithms.reports import DqnLosses, losses_of
from learner.replay.transitions import TargetConfig
from learner.training.trainer import Trainer
from reversi.games.planes import write_planes
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.games.symmetry import action_table, transform_mask
from reversi.model.config import StackConfig
from reversi.model.network import fold
from reversi.model.stack_network import StackNetwork
from reversi.model.torch_backend import TorchBackend
from tests.learner.jobs import CONFIG, DQN, GAME, RULE, stack, transitions, true_value

CONVOLUTIONS = stack(filters=(4, 4), width=2, padding="valid", hidden=(16,), planes=4)
CPU = torch.device("cpu")


def batch(count: int, seed: int = 5) -> TransitionBatch:
    return transition_batch(GAME, transitions(count, seed), np.zeros(count, np.int64))


def trainer(network: StackConfig = CONVOLUTIONS, algorithm: DqnConfig = DQN, **changes: Any) -> Trainer:
    return Trainer(GAME, network, replace(CONFIG, ema_decay=0.0, **changes), algorithm, 7)


@pytest.mark.parametrize("s", range(8))
def test_one_symmetry_turns_a_decision_and_where_it_led_alike(s: int) -> None:
    """Playing the turned action in the turned position must give the turned position."""
    one_step = RULE._replace(n_step=1)
    plain = transitions(60, s, rule=one_step)
    turned = transition_batch(GAME, plain, np.full(60, s))
    for b in range(60):
        own, opp, next_own, next_opp = (
            int(transform_mask(GAME.id, mask, s))
            for mask in (plain.own[b], plain.opp[b], plain.next_own[b], plain.next_opp[b])
        )
        planes = np.empty((2, 4, 4, 4), np.float32)
        masks = np.array([[own, next_own], [opp, next_opp]], np.uint64)
        write_planes(GAME.id, masks[0].copy(), masks[1].copy(), planes)
        np.testing.assert_array_equal(turned.planes[b].numpy(), planes[0])
        np.testing.assert_array_equal(turned.next_planes[b].numpy(), planes[1])
        assert turned.action[b] == action_table(GAME)[s, plain.action[b]]
        after = Position(GAME, own, opp).play(int(turned.action[b]))
        if plain.factor[b] < 0:
            assert (after.own, after.opp) == (next_own, next_opp)
        legal = np.flatnonzero(turned.next_legal[b].numpy()).tolist()
        if plain.factor[b]:
            assert legal == Position(GAME, next_own, next_opp).legal_actions()
        assert turned.reward[b] == plain.reward[b]
        assert turned.factor[b] == plain.factor[b]


def test_only_networks_with_convolutions_are_shown_all_sides() -> None:
    sample, plain = transitions(64), batch(64)
    for network, same in ((CONVOLUTIONS, False), (stack(), True)):
        made = Dqn(GAME, DQN, network, CPU).batch(sample, np.random.default_rng(0), False)
        assert torch.equal(made.planes, plain.planes) == same
        assert torch.equal(made.planes.sum((2, 3)), plain.planes.sum((2, 3)))


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_losses_equal_a_slow_twin(loss: Any) -> None:
    objective, target = Dqn(GAME, replace(DQN, loss=loss), CONVOLUTIONS, CPU), batch(40)
    judge = Trainer(GAME, CONVOLUTIONS, CONFIG, DQN, 3)._network.eval()
    for parameter in judge.parameters():
        parameter.data *= 8  # large enough that huber's line is reached
    objective.before_step(0, judge)
    outputs = 2 * torch.randn(40, GAME.actions, generator=torch.Generator().manual_seed(1))
    answers = judge(target.next_planes).detach()
    expected = []
    for b in range(40):
        goal = float(target.reward[b])
        if target.factor[b]:
            legal = np.flatnonzero(target.next_legal[b].numpy())
            goal += float(target.factor[b]) * max(float(answers[b, a]) for a in legal)
        value = float(outputs[b, target.action[b]])
        error = abs(value - goal)
        squared = error**2 if loss == "squared" else (error**2 / 2 if error < 1 else error - 0.5)
        expected.append((squared, value, goal, error))
    got = objective.losses(outputs, target)
    np.testing.assert_allclose(got.numpy(), np.mean(expected, 0), rtol=1e-4, atol=1e-5)
    assert max(error for *_, error in expected) > 1
    assert isinstance(losses_of("dqn", got.tolist()), DqnLosses)


def test_two_agents_learn_from_every_turn_each_for_itself() -> None:
    """Black's and White's networks, written out: own reward, and the largest own value, whoever is to move."""
    network = stack(planes=1, discs=(1, -1), agents=2)
    rule = TargetConfig(n_step=1, discount=0.9, win=False, every_move=True, share=True)
    plain = transitions(200, rule=rule)
    algorithm = replace(DQN, n_step=1, reward="win", every_move=True, opponent_turns="share")
    objective, target = Dqn(GAME, algorithm, network, CPU), transition_batch(GAME, plain, np.zeros(200, np.int64))
    judge = Trainer(GAME, network, CONFIG, algorithm, 3)._network.eval()
    assert isinstance(judge, StackNetwork)
    objective.before_step(0, judge)
    outputs = objective.outputs(judge, target.planes).detach()
    answers = judge.of_agents(target.next_planes).detach()
    errors, rewards = [], set()
    for b in range(200):
        black_moves = int(plain.own[b] | plain.opp[b]).bit_count() % 2 == 0
        for agent in (0, 1):
            mine = (agent == 0) == black_moves
            reward = float(plain.reward[b] == (1 if mine else -1))
            goal = reward
            if plain.factor[b]:
                legal = np.flatnonzero(target.next_legal[b].numpy())
                goal += 0.9 * max(float(answers[b, agent, a]) for a in legal)
            errors.append((float(outputs[b, agent, target.action[b]]) - goal) ** 2)
            rewards.add((mine, reward))
    assert rewards == {(mine, reward) for mine in (False, True) for reward in (0.0, 1.0)}
    assert float(objective.losses(outputs, target)[0]) == pytest.approx(np.mean(errors), rel=1e-5)


def test_without_symmetry_a_transition_is_learned_as_it_was_played() -> None:
    sample, plain = transitions(64), batch(64)
    made = Dqn(GAME, replace(DQN, symmetric=False), CONVOLUTIONS, CPU).batch(sample, np.random.default_rng(0), False)
    assert torch.equal(made.planes, plain.planes)


def test_an_illegal_action_is_never_bootstrapped_from() -> None:
    """However much the target network thinks of it."""
    objective, target = Dqn(GAME, DQN, CONVOLUTIONS, CPU), batch(60)
    judge = Trainer(GAME, CONVOLUTIONS, CONFIG, DQN, 3)._network.eval()
    judge.get_parameter("agents.0.output.weight").data.zero_()
    judge.get_parameter("agents.0.output.bias").data[:] = torch.arange(16)  # the last square is thought best
    objective.before_step(0, judge)
    targets = objective.losses(torch.zeros(60, GAME.actions), target)[2]
    best = torch.tensor([float(np.flatnonzero(row).max()) if row.any() else 0.0 for row in target.next_legal.numpy()])
    expected = (target.reward + target.factor * best).mean()
    assert float(targets) == pytest.approx(float(expected), rel=1e-5)
    assert float((target.reward + target.factor * 15).mean()) != pytest.approx(float(expected), abs=0.5)


def test_only_the_action_taken_gets_a_gradient() -> None:
    objective, target = Dqn(GAME, DQN, CONVOLUTIONS, CPU), batch(20)
    outputs = torch.ones(20, GAME.actions, requires_grad=True)
    objective.losses(outputs, target)[0].backward()
    assert outputs.grad is not None
    taken = torch.nn.functional.one_hot(target.action, GAME.actions).bool()
    assert outputs.grad[taken].count_nonzero() > 15
    assert not outputs.grad[~taken].any()


def test_the_target_network_is_copied_every_so_many_steps() -> None:
    made = trainer()
    kept = []
    for step in range(7):
        network = made._network.get_parameter("agents.0.output.weight").clone()
        made.step(batch(32, step), 0.0)
        target = made.objective.arrays()["agents.0.output.weight"].clone()
        kept.append(target)
        assert torch.equal(target, network) == (step in (0, 3, 6)), step
    assert torch.equal(kept[0], kept[2])
    assert torch.equal(kept[3], kept[5])


@pytest.mark.parametrize("before", [0, 2, 3])
def test_a_restored_training_goes_on_bit_for_bit(before: int) -> None:
    made, again = trainer(optimiser="rmsprop"), trainer(optimiser="rmsprop")
    for step in range(before):
        made.step(batch(32, step), 0.0)
    again.step(batch(32, 99), 0.0)  # nothing of it may remain
    again.restore({name: array.copy() for name, array in made.arrays().items()}, before)
    for step in range(before, before + 5):
        for each in (made, again):
            each.step(batch(32, step), 0.1)
    ours, theirs = made.arrays(), again.arrays()
    assert {name.split(".")[0] for name in ours} == {"network", "average", "optimiser", "objective"}
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)


def test_without_an_average_the_network_itself_is_published() -> None:
    made = trainer()
    made.step(batch(32), 0.0)
    weights = made.averaged(3).arrays["agents.0.output.weight"]
    np.testing.assert_array_equal(weights, made.arrays()["network.agents.0.output.weight"])


def test_tic_tac_toe_is_learned() -> None:
    """From the moves of random games: the values come close to the results of perfect play."""
    game = GAMES["tictactoe"]
    algorithm = replace(DQN, n_step=1, discount=1.0, target_every_steps=30)
    config = replace(CONFIG, optimiser="adam", weight_decay=0.0, learning_rate=0.01, ema_decay=0.0)
    made = Trainer(game, stack(hidden=(128,)), config, algorithm, 1)
    rule = TargetConfig(n_step=1, discount=1.0, win=False, every_move=True)
    pool = transitions(12_000, 0, "tictactoe", rule, games=200)
    some = pool[:2000]
    truth = torch.tensor(
        [
            -true_value(Position(game, int(own), int(opp)).play(int(action)))
            for own, opp, action in zip(some.own, some.opp, some.action, strict=True)
        ]
    )
    whole = transition_batch(game, some, np.zeros(len(some), np.int64))

    def error() -> float:
        values = made.outputs(made.average_copy(), whole).gather(1, whole.action[:, None]).squeeze(1)
        return float((values - truth).square().mean())

    before, rng = error(), np.random.default_rng(0)
    for step in range(300):
        made.step(made.batch(pool.take(rng.integers(0, len(pool), 256)), rng), step / 300)
    assert before > 0.5
    assert error() < 0.6 * before


@pytest.mark.parametrize("network", [CONVOLUTIONS, stack(), stack(agents=2)])
def test_chances_of_a_win_are_published_as_wins_minus_losses(network: StackConfig) -> None:
    chances = trainer(network, replace(DQN, reward="win"))
    as_learned = fold(chances._average, GAME, 0)
    own, opp = np.array([GAME.start_own], np.uint64), np.array([GAME.start_opp], np.uint64)
    learned, played = (
        TorchBackend(w, precision="float32", batch=1, threads=1, slots=1) for w in (as_learned, chances.averaged(0))
    )
    values = learned.run(own, opp)[0][0, :-1].copy()
    np.testing.assert_allclose(played.run(own, opp)[0][0, :-1], 2 * values - 1, atol=1e-5)
    assert values.any()


@pytest.mark.parametrize("reward", ["win", "result"])
@pytest.mark.parametrize("network", [CONVOLUTIONS, stack(), stack(agents=2)])
def test_a_training_begins_with_what_another_published(network: StackConfig, reward: Any) -> None:
    before = trainer(network, replace(DQN, reward=reward)).averaged(3)
    after = Trainer(GAME, network, CONFIG, replace(DQN, reward=reward), 8)
    after.begin_from(before)
    for name, array in after.averaged(3).arrays.items():
        np.testing.assert_allclose(array, before.arrays[name], atol=1e-6)
