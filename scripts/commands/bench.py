"""Measure the speed of every layer on this machine: rules, playouts, tree, network, self-play, replay, learner.

Every row is warmed up separately and measured several times; the table has the median, the spread and the settings.
`selfplay_to_inference` is the share of the bare network's speed that self-play keeps; the two are measured in turns,
so that other work on the machine slows both equally.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import sys
import textwrap
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from reversi import json
from reversi.capacity import cores, memory_bytes
from reversi.errors import UsageError
from reversi.model.machine import cpu
from scripts.arguments.common import add_json, positive
from scripts.bench.measure import Row
from scripts.bench.rows import LAYERS, ROWS
from scripts.bench.setup import Settings

EXAMPLES = """
reversi bench
reversi bench perft_leaves_per_s playout_games_per_s
reversi bench inference_positions_per_s --size 6 --channels 32 --json
"""

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
    "repeats": "measurements of each row",
}
"""The other options; the names are those of `Settings`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the rows, the sizes and the output."""
    rows = parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to measure (default: all rows)")
    rows.completer = lambda **_: list(ROWS)  # type: ignore[attr-defined]
    add_sizes(parser)
    add_json(parser, "one JSON object")
    parser.epilog = _rows_help()


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Declare what `settings_of` reads."""
    default = Settings()
    for name in SHAPE:
        shown = f"{getattr(default, name)}, for training {getattr(default, f'learner_{name}')}"
        parser.add_argument(f"--{name}", type=positive, metavar="N", help=f"{SHAPE[name]} (default {shown})")
    for name, what in SIZES.items():
        shown = getattr(default, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=positive, default=shown, metavar="N", help=f"{what} (default {shown})")
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where the networks run (default cpu)")


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the requested sizes; invalid boards and networks are refused before anything is measured."""
    from reversi.games.rules import reversi_of_size

    given = {name: getattr(args, name) for name in SHAPE if getattr(args, name) is not None}
    sizes = {name: getattr(args, name) for name in SIZES}
    learner = {f"learner_{name}": value for name, value in given.items()}
    settings = Settings(**given, **learner, **sizes, device=args.device)
    reversi_of_size(settings.size)
    _ = settings.network  # raises ConfigError for sizes out of range
    return settings


def _rows_help() -> str:
    """Return the rows by layer, for the help."""
    width = max(map(len, LAYERS))
    lines = ["rows by layer (limits: what the machine can do at most):"]
    for name, rows in LAYERS.items():
        text = textwrap.fill(", ".join(rows), 74 - width)
        lines.append(f"  {name:<{width}}  " + textwrap.indent(text, " " * (width + 4)).lstrip())
    return "\n".join(lines)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    settings, names = settings_of(args), _chosen(args.rows)
    machine = describe_machine()
    if not args.json:
        print(sentence(machine), flush=True)
    rows = measure(names, settings)
    if args.json:
        print(json.dumps({"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}))
    else:
        print(table(rows))
    return 0


def measure(names: Iterable[str], settings: Settings) -> list[Row]:
    """Return the rows called `names`, in that order; rows that are measured together are measured once."""
    measured: dict[str, Row] = {}
    for name in names:
        if name not in measured:
            print(f"measuring {name}", file=sys.stderr)
            measured |= {row.name: row for row in ROWS[name](settings)}
    return [measured[name] for name in names if name in measured]


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on in addition to the code."""
    model, flags = cpu()
    return {
        "cpu": model,
        "cores": cores(),
        "memory_gb": round(memory_bytes() / 2**30, 1),
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


def _chosen(names: Sequence[str]) -> list[str]:
    """Return the rows to measure, in the order of the table; all if no names are given."""
    if unknown := [name for name in names if name not in ROWS]:
        raise UsageError(f"unknown row {unknown[0]!r}; expected some of {', '.join(ROWS)}")
    return [name for name in ROWS if name in names or not names]
