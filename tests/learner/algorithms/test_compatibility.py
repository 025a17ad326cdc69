"""Which algorithm goes with which network, actors and game: every pair, and the line that refuses the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from learner.algorithms.compatibility import check_fit, check_learner
from learner.algorithms.config import (
    AlgorithmConfig,
    DqnConfig,
    QTableConfig,
    SupervisedConfig,
)
from reversi.errors import ConfigError
from reversi.games.rules import GAMES
from reversi.model.config import NetworkConfig, StackConfig, TableConfig
from tests.configs import resnet
from tests.learner.jobs import ALGORITHM, CONFIG, TABLE, stack

ALGORITHMS: dict[str, AlgorithmConfig] = {
    "alphazero": ALGORITHM,
    "supervised": SupervisedConfig(name="supervised", value_weight=1.0, validation_every_steps=10, patience=None),
    "dqn": DqnConfig(
        name="dqn",
        discount=0.99,
        n_step=1,
        target_every_steps=10,
        reward="result",
        every_move=False,
        loss="squared",
    ),
    "q_table": QTableConfig(name="q_table", learning_rate=0.5, discount=0.999),
}
NETWORKS: dict[str, NetworkConfig] = {
    "dual": resnet(blocks=1, channels=16),
    "policy": stack(head="policy"),
    "q": stack(head="q"),
    "table": TableConfig(),
}
FITS = {("alphazero", "dual"), ("supervised", "dual"), ("supervised", "policy"), ("dqn", "q"), ("q_table", "table")}
ACTORS = {"alphazero": "search", "supervised": "games", "dqn": "epsilon", "q_table": "epsilon"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("actors", ["search", "games", "epsilon"])
def test_every_pair_fits_or_is_refused_in_a_line(algorithm: str, network: str, actors: str) -> None:
    game = GAMES["tictactoe"]
    if (algorithm, network) in FITS and actors == ACTORS[algorithm]:
        check_fit(ALGORITHMS[algorithm], NETWORKS[network], actors, game)
        return
    words = "actors.kind must be" if (algorithm, network) in FITS else f"network must be .* for algorithm={algorithm}"
    with pytest.raises(ConfigError, match=f"^{words}") as refused:
        check_fit(ALGORITHMS[algorithm], NETWORKS[network], actors, game)
    assert "\n" not in str(refused.value)


def test_a_table_is_for_small_boards() -> None:
    with pytest.raises(ConfigError, match=r"^game must have at most 9 squares for a table, got reversi4 with 16$"):
        check_fit(ALGORITHMS["q_table"], TableConfig(), "epsilon", GAMES["reversi4"])


def test_turns_are_shared_by_two_agents() -> None:
    shared = replace(ALGORITHMS["dqn"], opponent_turns="share")
    check_fit(shared, stack(head="q", agents=2), "epsilon", GAMES["tictactoe"])
    with pytest.raises(ConfigError, match=r"^network.agents must be 2 for algorithm.opponent_turns=share, got 1$"):
        check_fit(shared, stack(head="q"), "epsilon", GAMES["tictactoe"])


def test_every_move_needs_to_know_what_follows_it() -> None:
    with pytest.raises(
        ConfigError, match=r"^algorithm.every_move must be false with opponent_turns=skip: .*, got True$"
    ):
        replace(ALGORITHMS["dqn"], opponent_turns="skip", every_move=True)


def test_a_stack_is_no_table_and_a_table_no_stack() -> None:
    assert isinstance(NETWORKS["q"], StackConfig)
    with pytest.raises(ConfigError, match=r"^network must be a table for algorithm=q_table, got stack \(dense 8\)"):
        check_fit(ALGORITHMS["q_table"], NETWORKS["q"], "epsilon", GAMES["tictactoe"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_table_and_networks_have_learners_of_their_own(algorithm: str) -> None:
    fits, other = (TABLE, CONFIG) if algorithm == "q_table" else (CONFIG, TABLE)
    check_learner(ALGORITHMS[algorithm], fits)
    expected = f"^learner.kind must be {fits.kind} for algorithm={algorithm}, got {other.kind!r}$"
    with pytest.raises(ConfigError, match=expected):
        check_learner(ALGORITHMS[algorithm], other)
