"""The tables and pictures of docs/performance.md, made from its figures.

The page is prose with places for tables, `<!-- measured: NAME -->` to `<!-- end -->`; the figures are in
docs/performance.json, the pictures in the folder docs/performance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reversi.errors import UsageError
from scripts.bench.setup import Settings
from scripts.curves import Curve, Panel, draw

Measured = dict[str, Any]
"""`machine` (a sentence), `settings`, `rows`, `limits`, `peers` and `sweeps`, as `__main__.py` gathers them."""

PLACE = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.S)

USUAL = re.compile(rf"^({Settings()}|{Settings().game.name}), ")
"""The sizes that the page names once for all rows."""

HEIGHT = 240
"""Height of a picture's panel, in pixels."""


def write_page(page: Path, measured: Measured) -> None:
    """Fill every place of the page, draw the pictures in the folder beside it, and save their figures."""
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(measured, page.stem)
    if unknown := [place[1] for place in PLACE.findall(text) if place[1] not in blocks]:
        raise UsageError(f"{page}: expected places for {', '.join(blocks)}; got {unknown[0]!r}")
    page.write_text(PLACE.sub(lambda place: f"{place[1]}{blocks[place[2]]}{place[3]}", text), encoding="utf-8")
    page.with_suffix(".json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for sweep in measured["sweeps"]:
        (folder / f"{sweep['name']}.svg").write_text(picture(sweep), encoding="utf-8")


def blocks_of(measured: Measured, pictures: str) -> dict[str, str]:
    """Return the markdown of every place by its name; `pictures` is the folder of pictures beside the page."""
    blocks = {
        "machine": f"\n{measured['machine']}\n\n",
        "rows": _rows(measured["rows"]),
        "limits": _limits(measured["limits"]),
        "peers": _rows(measured["peers"]) if measured["peers"] else "\nNot measured.\n\n",
    }
    for sweep in measured["sweeps"]:
        blocks[sweep["name"]] = f"\n![{sweep['title']}]({pictures}/{sweep['name']}.svg)\n\n"
    return blocks


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with an empty line before and after."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def figure(value: float) -> str:
    """Return a figure as tables show it."""
    if value >= 1e6:
        return f"{value / 1e6:,.1f} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def picture(sweep: dict[str, Any]) -> str:
    """Return a sweep's curves as SVG text; a limit, which is the same at every point, is a line without dots."""
    points = sweep["points"]
    curves = [
        Curve(name, points, values, dots=len(set(values)) > 1 or len(values) <= 2)
        for name, values in sweep["series"].items()
    ]
    if sweep["relative"]:
        panel = Panel(sweep["unit"], curves, HEIGHT, low=0.0)
    else:
        panel = Panel(f"{sweep['unit']}, logarithmic scale", curves, HEIGHT, logarithmic=True)
    return draw(sweep["title"], sweep["across"], [panel], x_ratios=points)


def _rows(rows: list[dict[str, Any]]) -> str:
    """Return a table of rows, without units, which stand in their names, and without what is `USUAL`."""
    cells: list[list[str]] = []
    before = ""
    for row in rows:
        median = f"{figure(row['value'])} ({figure(row['low'])} - {figure(row['high'])})"
        sizes = USUAL.sub("", row["measured_with"])
        cells.append([f"`{row['name']}`", median, "the same" if sizes and sizes == before else sizes])
        before = sizes
    return markdown(["row", "median (spread)", "measured with"], cells)


def _limits(limits: list[dict[str, Any]]) -> str:
    cells = []
    for each in limits:
        share = f"{each['value'] / each['limit']:.2f}"
        cells.append([f"`{each['row']}`", figure(each["value"]), each["against"], figure(each["limit"]), share])
    return markdown(["row", "reached", "limit", "of the limit alone", "share"], cells)
