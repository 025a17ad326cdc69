"""Measure this machine, one row per layer: rules, playouts, tree, network, self-play, replay, learner.

Every row is warmed up apart and measured several times; it says the median, the spread and what it was measured with.
`selfplay_to_inference` is the share of the bare network's speed that self-play keeps; the two are measured in turns,
so that other work on the machine slows both alike.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from reversi.errors import UsageError
from scripts.arguments import add_json, positive
from scripts.bench_rows import ROWS, Row
from scripts.bench_setup import Settings

EXAMPLES = """
reversi bench
reversi bench perft_leaves_per_s playout_games_per_s
reversi bench inference_positions_per_s --size 6 --blocks 4 --channels 32 --batch 512 --json
"""


SHAPE = {
    "size": "board size: 4, 6 or 8",
    "blocks": "residual blocks of the network",
    "channels": "channels of the network",
}
"""What can be set for inference and training together."""

SIZES = {
    "batch": "positions of one network run, and games played in lockstep",
    "simulations": "simulations per move of self-play",
    "threads": "threads of inference",
    "learner_batch": "samples of one training step",
    "learner_threads": "threads of training",
    "repeats": "measurements of each row",
}
"""What can be set besides; the names are those of `Settings`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the rows and their sizes."""
    default = Settings()
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"rows to measure (default: all): {', '.join(ROWS)}")
    for name in SHAPE:
        shown = f"{getattr(default, name)}, for training {getattr(default, f'learner_{name}')}"
        parser.add_argument(f"--{name}", type=positive, metavar="N", help=f"{SHAPE[name]} (default {shown})")
    for name, what in SIZES.items():
        shown = getattr(default, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=positive, default=shown, metavar="N", help=f"{what} (default {shown})")
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    names = _chosen(args.rows)
    settings = _settings(args)
    machine = describe_machine()
    if not args.json:
        print(sentence(machine), flush=True)
    rows = measure(names, settings)
    if args.json:
        print(json.dumps({"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}))
    else:
        print(table(rows))
    return 0


def measure(names: Sequence[str], settings: Settings) -> list[Row]:
    """Return the rows called `names`, in the order of `ROWS`; rows that are measured together are measured once."""
    found: dict[str, Row] = {}
    for name in names:
        if name not in found:
            print(f"measuring {name}", file=sys.stderr)
            found |= {row.name: row for row in ROWS[name](settings)}
    return [found[name] for name in names if name in found]


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on besides the code."""
    import psutil

    model, flags = _cpu()
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
    """Return the hardware in one sentence, to stand above the table."""
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


def _cpu() -> tuple[str, set[str]]:
    """Return the processor's name and its feature flags; the flags are known on Linux only."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            pairs = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or platform.machine(), set()
    first = {key.strip(): value.strip() for key, _, value in reversed(pairs)}
    return first.get("model name", platform.machine()), set(first.get("flags", first.get("Features", "")).split())


def _chosen(names: Sequence[str]) -> list[str]:
    """Return the rows to measure, in the order of `ROWS`; all for none."""
    if unknown := [name for name in names if name not in ROWS]:
        raise UsageError(f"expected rows out of {', '.join(ROWS)}; got {unknown[0]!r}")
    return [name for name in ROWS if name in names or not names]


def _settings(args: argparse.Namespace) -> Settings:
    """Return the sizes that were asked for; those of no board or network are refused before anything is measured."""
    from reversi.games.rules import reversi_of_size
    from reversi.model.config import NetworkConfig

    given = {name: getattr(args, name) for name in SHAPE if getattr(args, name) is not None}
    sizes = {name: getattr(args, name) for name in SIZES}
    settings = Settings(**given, **{f"learner_{name}": value for name, value in given.items()}, **sizes)
    reversi_of_size(settings.size)
    NetworkConfig(blocks=settings.blocks, channels=settings.channels)
    return settings
