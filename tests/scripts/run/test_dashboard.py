"""The live table says how far a run is and how strong, and ends with the rates of the session, not with zeros."""

from __future__ import annotations

import io
import time
from dataclasses import replace

import pytest

from actors.worker import ActorReport
from evaluator.gate_report import GateReport
from scripts.run.dashboard import Newest, as_table, cells_of
from scripts.run.progress import Progress
from scripts.run.reports import Counters

PROMOTED = GateReport(
    summary="version 7 promoted against 3", promotions=2, champion_version=7, candidate_version=7, champion_elo=431.2
)


class Terminal(io.StringIO):
    """A terminal whose text a test reads."""

    def isatty(self) -> bool:
        return True


def rendered(cells: dict[str, str], share: float | None) -> str:
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=100).print(as_table(cells, share))
    return out.getvalue()


def test_a_champion_has_a_line_once_there_is_one() -> None:
    now = Counters(at_s=10.0)
    none = cells_of(now, Counters(), Newest(gate=replace(PROMOTED, promotions=0)), 60.0, None)
    assert "champion" not in none
    cells = cells_of(now, Counters(), Newest(gate=PROMOTED), 60.0, None)
    assert cells["champion"] == "version 7, Elo +431 above the first model"
    assert cells["time left"] == "0:50"


def test_the_share_that_is_done_is_a_bar() -> None:
    assert "progress" not in rendered({"games": "1"}, None)
    quarter, half = (rendered({"games": "1"}, share).count("━") for share in (0.25, 0.5))
    assert half == 2 * quarter > 0


def test_the_table_ends_with_the_rates_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = Terminal()
    progress = Progress([], out)
    progress.begin(0.0, 20.0, None)
    progress.actor(ActorReport(version=0, games=40, positions=1000, simulations=64_000))
    for now[0] in (106.0, 112.0, 120.0):
        progress.tick()
    progress.end()
    last = out.getvalue()[out.getvalue().rindex("reversi train") :]
    assert "50" in next(line for line in last.splitlines() if "positions/s" in line)
    assert "3,200" in next(line for line in last.splitlines() if "simulations/s" in line)
    assert "progress" in last
