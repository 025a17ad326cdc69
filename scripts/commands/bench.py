"""Measure the speed of every layer on this machine: rules, playouts, tree, network, self-play, replay, learner.

Every row is warmed up separately and measured several times; the table has the median, the spread and the settings.
`selfplay_to_inference` is the share of the bare network's speed that self-play keeps; the two are measured in turns,
so that other work on the machine slows both equally.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from reversi.errors import ConfigError, UsageError
from reversi.model.machine import cpu
from scripts.arguments.common import add_json, positive
from scripts.bench import peers
from scripts.bench.limits import limits
from scripts.bench.measure import Row
from scripts.bench.page import blocks_of, check_page, write_page
from scripts.bench.peer import PEER_ROWS
from scripts.bench.rows import LAYERS, ROWS, SCENARIOS
from scripts.bench.setup import Settings
from scripts.bench.sweep import SWEEPS

EXAMPLES = """
reversi bench
reversi bench perft_leaves_per_s playout_games_per_s
reversi bench inference_positions_per_s --size 6 --blocks 4 --channels 32 --batch 512 --json
reversi bench --peer
reversi bench --sweep --page docs/performance.md
reversi bench weights_fanout --crowd 1000 --learner-threads 1 --repeats 3
reversi bench redis_producers --crowd 1000 --json
"""


RowTable = Mapping[str, Callable[[Settings], Iterator[Row]]]
"""The function that measures each row."""

DEVICES = ("cpu", "cuda")

SHAPE = {
    "size": "board size: 4, 6 or 8",
    "blocks": "residual blocks of the network",
    "channels": "channels of the network",
}
"""Options that apply to inference and training."""

SIZES = {
    "batch": "batch size of the network; self-play has two groups of as many games",
    "simulations": "simulations per move of self-play",
    "threads": "threads of inference",
    "actors": "actor processes in the rows of layer processes",
    "learner_batch": "samples of one training step",
    "learner_threads": "threads of training",
    "crowd": "simulated actors of a scenario",
    "repeats": "measurements of each row",
}
"""The other options; the names are those of `Settings`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the rows and their sizes."""
    default = Settings()
    parser.add_argument(
        "rows",
        nargs="*",
        metavar="ROW",
        help="rows to measure, or one scenario (default: all rows)",
    )
    for name in SHAPE:
        shown = f"{getattr(default, name)}, for training {getattr(default, f'learner_{name}')}"
        parser.add_argument(f"--{name}", type=positive, metavar="N", help=f"{SHAPE[name]} (default {shown})")
    for name, what in SIZES.items():
        shown = getattr(default, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=positive, default=shown, metavar="N", help=f"{what} (default {shown})")
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where the networks run (default cpu)")
    parser.add_argument(
        "--peer",
        action="store_true",
        help=f"measure pgx + mctx and OpenSpiel as well, in turns (pip install '.[peers]'): {', '.join(PEER_ROWS)}",
    )
    sweeps = ", ".join(SWEEPS)
    parser.add_argument(
        "--sweep", action="store_true", help=f"measure the cost against each of {sweeps}; takes minutes"
    )
    parser.add_argument(
        "--page",
        metavar="FILE",
        help="with --sweep: also measure all rows, and --peer if installed, and write everything into this page",
    )
    add_json(parser, "one JSON object")
    parser.epilog = _rows_help()


def _rows_help() -> str:
    """Return the rows by layer, for the help."""
    groups = {**LAYERS, "scenarios": SCENARIOS}
    width = max(map(len, groups))
    lines = ["rows by layer (limits: what the machine can do at most; a scenario takes minutes):"]
    for name, rows in groups.items():
        text = textwrap.fill(", ".join(rows), 96 - width)
        lines.append(f"  {name:<{width}}  " + textwrap.indent(text, " " * (width + 4)).lstrip())
    return "\n".join(lines)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    settings = _settings(args)
    if args.page and not args.sweep:
        raise UsageError("--page requires --sweep")
    if args.sweep:
        return _sweep(args, settings)
    table_of = PEER_ROWS if args.peer else ROWS
    scenario = _scenario(args)
    names = [] if scenario else _chosen(args.rows, table_of)
    if args.peer:
        _check_peers(settings)
    machine = describe_machine()
    if not args.json:
        print(sentence(machine), flush=True)
    rows = list(SCENARIOS[scenario](settings)) if scenario else measure(names, settings, table_of)
    if args.json:
        print(json.dumps({"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}))
    else:
        print(table(rows))
    return 0


def measure(names: Iterable[str], settings: Settings, table_of: RowTable = ROWS) -> list[Row]:
    """Return the rows called `names`, in that order; rows that are measured together are measured once."""
    found: dict[str, Row] = {}
    for name in names:
        if name not in found:
            print(f"measuring {name}", file=sys.stderr)
            found |= {row.name: row for row in table_of[name](settings)}
    return [found[name] for name in names if name in found]


def _sweep(args: argparse.Namespace, settings: Settings) -> int:
    """Measure the sweeps, and for a page everything else on it."""
    if args.rows or args.peer:
        raise UsageError("--sweep cannot be combined with rows or --peer; with --page it measures them all")
    page = Path(args.page) if args.page else None
    if page is not None:
        check_page(page)
    machine, rows, peer_rows = describe_machine(), [], []
    if page is not None:
        rows = measure(ROWS, settings)
        if not peers.missing() and settings.size == peers.SIZE:
            peer_rows = measure(PEER_ROWS, settings, PEER_ROWS)
    sweeps = []
    for name, sweep in SWEEPS.items():
        print(f"sweeping {name}", file=sys.stderr)
        sweeps.append(dataclasses.asdict(sweep(settings)))
    found = {
        "machine": sentence(machine),
        "settings": dataclasses.asdict(settings),
        "rows": [dataclasses.asdict(row) for row in rows],
        "limits": [dataclasses.asdict(limit) for limit in limits({row.name: row for row in rows}, settings)],
        "peers": [dataclasses.asdict(row) for row in peer_rows],
        "sweeps": sweeps,
    }
    if page is not None:
        write_page(page, found)
    if args.json:
        print(json.dumps(found))
    else:
        blocks = blocks_of(found, None)
        print("".join(blocks[name] for name in ("machine", *SWEEPS)))
    return 0


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on in addition to the code."""
    import psutil

    model, flags = cpu()
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "bf16": sorted(flags & {"amx_bf16", "avx512_bf16"}),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: _version(package) for package in ("numpy", "numba", "torch", "openvino")},
    }


