"""The page of a run as one file that needs no server and no network."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

from reversi.files import write_output
from scripts.run.watch import STATIC
from scripts.run.watch.view import RunView

REPORT = "report.html"
"""Name of the report in the run's folder."""

MODULE = "charts.js"
"""The module that the page's script imports; in one file it comes as an address that contains it."""


def write_report(folder: Path, target: Path | None = None) -> Path:
    """Write the page of the run in `folder` to `target`, by default into the folder; return where it is."""
    target = target or folder / REPORT
    write_output(target, report_of(RunView(folder)).encode())
    return target


def report_of(view: RunView) -> str:
    """Return the page of a run with all that it shows, as HTML."""
    brought = json.dumps(view.poll() | {"config": view.config_text()}, separators=(",", ":"), allow_nan=False)
    module = base64.b64encode(_static(MODULE).encode()).decode()
    modules = json.dumps({"imports": {f"./{MODULE}": f"data:text/javascript;base64,{module}"}})
    in_element = brought.replace("<", "\\u003c")  # JSON that cannot end the element that it stands in
    before = (
        f'<script type="application/json" id="brought">{in_element}</script>\n'
        f'<script type="importmap">{modules}</script>\n'
    )
    page = re.sub('<link rel="icon".*\n', "", _static("index.html"))
    page = re.sub('<link rel="stylesheet" href="static/(.*)">', lambda it: f"<style>{_static(it[1])}</style>", page)
    page = re.sub('<script src="static/(.*)">', lambda it: f"<script>{_static(it[1])}", page)
    return re.sub(
        '<script type="module" src="static/(.*)">',
        lambda it: f'{before}<script type="module">{_static(it[1])}',
        page,
    )


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
