"""Ray itself: start one of our own or join the one that is named, and say in one line what is wrong with it."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import RayError

from reversi.errors import UnreachableError
from scripts.config import ClusterConfig


@contextmanager
def ray_of(config: ClusterConfig) -> Iterator[None]:
    """Start a Ray of our own, or join the one at `cluster.address`; leave it, or end it, afterwards.

    A plain `ray.init()` would join, or hang on, whatever Ray was left behind on the machine.

    Ray listens on every interface and runs what it is sent, so ours asks for a token that nobody else has.  The token
    of a cluster that we join is where Ray looks for it: RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, or ~/.ray/auth_token.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if config.address is None:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray turns its tokens on where it finds one
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)  # it says on every start that they are on
    os.environ.setdefault("RAY_task_events_report_interval_ms", "0")  # the GCS stays flat, and calls are 30 % faster
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    if config.address is None:
        settings |= {
            "address": "local",
            "include_dashboard": False,
            "object_store_memory": config.object_store_mb << 20,
        }
    else:
        _check_reachable(config.address)
        settings["address"] = config.address
    try:
        with _own_signals():
            ray.init(**settings)
    except (ConnectionError, RuntimeError, RayError) as error:
        raise UnreachableError(f"cannot use Ray at {config.address or 'this machine'}: {_first_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what signals do: Ray's own answer to SIGTERM ends the process before anything is saved."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _check_reachable(address: str) -> None:
    """Fail in seconds where `ray.init` would wait minutes for a cluster that is gone."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except (OSError, ValueError) as error:
        raise UnreachableError(
            f"no Ray answers at cluster.address={address} ({error}); start one, or leave cluster.address=null"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
