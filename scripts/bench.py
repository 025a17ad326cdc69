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
from scripts.arguments import add_json, add_simulations, positive
from scripts.bench_rows import ROWS, Row
from scripts.bench_setup import Settings

EXAMPLES = """
reversi bench
reversi bench perft_leaves_per_s playout_games_per_s
reversi bench inference_positions_per_s --size 6 --blocks 4 --channels 32 --batch 512 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the rows and their sizes."""
    settings = Settings()
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"rows to measure (default: all): {', '.join(ROWS)}")
    for name, what in (
        ("size", "board size: 4, 6 or 8"),
        ("blocks", "residual blocks of the network"),
        ("channels", "channels of the network"),
        ("batch", "positions of one network run, and games played in lockstep"),
        ("learner_batch", "samples of one training step"),
        ("threads", "threads of inference"),
        ("learner_threads", "threads of training"),
        ("repeats", "measurements of each row"),
    ):
        default = getattr(settings, name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=positive, default=default, metavar="N", help=f"{what} (default {default})")
    add_simulations(parser, "per move")
    parser.set_defaults(simulations=settings.simulations)
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    settings = Settings(**{field.name: getattr(args, field.name) for field in dataclasses.fields(Settings)})
    machine = describe_machine()
    if not args.json:
        print(sentence(machine), flush=True)
    rows = measure(args.rows or list(ROWS), settings)
    if args.json:
        print(json.dumps({"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}))
    else:
        print(table(rows))
    return 0


def measure(names: Sequence[str], settings: Settings) -> list[Row]:
    """Return the rows called `names`, in the order of `ROWS`; rows that are measured together are measured once."""
    if unknown := [name for name in names if name not in ROWS]:
        raise UsageError(f"expected rows out of {', '.join(ROWS)}; got {unknown[0]!r}")
    found: dict[str, Row] = {}
    for name, bench in ROWS.items():
        if name in names and name not in found:
            print(f"measuring {name}", file=sys.stderr)
            found |= {row.name: row for row in bench(settings)}
    return [found[name] for name in ROWS if name in names and name in found]


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
    return (
        f"{machine['cores']} cores of {machine['cpu']} ({bf16}), {machine['memory_gb']} GB, "
        f"Python {machine['python']}, torch {machine['torch']}, OpenVINO {machine['openvino']}; "
        f"load {machine['load']} at the start."
    )


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
