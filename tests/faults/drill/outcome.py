"""The outcome of a drill, in one format for all drills: a line, and an object of a JSON list."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from reversi.files import write_output


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one drill.  `--out` writes a list of these, with exactly these fields."""

    drill: str
    """Name of the drill."""
    asked: int
    """Number of faults requested."""
    kills: int
    """Number of faults injected and recovered from; below `asked` while the drill runs, or if the run ended."""
    went_on_s: list[float] = field(default_factory=list)
    """Seconds from each fault until work resumed, in order; missing for some faults in drills of files."""
    acknowledged: int | None = None
    """Deliveries that Redis confirmed to the run's actors; None without Redis."""
    lost: int | None = None
    """Of these, deliveries that were neither in the replay nor in the stream when the run was stopped."""
    twice_games: int | None = None
    """Games that the replay counted more than once per delivery; None without Redis or its append-only file."""
    lost_games: int | None = None
    """Games reported to the run as delivered that the replay lacks at the end; None if not checked."""
    stop_s: float | None = None
    """Seconds from the signal to the end of the run, saved; None if the drill does not stop one."""
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))
    """Load average of the machine over the last minute when the drill ended."""
    kept: bool
    """Whether the run recovered from all faults and lost only what this drill allows."""
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


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Replace the file with the outcomes so far, as one JSON list."""
    write_output(path, json.dumps([asdict(outcome) for outcome in outcomes], indent=1).encode())
