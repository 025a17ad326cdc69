"""Environment variables that Ray reads once, when it is imported, and that must be set before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from reversi.errors import ConfigError
from scripts.config.cluster import ClusterConfig, RayClusterConfig

ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes Ray assume a single machine, so that its processes listen on 127.0.0.1 only.  Nothing else does this on Linux,
where an address given to `ray.init` is only announced to others (Ray 2.60)."""

BOOTSTRAP = "ray_bootstrap_config.yaml"
"""File in the home folder, left by `ray up`, that says where a cluster is.  Without one Ray looks up hosts of cloud
providers, whether it reports its usage or not."""

JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Variable that Ray sets in the driver of a submitted job, whose runtime environment comes from the submission."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine, which no proxy can know."""

NO_PROXY = ("no_proxy", "NO_PROXY")
"""Variables with the hosts that are reached without a proxy; some programs read one, some the other."""


def in_job() -> bool:
    """Return whether this process is the driver of a job that was submitted to a cluster."""
    return JOB in os.environ


def prepare(cluster: ClusterConfig) -> None:
    """Set Ray's environment variables for a run on `cluster`; call it before Ray is imported.

    A Ray that the run starts itself listens on loopback only and gets a random token.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"  # or under `uv run` each worker makes its environment anew
    bypass_proxies()
    os.environ.setdefault("RAY_task_events_report_interval_ms", "0")  # the GCS stays flat, and calls are 30 % faster
    if isinstance(cluster, RayClusterConfig):
        use_token(cluster.token_file)
        return
    os.environ |= ON_LOOPBACK
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")  # no role can use a worker without its environment
    if "RAY_AUTH_MODE" not in os.environ:  # other users of this machine could run code as us
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        os.environ.pop("RAY_AUTH_TOKEN_PATH", None)


def bypass_proxies() -> None:
    """Let this process and its children reach this machine without a proxy, which would get the cluster's token too."""
    given = [host for name in NO_PROXY for host in os.environ.get(name, "").split(",") if host]
    os.environ |= dict.fromkeys(NO_PROXY, ",".join(dict.fromkeys([*given, *LOOPBACK])))


def proxy_of(address: str) -> str | None:
    """Return the proxy through which an address is reached, None for none."""
    parts = urlsplit(address)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def home_in(folder: Path) -> Path:
    """Make a home folder for the processes of a Ray of our own, with the file that says that they are here."""
    home = folder / "home"
    home.mkdir()
    (home / BOOTSTRAP).write_text("provider: {type: local}\n", encoding="utf-8")
    return home


@contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """Let processes that are started meanwhile have this home folder."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("HOME")
        if before is not None:
            os.environ["HOME"] = before


def use_token(token_file: str | None) -> None:
    """Send the cluster's token with Ray's calls from this process: the one in the file, else the environment's."""
    if token_file is not None:
        if not Path(token_file).is_file():
            raise ConfigError(f"expected the cluster's token in a file, there is none at {token_file}")
        os.environ["RAY_AUTH_TOKEN_PATH"] = token_file
        os.environ.pop("RAY_AUTH_TOKEN", None)  # Ray would take it before the file
        os.environ["RAY_AUTH_MODE"] = "token"
    given = "RAY_AUTH_TOKEN_PATH" in os.environ or "RAY_AUTH_TOKEN" in os.environ
    os.environ.setdefault("RAY_AUTH_MODE", "token" if given else "disabled")
