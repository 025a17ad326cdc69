"""Watch a run on a page: state, strength, truth, losses, speed, who waits for whom, roles and events.

Several runs are compared: their curves over one axis, mean and band of those that differ in their seed alone, and the
settings in which they differ.  The page needs the run's folder and nothing else, so it shows runs that
train as well as those that have ended.  The server listens on this machine only, unless --host says otherwise; then
the address that it prints has a token, without which nobody gets in; REVERSI_WATCH_TOKEN sets it.  Ctrl-C ends the
server, and not the run.

With --address (or RAY_API_SERVER_ADDRESS) RUN is a job on a Ray cluster, by default the newest: its page, which the run
serves on the head (`tracking.port`), is looked for there and its address printed.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reversi.errors import RunError, UsageError
from reversi.runs import find_run
from scripts.arguments.cluster import add_cluster, names_cluster
from scripts.arguments.common import add_address_arguments
from scripts.run.watch.beside import TOKEN

if TYPE_CHECKING:
    from reversi.frontends.web.server import WebServer

EXAMPLES = """
reversi watch
reversi watch night
reversi watch runs/a runs/b --port 9001
reversi watch night --address http://head:8265
"""

PORT = 8766


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the runs and the address."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folders or names of runs (default: the newest run)")
    add_address_arguments(parser, PORT)
    add_cluster(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    import asyncio
    import secrets

    from reversi.frontends.web.site import LOCAL, open_in_browser, serve
    from scripts.run.watch.compare import MOST_RUNS
    from scripts.run.watch.server import WatchServer
    from scripts.run.watch.view import RunView

    if names_cluster(args):
        return _on_cluster(args)
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


def _on_cluster(args: argparse.Namespace) -> int:
    """Print, and open, the address of the page of a job's run."""
    from reversi.frontends.web.site import open_in_browser
    from scripts.ray.jobs import Jobs, run_of
    from scripts.run.watch.beside import reachable

    if len(args.runs) > 1:
        raise UsageError(f"expected one run of a cluster, got {len(args.runs)}")
    jobs = Jobs(args.address, args.token_file)
    every = jobs.all()
    if not every:
        raise UsageError(f"no run was launched on {jobs.address} yet")
    job = jobs.find(args.runs[0]) if args.runs else every[-1]
    status = run_of(jobs, job)
    if status is None or status.page is None:
        why = "it serves none: launch it with tracking.port" if status and status.state == "training" else job.state
        raise RunError(f"run {job.run} has no page now ({why}); its report is in {job.folder} once it has finished")
    address = reachable(status.page, [urlsplit(jobs.address).hostname or ""])
    print(f"{job.run}: {address}", flush=True)
    if args.open:
        open_in_browser(address)
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
