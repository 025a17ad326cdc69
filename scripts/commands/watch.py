"""Watch a run on a page: state, strength, truth, losses, speed, who waits for whom, roles and events.

Several runs are compared: their curves over one axis, mean and band of those that differ in their seed alone, and the
settings in which they differ.  The page needs the run's folder and nothing else, so it shows runs that
train as well as those that have ended.  The server listens on this machine only, unless --host says otherwise; then
the address that it prints has a token, without which nobody gets in; REVERSI_WATCH_TOKEN sets it.  Ctrl-C ends the
server, and not the run.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reversi.errors import UsageError
from reversi.runs import find_run
from scripts.arguments.common import add_address_arguments

if TYPE_CHECKING:
    from reversi.frontends.web.server import WebServer

EXAMPLES = """
reversi watch
reversi watch night
reversi watch runs/a runs/b --port 9001
"""

PORT = 8766

TOKEN = "REVERSI_WATCH_TOKEN"
"""The variable with a token that stays the same, for programs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the runs and the address."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folders or names of runs (default: the newest run)")
    add_address_arguments(parser, PORT)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    import asyncio
    import secrets

    from reversi.frontends.web.site import LOCAL, open_in_browser, serve
    from scripts.run.watch.compare import MOST_RUNS
    from scripts.run.watch.server import WatchServer
    from scripts.run.watch.view import RunView

    folders = dict.fromkeys(find_run(name) for name in args.runs or [None])
    if len(folders) > MOST_RUNS:
        raise UsageError(f"expected at most {MOST_RUNS} runs, got {len(folders)}")
    views = {_name(folder, list(folders)): RunView(folder) for folder in folders}
    token = None if args.host.lower() in LOCAL else os.environ.get(TOKEN) or secrets.token_urlsafe(16)

    def ready(url: str) -> None:
        address = url if token is None else f"{url}?token={token}"
        print(f"{', '.join(views)}: {address}  (Ctrl-C ends)", flush=True)
        if args.open:
            open_in_browser(address)

    server = WatchServer(views, args.host, token, partial(_board, args.host))
    asyncio.run(serve(server.application(), args.host, args.port, ready))
    return 0


def _board(host: str, registry: str) -> WebServer:
    """Return the page of `reversi serve` with the champion of a registry, or with its newest model until there is
    one."""
    from reversi.errors import NoGatedModelError
    from scripts.commands import serve

    try:
        return serve.server_of(serve.arguments("--registry", registry, "--host", host))
    except NoGatedModelError:
        return serve.server_of(serve.arguments("--registry", registry, "--model", "latest", "--host", host))


def _name(folder: Path, all_folders: list[Path]) -> str:
    """Return a run's name, or its path if another one has the same name."""
    return folder.name if [each.name for each in all_folders].count(folder.name) == 1 else str(folder)
