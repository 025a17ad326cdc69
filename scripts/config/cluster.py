"""Where a run's processes are: on this machine, or on the nodes of a Ray cluster, with each role's requirements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from reversi.errors import ConfigError
from reversi.settings import above, at_least, require, require_ranges
from reversi.urls import has_password

ADDRESS_VARIABLE = "RAY_API_SERVER_ADDRESS"
"""Variable that names the cluster that takes jobs; Ray's own commands read it too."""

SECRET_WORDS = ("KEY", "KEYS", "TOKEN", "TOKENS", "PASSWORD", "PASSWORDS", "PASSWD", "SECRET", "SECRETS")
"""Ends of words in a secret variable's name, as in WANDB_API_KEY and PGPASSWORD, but not TOKENIZERS_PARALLELISM."""

PLACE_WORDS = ("FILE", "PATH", "DIR")
"""Last words of a variable's name that holds the location of a secret."""


@dataclass(frozen=True, kw_only=True)
class LocalClusterConfig:
    """Everything on this machine."""

    kind: Literal["serial", "local"]
    """`serial`: one process, no Ray, for debugging and tests; `local`: actors of a Ray that ends with the run."""

    object_store_mb: Annotated[int, at_least(80)]
    """Shared memory of the run's own Ray, in MB; it holds weights and records in transit, so little is enough."""

    max_restarts: Annotated[int, at_least(0)]
    """Deaths of one role within an hour that are answered by a restart; one more ends the run."""

    stall_s: Annotated[float, above(0)]
    """Seconds without an answer to a call after which a role is killed and restarted.  Raise it if a round of your
    actors, a step of your learner or a checkpoint takes that long."""

    def __post_init__(self) -> None:
        require_ranges(self, "cluster")


@dataclass(frozen=True, kw_only=True)
class RoleConfig:
    """What one process requires of its node.  Ray only does the accounting and does not enforce them, except GPUs."""

    cpus: float | None
    """CPUs it reserves; null is the number of its busy threads."""

    gpus: float
    """GPUs it reserves, or a share of one; with 0 it sees none."""

    resources: dict[str, float]
    """Custom resources it reserves, as offered by nodes with `ray start --resources`."""

    labels: dict[str, str]
    """Labels its node must have, as given by `ray start --labels`."""

    beside_driver: bool
    """Whether it runs on the driver's node, whose disk has the run's folder; false lets Ray choose."""

    def __post_init__(self) -> None:
        for name, amount in {"cpus": self.cpus or 0.0, "gpus": self.gpus, **self.resources}.items():
            require(amount >= 0, f"cluster.{name}", "at least 0", amount)
        require(self.gpus <= 1 or self.gpus.is_integer(), "cluster.gpus", "at most 1 or a whole number", self.gpus)


@dataclass(frozen=True, kw_only=True)
class ActorGroupConfig(RoleConfig):
    """A group of identical actors: how many, what each reserves, and how they differ from `actors`."""

    count: Annotated[int | None, at_least(0)]
    """Actors of this group, 0 for none; null is as many as the cluster has room for when the run starts."""

    settings: dict[str, Any]
    """Values that replace those of `actors` in this group, such as `device: cuda` and `games: 8192`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ranges(self, "cluster")


@dataclass(frozen=True, kw_only=True)
class RayClusterConfig:
    """An existing Ray cluster: how to reach it, and where each role runs."""

    kind: Literal["ray"]
    """`ray`: the roles are spread over the nodes of a running cluster."""

    address: str
    """`HOST:PORT` of the head, or `auto`: the cluster that this process is part of, as for a submitted job."""

    namespace: str
    """Ray namespace of the run's actors; distinguishes its rows from those of others on the cluster's dashboard."""

    token_file: str | None
    """File with the cluster's token, on the driver's node; null uses RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN from the
    environment, where a submitted job finds them.  A configuration never contains the token itself."""

    start_timeout_s: Annotated[float, at_least(0)]
    """Seconds to wait for nodes that are still starting; after that the run ends and names what is missing.  Once every
    process has a node, also the longest time until the run's clock starts without those that are not up."""

    max_restarts: Annotated[int, at_least(0)]
    """Deaths of one role within an hour that are answered by a restart; one more ends the run."""

    stall_s: Annotated[float, above(0)]
    """Seconds without an answer to a call after which a role is killed and restarted.  Raise it if a round of your
    actors, a step of your learner or a checkpoint takes that long."""

    env_vars: dict[str, str]
    """Environment variables of every process of the run, none of them secret: the run's folder and the cluster's
    dashboard show them, so names such as WANDB_API_KEY and URLs with a password are refused."""

    working_dir: str | None
    """Folder with this code that `reversi launch` sends to the cluster, for nodes on which it is not installed (its
    requirements must be) or is another version; null sends nothing.  Ray accepts at most 100 MB."""

    excludes: tuple[str, ...]
    """Patterns, as in .gitignore, of what in `working_dir` is not sent, beside what its .gitignore says."""

    learner: RoleConfig
    """The learner."""

    replay: RoleConfig
    """The replay; it keeps rejected records in the run's folder."""

    weights: RoleConfig
    """The weights actor."""

    gate: RoleConfig
    """The gate; it writes the registry, which by default is in the run's folder."""

    actors: dict[str, ActorGroupConfig]
    """Groups of actors by name, side by side."""

    def __post_init__(self) -> None:
        require(bool(self.address) and "://" not in self.address, "cluster.address", "HOST:PORT or auto", self.address)
        require_ranges(self, "cluster")
        require(
            any(group.count != 0 for group in self.actors.values()),
            "cluster.actors",
            "groups of which at least one has actors",
            list(self.actors),
        )
        for name, value in self.env_vars.items():
            if is_secret(name) or has_password(str(value)):
                raise ConfigError(
                    f"cluster.env_vars.{name} must be nothing secret, which would end in the run's folder and on the "
                    "cluster's dashboard; set it in the environment that `ray start` has on every node, or name a file"
                )
        open_ended = [name for name, group in self.actors.items() if group.count is None]
        require(len(open_ended) <= 1, "cluster.actors", "at most one group with count=null", open_ended)


ClusterConfig = LocalClusterConfig | RayClusterConfig


def is_secret(name: str) -> bool:
    """Return whether the name of an environment variable indicates a secret."""
    words = name.upper().split("_")
    return words[-1] not in PLACE_WORDS and any(word.endswith(SECRET_WORDS) for word in words)