def sentence(machine: dict[str, Any]) -> str:
    """Return the hardware in one sentence, the heading of the table."""
    bf16 = f"with {' and '.join(machine['bf16'])}" if machine["bf16"] else "without bf16"
    named = {"Python": "python", "torch": "torch", "OpenVINO": "openvino", "load": "load"}
    parts = [f"{machine['cores']} cores of {machine['cpu']} ({bf16})", f"{machine['memory_gb']} GB"]
    parts += [f"{name} {machine[key]}" for name, key in named.items() if machine[key] is not None]
    return ", ".join(parts) + "."


def table(rows: Sequence[Row]) -> str:
    """Return the rows as aligned text."""
    cells = [("row", "median", "spread", "unit", "measured with")]
    cells += [
        (row.name, _figure(row.value), f"{_figure(row.low)} - {_figure(row.high)}", row.unit, row.measured_with)
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        f"{name:<{widths[0]}}  {value:>{widths[1]}}  {spread:>{widths[2]}}  {unit:<{widths[3]}}  {note}".rstrip()
        for name, value, spread, unit, note in cells
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _chosen(names: Sequence[str], table_of: RowTable) -> list[str]:
    """Return the rows to measure, in the order of their table; all if no names are given."""
    if unknown := [name for name in names if name not in table_of]:
        raise UsageError(f"unknown row {unknown[0]!r}; expected some of {', '.join(table_of)}")
    return [name for name in table_of if name in names or not names]


def _scenario(args: argparse.Namespace) -> str | None:
    """Return the requested scenario, None if rows were requested; the two cannot be combined."""
    scenario = next((name for name in args.rows if name in SCENARIOS), None)
    if scenario and (len(args.rows) > 1 or args.peer):
        raise UsageError(f"{scenario} is a scenario: it cannot be combined with other rows or --peer")
    return scenario


def _check_peers(settings: Settings) -> None:
    """Raise an error if the peers are not installed or do not play on this board."""
    if absent := peers.missing():
        raise ConfigError(f"--peer needs {', '.join(absent)}: pip install '.[peers]'")
    if settings.size != peers.SIZE:
        raise UsageError(
            f"--peer: pgx and OpenSpiel play on {peers.SIZE}x{peers.SIZE} only, got --size {settings.size}"
        )


def _settings(args: argparse.Namespace) -> Settings:
    """Return the requested sizes; invalid boards and networks are refused before anything is measured."""
    from reversi.games.rules import reversi_of_size
    from reversi.model.config import ResNetConfig

    given = {name: getattr(args, name) for name in SHAPE if getattr(args, name) is not None}
    sizes = {name: getattr(args, name) for name in SIZES}
    learner = {f"learner_{name}": value for name, value in given.items()}
    settings = Settings(**given, **learner, **sizes, device=args.device)
    reversi_of_size(settings.size)
    ResNetConfig(blocks=settings.blocks, channels=settings.channels)
    return settings
