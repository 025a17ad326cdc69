"""Environment variables that Ray reads once, when it is imported: set before that, or never."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from reversi.errors import ConfigError
from scripts.cluster_config import ClusterConfig, RayClusterConfig

ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Has Ray believe that it runs on one machine alone: its processes then listen on 127.0.0.1 and nowhere else.  Nothing
else does it on Linux, where an address given to `ray.init` is only told to others (Ray 2.60)."""

JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Set by Ray in the driver of a submitted job; its runtime environment then comes from the submission."""


def in_job() -> bool:
    """Whether this process is the driver of a job that was submitted to a cluster."""
    return JOB in os.environ


def prepare(cluster: ClusterConfig) -> None:
    """Set what Ray shall find when it is imported for a run on `cluster`.

    A Ray of our own listens on loopback alone and gets a token that nobody else has.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_task_events_report_interval_ms", "0")  # the GCS stays flat, and calls are 30 % faster
    if isinstance(cluster, RayClusterConfig):
        use_token(cluster.token_file)
        return
    os.environ |= ON_LOOPBACK
    if "RAY_AUTH_MODE" not in os.environ:  # other users of this machine could run code as us
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        os.environ.pop("RAY_AUTH_TOKEN_PATH", None)


def use_token(token_file: str | None) -> None:
    """Have Ray's calls from this process carry the cluster's token: the one in the file, else the environment's."""
    if token_file is not None:
        if not Path(token_file).is_file():
            raise ConfigError(f"expected the cluster's token in a file, there is none at {token_file}")
        os.environ["RAY_AUTH_TOKEN_PATH"] = token_file
        os.environ["RAY_AUTH_MODE"] = "token"
    given = "RAY_AUTH_TOKEN_PATH" in os.environ or "RAY_AUTH_TOKEN" in os.environ
    os.environ.setdefault("RAY_AUTH_MODE", "token" if given else "disabled")
