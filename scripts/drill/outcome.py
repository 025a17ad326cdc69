"""What a drill found: one form for every drill, for people a line, for programs an object of one JSON list."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from reversi.archive import write_atomic


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one drill did and found.  `--json` and `--out` write a list of these, with exactly these fields."""

    drill: str
    """Its name."""
    asked: int
    """How often harm was to be done."""
    kills: int
    """How often it was done and answered; fewer than `asked` while the drill goes on, or if the run ended."""
    went_on_s: list[float] = field(default_factory=list)
    """Seconds from each harm until the work went on, in order; a drill of files has none for some."""
    acknowledged: int | None = None
    """Deliveries that Redis confirmed to the run's actors; None without Redis."""
    lost: int | None = None
    """Of these, deliveries that neither the replay nor the stream held when the run was stopped."""
    twice_games: int | None = None
    """Games that the replay counted beyond one count of each delivery; None without Redis, or if that forgets."""
    lost_games: int | None = None
    """Games that the run had heard were delivered and that the replay lacks at the end; None where not asked."""
    stop_s: float | None = None
    """Seconds from the signal to the end of the run, saved; None where the drill does not end one."""
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))
    """The machine's load average over a minute when the drill ended: processes that wanted one of its cores."""
    kept: bool
    """Whether all harm was done and answered, and nothing was lost but what this drill says may be."""
    seen: str
    """What a user sees."""

    @property
    def line(self) -> str:
        """The outcome for people."""
        parts = []
        if self.went_on_s:
            middle, worst = statistics.median(self.went_on_s), max(self.went_on_s)
            parts.append(f"went on after {middle:.1f} s, at worst {worst:.1f} s")
        if self.lost is not None:
            parts.append(f"{self.lost} of {self.acknowledged} deliveries lost")
        if self.twice_games is not None:
            parts.append(f"{self.twice_games} games counted twice")
        if self.lost_games is not None:
            parts.append(f"{self.lost_games} games lost")
        if self.stop_s is not None:
            parts.append(f"stopped in {self.stop_s:.1f} s")
        parts.append(self.seen)
        verdict = "kept" if self.kept else "BROKEN"
        return f"{self.drill:<16}{verdict:<8}{self.kills} times; {'; '.join(part for part in parts if part)}"


def to_json(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as one JSON list."""
    return json.dumps([asdict(outcome) for outcome in outcomes], indent=1)


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Replace the file by the outcomes so far."""
    write_atomic(path, to_json(outcomes).encode())
