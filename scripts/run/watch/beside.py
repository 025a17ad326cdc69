"""The page of a run that trains, served beside it by a process of its own, so that nobody who looks slows the run."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from reversi.errors import ConfigError, UnreachableError, first_line
from reversi.urls import masked
from scripts.config.cluster import ADDRESS_VARIABLE
from scripts.config.tracking import TrackingConfig

log = logging.getLogger(__name__)

TOKEN = "REVERSI_WATCH_TOKEN"
"""The variable with a page's token that stays the same, for programs."""

ADDRESS = "page.url"
"""The file of a run's folder with the address of its page, and with its token where it has one."""

SOURCE = Path(__file__).parents[3]

END_S = 5.0
"""Longest time in seconds that the page has to end."""

ANSWER_S = 5.0
"""Longest time in seconds that a page has to answer."""


@contextlib.contextmanager
def page_of(folder: Path, config: TrackingConfig) -> Iterator[None]:
    """Serve the page of the run in `folder` meanwhile, where the configuration has a port for it."""
    if config.port is None:
        yield
        return
    from reversi.frontends.web.site import LOCAL

    port = _free_port(config.host, config.port)
    token = None if config.host.lower() in LOCAL else os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    host = f"[{config.host}]" if ":" in config.host else config.host
    address = f"http://{host}:{port}/" + ("" if token is None else f"?token={token}")
    with open(folder / "logs" / "page.log", "wb") as output:
        server = subprocess.Popen(
            # -P: packages come from our folder, and not from one in which the run happens to be started
            [
                sys.executable,
                "-P",
                "-m",
                "scripts.cli",
                "watch",
                str(folder),
                "--host",
                config.host,
                "--port",
                str(port),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the run, which shows that it saves
            env=_environment() | ({} if token is None else {TOKEN: token}),
            preexec_fn=_below_parent,
        )
    with open(os.open(folder / ADDRESS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(f"{address}\n")
    print(f"page: {address}", flush=True)
    try:
        yield
    finally:
        (folder / ADDRESS).unlink(missing_ok=True)
        server.terminate()
        try:
            server.wait(END_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def page_address(folder: Path) -> str | None:
    """Return the address of the page of the run in `folder`, if it serves one."""
    with contextlib.suppress(OSError, UnicodeError):
        return (folder / ADDRESS).read_text(encoding="ascii").strip() or None
    return None


def reachable(page: str, others: Sequence[str]) -> str:
    """Return the address of a page of another machine as it is reached from here: under its own name, or under another
    one, such as that of the cluster's dashboard.

    Raises UnreachableError if no page answers there.
    """
    parts, why = urlsplit(page), ""
    for name in dict.fromkeys((*others, parts.hostname or "")):
        host = f"[{name}]" if ":" in name else name
        address = parts._replace(netloc=f"{host}:{parts.port}").geturl()
        try:
            _ask(address)
            return address
        except (OSError, ValueError) as error:
            why = first_line(error)
    raise UnreachableError(
        f"no page answers at port {parts.port} of {' or '.join(others)} ({masked(why)}); the run listens on "
        f"{parts.hostname} of the cluster's head, so forward its port, as by ssh -L {parts.port}:127.0.0.1:{parts.port}"
        f" HEAD, or let the run listen elsewhere with tracking.host"
    )


def _ask(address: str) -> None:
    """Raise OSError unless a page of runs answers."""
    parts = urlsplit(address)
    token = parts.query.removeprefix("token=")
    request = urllib.request.Request(parts._replace(path="/api/runs", query="").geturl())
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=ANSWER_S) as answer:
        if not answer.headers.get("Content-Type", "").startswith("application/json"):
            raise OSError("another server answers")


def _free_port(host: str, port: int) -> int:
    """Return the port if it can be listened on, else any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, 0))
        except OSError as error:
            raise ConfigError(f"tracking.host must be an address of this machine, got {host!r}: {error}") from error
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            log.warning("port %d for the run's page cannot be used: %s; another one is taken", port, error.strerror)
            probe.bind((host, 0))
        chosen: int = probe.getsockname()[1]
        return chosen


def _environment() -> dict[str, str]:
    """Return the variables of the page's process: ours come first on its path, and its run is one of this machine."""
    path = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
    return {name: value for name, value in os.environ.items() if name != ADDRESS_VARIABLE} | {"PYTHONPATH": path}


def _below_parent() -> None:
    """Let the page go before the run does, and leave the cores to it.  Linux only, where the run may be killed."""
    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)
