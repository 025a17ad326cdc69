"""Which network, actors and game an algorithm can train with; checked before anything is started."""

from __future__ import annotations

from learner.algorithms.config import AlgorithmConfig, DqnConfig
from learner.config import LearnerConfig
from reversi.errors import ConfigError
from reversi.games.rules import Game
from reversi.model.config import NetworkConfig, PatternConfig, StackConfig, TableConfig
from reversi.model.table import TABLE_SIZE
from reversi.settings import require

TABLE_SQUARES = TABLE_SIZE**2
"""Most squares of a board whose positions a table holds."""

_ACTORS = {
    "alphazero": ("search",),
    "supervised": ("games",),
    "dqn": ("epsilon",),
    "q_table": ("epsilon",),
    "td": ("afterstate", "search"),
}
"""The kinds of actors that each algorithm learns from."""

_LEARNERS = {"q_table": "table", "td": "patterns"}
"""The kind of learner of the algorithms that do not train by gradients."""


def check_fit(algorithm: AlgorithmConfig, network: NetworkConfig, actors_kind: str, game: Game) -> None:
    """Raise ConfigError unless `algorithm` can train `network` on `game` from records of `actors_kind` actors."""
    check_network(algorithm, network, game)
    known = _ACTORS[algorithm.name]
    if actors_kind not in known:
        raise ConfigError(
            f"actors.kind must be {' or '.join(known)} for algorithm={algorithm.name}, got {actors_kind!r}"
        )


def check_learner(algorithm: AlgorithmConfig, learner: LearnerConfig) -> None:
    """Raise ConfigError unless `learner` has the settings that training by `algorithm` reads."""
    kind = _LEARNERS.get(algorithm.name, "network")
    require(learner.kind == kind, "learner.kind", f"{kind} for algorithm={algorithm.name}", learner.kind)


def check_network(algorithm: AlgorithmConfig, network: NetworkConfig, game: Game) -> None:
    """Raise ConfigError unless `algorithm` can train `network` on `game`."""
    fits, expected = {
        "alphazero": (network.head == "dual", "one with a policy and a value"),
        "supervised": (network.head in ("policy", "dual"), "one with a policy"),
        "dqn": (isinstance(network, StackConfig) and network.head == "q", "a stack with network.head=q"),
        "q_table": (isinstance(network, TableConfig), "a table"),
        "td": (isinstance(network, PatternConfig), "patterns"),
    }[algorithm.name]
    if not fits:
        raise ConfigError(
            f"network must be {expected} for algorithm={algorithm.name}, got {network.kind} ({network}) with the head "
            f"{network.head}"
        )
    if isinstance(algorithm, DqnConfig) and isinstance(network, StackConfig):
        fits = algorithm.opponent_turns != "share" or network.agents == 2
        require(fits, "network.agents", "2 for algorithm.opponent_turns=share", network.agents)
    if isinstance(network, TableConfig) and game.squares > TABLE_SQUARES:
        raise ConfigError(
            f"game must have at most {TABLE_SQUARES} squares for a table, got {game.name} with {game.squares}"
        )
