"""What a model's match says, in words for its card and for tables; in its place a file may hold anything."""

from __future__ import annotations

from collections.abc import Sequence

from reversi.model.info import ModelInfo, number
from reversi.model.training import Spent

SIGMAS = 1.96
"""Half a 95 % interval, in standard errors."""

MOST_OPPONENTS = 100
"""Most fixed opponents that are shown."""


def elo(info: ModelInfo) -> str:
    """Return the Elo difference to the opponent with its 95 % interval, `+73 [+39, +106]`; "" without a match."""
    value = number(info.match, "elo")
    if value is None:
        return ""
    ends = (info.match or {}).get("elo_interval")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return f"{value:+.0f}"
    low, high = (number({"end": end}, "end") for end in ends)  # None: there is no such end
    return f"{value:+.0f} [{'-inf' if low is None else f'{low:+.0f}'}, {'+inf' if high is None else f'{high:+.0f}'}]"


def truth(info: ModelInfo) -> str:
    """Return the share of results kept on solved positions with half its 95 % interval, `99.3 ±0.9 %`, or ""."""
    return _with_error(info, "outcome_kept", "outcome_kept_error", 100.0, " %")


def regret(info: ModelInfo) -> str:
    """Return the discs lost a move on solved positions with half the 95 % interval; "" if unknown."""
    return _with_error(info, "regret_discs", "regret_error_discs", 1.0, "")


def colour(info: ModelInfo, side: str) -> str:
    """Return the wins, draws and losses as `black` or `white`, `116-12-64`; "" without a match."""
    results = (info.match or {}).get(side)
    if not isinstance(results, list | tuple) or len(results) != 3 or any(type(each) is not int for each in results):
        return ""
    return "-".join(map(str, results))


def opponents(info: ModelInfo) -> Sequence[tuple[str, str, str]]:
    """Return of every fixed opponent its name, the wins, draws and losses, and the points with their 95 % interval."""
    rows, listed = [], (info.match or {}).get("opponents")
    for each in listed[:MOST_OPPONENTS] if isinstance(listed, list | tuple) else ():
        results = [number(each, key) for key in ("wins", "draws", "losses", "points", "low", "high")]
        name = each.get("name") if isinstance(each, dict) else None
        if isinstance(name, str) and name.isprintable() and None not in results:
            wins, draws, losses, points, low, high = (value or 0.0 for value in results)
            counts = f"{wins:.0f}-{draws:.0f}-{losses:.0f}"
            rows.append((name[:80].replace("|", "/"), counts, f"{points:.3f} [{low:.3f}, {high:.3f}]"))
    return rows


def cost(spent: Spent | None) -> str:
    """Return what was spent, `9 min 40 s, 120,300 games`; "" if nobody said."""
    return "" if spent is None else f"{_duration(spent.seconds)}, {spent.games:,} games"


def _with_error(info: ModelInfo, metric: str, error: str, scale: float, unit: str) -> str:
    value, sigma = number(info.match, "truth", metric), number(info.match, "truth", error)
    if value is None:
        return ""
    digits = 1 if unit else 2
    half = "" if sigma is None else f" \N{PLUS-MINUS SIGN}{scale * SIGMAS * sigma:.{digits}f}"
    return f"{scale * value:.{digits}f}{half}{unit}"


def _duration(seconds: float) -> str:
    """Return a duration in its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
