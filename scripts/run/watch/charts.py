"""The charts of a run's page: which metrics they show, and how."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scripts.run.tracking.jsonl import Row
from scripts.run.watch.chart import Chart, Floats, Places, Series
from scripts.run.watch.history import History, column

SIGMAS = 1.96
"""Standard errors on either side of an interval of 95 %."""

AXES = {"time": "elapsed_s", "games": "run/games", "positions": "run/positions", "simulations": "run/simulations"}
"""What curves can be drawn over, with its metric."""


def places_of(history: History) -> Places:
    """Return where the points of charts are, on every axis: those of `Chart.x`."""
    ticks = {axis: column(history.ticks, metric) for axis, metric in AXES.items()}
    places = {
        "ticks": {axis: _never_falling(values) for axis, values in ticks.items()},
        "gate": _at(history, history.verdicts),
        "truth": _at(history, _judged(history)),
        "play": _at(history, history.results),
        "strength": _at(history, _measured(history)),
    }
    return {
        name: {axis: values for axis, values in axes.items() if axis == "time" or values.any()}
        for name, axes in places.items()
    }


def charts_of(history: History) -> list[Chart]:
    """Return the charts that these metrics fill."""
    ticks = history.ticks
    charts = [
        strength(history),
        *opponents(history),
        *truths(history),
        play(history),
        *losses(ticks),
        *self_play(ticks),
        *speeds(ticks),
        *balance(ticks),
    ]
    known = [replace(chart, series=[each for each in chart.series if not each.is_empty]) for chart in charts]
    return [chart for chart in known if chart.series and not chart.is_zero]


def strength(history: History) -> Chart:
    """Return every candidate's Elo with its interval, above the champion of its day, and the champion's."""
    rows = history.verdicts
    elo, after = column(rows, "gate/elo"), column(rows, "gate/champion_elo")
    promoted = is_promoted(rows)
    champion = np.where(np.logical_or.accumulate(promoted), after, np.nan)  # the baseline before it is none
    before = np.where(promoted, after - elo, after)
    results = [verdict_text(row) for row in rows]

    def those(chosen: NDArray[np.bool_], name: str, color: str) -> Series:
        ends = (before + column(rows, f"gate/elo_{end}") for end in ("low", "high"))
        low, high = (np.where(chosen, end, np.nan) for end in ends)
        values = np.where(chosen, before + elo, np.nan)
        return _intervals(name, [values, low, high], color, results)

    # the axis begins below what follows the first promotion, whose jump would leave no room for the rest
    first = int(promoted.argmax()) if promoted.any() else 0
    later = np.concatenate(
        [after[first:], (before + elo)[first:], (before + column(rows, "gate/elo_low"))[first + 1 :]]
    )
    floor = float(np.nanmin(later)) - 60 if np.isfinite(later).any() else 0.0
    return Chart(
        id="strength",
        title="Strength: gate matches",
        note="each bar is a candidate: Elo against the champion of its day with its 95 % interval; the line is the "
        "champion",
        unit="Elo",
        x="gate",
        series=[
            Series(name="champion", values=champion, style="step", color="ink"),
            those(~promoted, "rejected", "quiet"),
            those(promoted, "promoted", "good"),
        ],
        range=(100 * np.floor(floor / 100) if floor > 200 else None, None),
    )


def opponents(history: History) -> list[Chart]:
    """Return the scores of champions, and some candidates, against fixed opponents, and of champions against older
    ones."""
    rows = _measured(history)
    fixed, older = [], []
    for opponent in history.strength:
        score, low, high = (
            100 * column(rows, f"strength/{opponent}/{key}") for key in ("score", "score_low", "score_high")
        )
        names = [strength_text(row, opponent) for row in rows]
        if is_version(opponent):
            fallen = column(rows, f"strength/{opponent}/fallen") == 1
            for chosen, color in ((~fallen, "good"), (fallen, "bad")):
                parts = [np.where(chosen, part, np.nan) for part in (score, low, high)]
                older.append(_intervals(opponent, parts, color, names))
        else:
            fixed.append(replace(_intervals(opponent, [score, low, high], "", names), style="band"))
    return [
        Chart(
            id="opponents",
            title="Against fixed opponents",
            note="points of champions and some candidates, with 95 % intervals",
            unit="%",
            x="strength",
            series=fixed,
            range=(0, 100),
        ),
        Chart(
            id="older",
            title="Champions against older ones",
            note="points, with 95 % intervals; red where an earlier champion scored more",
            unit="%",
            x="strength",
            series=older,
            legend=False,
            range=(0, 100),
        ),
    ]


def strength_text(row: Row, opponent: str) -> str:
    """Return a match against a fixed opponent or an older champion in words."""

    def of(key: str) -> float:
        return row.get(f"strength/{opponent}/{key}", 0)

    fallen = ", less than an earlier champion" if of("fallen") else ""
    return f"v{of('version'):.0f} against {opponent}: {of('wins'):.0f}-{of('draws'):.0f}-{of('losses'):.0f}{fallen}"


def is_version(opponent: str) -> bool:
    """Return whether an opponent is an older champion, `v12`."""
    return re.fullmatch("v[0-9]+", opponent) is not None


def truths(history: History) -> list[Chart]:
    """Return what solved positions say about every candidate: results kept, discs lost, errors of the value."""
    rows, x = _judged(history), "truth"
    names = [verdict_text(row) for row in rows]

    def measured(metric: str, error: str, name: str, scale: float, most: float) -> Series:
        values, errors = scale * column(rows, f"gate/truth/{metric}"), scale * column(rows, f"gate/truth/{error}")
        low, high = np.maximum(0, values - SIGMAS * errors), np.minimum(most, values + SIGMAS * errors)
        return _intervals(name, [values, low, high], "good", names)

    kept = measured("outcome_kept", "outcome_kept_error", "results kept", 100, 100)
    lost = measured("regret_discs", "regret_error_discs", "discs", 1, np.inf)
    errors = {"error": "value_error", "calibration": "calibration_error"}
    return [
        Chart(
            id="truth",
            title="Truth: moves that keep the exact result",
            note="every candidate on solved positions, 95 % interval",
            unit="%",
            x=x,
            series=[Series(name="", values=kept.values, color="good"), kept],
        ),
        Chart(id="regret", title="Discs lost a move", note="on the same positions", x=x, series=[lost]),
        Chart(
            id="value",
            title="Errors of the value",
            note="of the search's value, against the exact result",
            x=x,
            series=[Series(name=name, values=column(rows, f"gate/truth/{key}")) for name, key in errors.items()],
            range=(0, None),
        ),
    ]


def play(history: History) -> Chart:
    """Return the results of the side that learns against one that does not."""
    rows = history.results
    parts = [column(rows, f"play/{name}") for name in ("wins", "draws", "losses")]
    games = np.maximum(1, sum(parts, np.zeros(len(rows))))
    return Chart(
        id="play",
        title="Results of the side that learns",
        note="every hundred games or so",
        unit="%",
        x="play",
        series=[
            Series(name=name, values=100 * part / games)
            for name, part in zip(("won", "drawn", "lost"), parts, strict=True)
        ],
        range=(0, 100),
    )


def losses(ticks: list[Row]) -> list[Chart]:
    """Return the learner's losses, its validation, its learning rate and its gradient."""

    def chart(id: str, title: str, note: str, names: Mapping[str, str]) -> Chart:
        series = [Series(name=name, values=column(ticks, metric)) for name, metric in names.items()]
        return Chart(id=id, title=title, note=note, x="ticks", series=series)

    parts = {part: f"learner/losses/{part}" for part in ("policy", "value", "margin", "owner")}
    fresh = {"policy, fresh games": "selfplay/policy_loss"}
    return [
        chart("losses", "Losses", "fresh games: before they enter the replay", parts | fresh),
        chart("error", "Mean error of the targets", "", {"error": "learner/losses/error"}),
        chart(
            "values", "Mean action value", "", {"moves taken": "learner/losses/q", "target": "learner/losses/target"}
        ),
        chart(
            "accuracy",
            "Moves predicted",
            "share",
            {
                "training": "learner/losses/accuracy",
                "validation": "learner/validation/top1",
                "validation, of five": "learner/validation/top5",
            },
        ),
        chart("validation", "Loss on validation games", "", {"validation": "learner/validation/loss"}),
        chart("rate", "Learning rate", "", {"rate": "learner/learning_rate"}),
        chart("gradient", "Norm of the gradient", "before clipping", {"norm": "learner/gradient_norm"}),
    ]


def self_play(ticks: list[Row]) -> list[Chart]:
    """Return what games and searches are like."""

    def chart(id: str, title: str, note: str, names: Mapping[str, str], unit: str = "") -> Chart:
        scale = 100 if unit == "%" else 1
        series = [
            Series(name=name, values=scale * column(ticks, f"selfplay/{metric}")) for name, metric in names.items()
        ]
        ends = (0, 100) if unit == "%" else (0, None)
        return Chart(id=id, title=title, note=note, unit=unit, x="ticks", series=series, range=ends)

    results = {"Black won": "black_win_share", "drawn": "draw_share", "White won": "white_win_share"}
    length = {"plies": "plies", "discs": "lead_discs"}
    variety = {"new openings": "new_opening_share", "lessons": "lesson_share"}
    entropies = {"search": "visit_entropy", "network": "policy_entropy", "divergence": "divergence"}
    return [
        chart("results", "Results by colour", "of a sample, without lessons", results, "%"),
        chart("length", "Length and margin", "plies of a game, discs it was won by", length),
        chart("entropy", "Entropy of the moves", "nats; divergence: what the search adds", entropies),
        chart("depth", "Depth of simulations", "plies", {"depth": "depth"}),
        chart("surprise", "Error of the value", "squared, against the end of fresh games", {"error": "value_error"}),
        chart("variety", "New openings, lessons", "shares of the games", variety, "%"),
        chart("lag", "Age of the weights that play", "versions", {"lag": "version_lag"}),
    ]


def speeds(ticks: list[Row]) -> list[Chart]:
    """Return what is done in a second, and the memory that it takes."""
    seconds, games = column(ticks, "elapsed_s"), column(ticks, "run/games")
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.diff(games, prepend=np.nan) / np.diff(seconds, prepend=np.nan)
    return [
        _curve("simulations", "Simulations a second", column(ticks, "run/simulations_per_s")),
        _curve("games", "Games a second", rate),
        _curve("memory", "Memory", column(ticks, "run/resident_mb"), note="all processes", unit="MB"),
    ]


def balance(ticks: list[Row]) -> list[Chart]:
    """Return who waits for whom, and how full the replay is."""
    training, waiting = column(ticks, "learner/training_s"), column(ticks, "learner/waiting_s")
    drawn, taken = column(ticks, "replay/samples_total"), column(ticks, "replay/positions_total")
    with np.errstate(invalid="ignore", divide="ignore"):
        idle, reuse = 100 * waiting / (training + waiting), drawn / taken
    return [
        Chart(
            id="balance",
            title="Who waits",
            unit="%",
            x="ticks",
            series=[
                Series(
                    name="actors for the learner", values=100 * column(ticks, "run/actor_waiting_share"), style="area"
                ),
                Series(name="actors between rounds", values=100 * column(ticks, "run/actor_idle_share")),
                Series(name="learner for samples", values=idle),
            ],
            range=(0, 100),
        ),
        _curve("cache", "Positions found in the actors' cache", 100 * column(ticks, "run/cache_hit_share"), unit="%"),
        Chart(
            id="replay",
            title="Replay",
            note="positions",
            x="ticks",
            series=[
                Series(name="held", values=column(ticks, "replay/positions"), style="area"),
                Series(name="drawn from", values=column(ticks, "replay/window_positions")),
            ],
            range=(0, None),
        ),
        _curve("reuse", "Times that a position is learned from", reuse, note="since the beginning"),
    ]


def _curve(id: str, title: str, values: Floats, note: str = "", unit: str = "") -> Chart:
    """Return a chart of one curve over the ticks, from 0 on."""
    return Chart(
        id=id, title=title, note=note, unit=unit, x="ticks", series=[Series(name=id, values=values)], range=(0, None)
    )


def _intervals(name: str, parts: Sequence[Floats], color: str, names: Sequence[str]) -> Series:
    """Return intervals of value, low and high."""
    return Series(name=name, values=parts[0], style="interval", low=parts[1], high=parts[2], color=color, names=names)


def _measured(history: History) -> list[Row]:
    """Return the matches against fixed opponents and older champions, one row for each model, oldest first."""
    by_version: dict[float, Row] = {}
    for opponent, rows in history.strength.items():
        for row in rows:
            version = row[f"strength/{opponent}/version"]
            by_version[version] = by_version.get(version, {}) | row
    return sorted(by_version.values(), key=lambda row: row["elapsed_s"])


def _judged(history: History) -> list[Row]:
    """Return the verdicts with figures on solved positions."""
    return [row for row in history.verdicts if "gate/truth/positions" in row]


def is_promoted(rows: list[Row]) -> NDArray[np.bool_]:
    """Return whether each verdict made its candidate the champion, (rows,)."""
    champions, candidates = column(rows, "gate/champion_version"), column(rows, "gate/candidate_version")
    return np.equal(champions, candidates, dtype=np.bool_)


def verdict_text(row: Row) -> str:
    """Return a verdict in words."""
    word = "promoted" if is_promoted([row])[0] else "rejected"
    games = "-".join(f"{row.get(f'gate/{part}', 0):.0f}" for part in ("wins", "draws", "losses"))
    candidate, opponent = row.get("gate/candidate_version", -1), row.get("gate/opponent_version", -1)
    return f"v{candidate:.0f} {word}: {games} against v{opponent:.0f}"


def _at(history: History, rows: list[Row]) -> dict[str, Floats]:
    """Return the places on every axis of rows written at other moments than the ticks."""
    seconds = _never_falling(column(rows, "elapsed_s"))
    places = {"time": seconds}
    ticks = _never_falling(column(history.ticks, "elapsed_s"))
    for name, metric in AXES.items():
        values = column(history.ticks, metric)
        known = np.isfinite(values)
        if name != "time" and known.any():
            places[name] = np.interp(seconds, ticks[known], _never_falling(values[known]))
    return places


def _never_falling(values: Floats) -> Floats:
    """Return places in order: the clock of a run that was killed goes back to its last checkpoint, a chart's cannot."""
    return np.maximum.accumulate(np.nan_to_num(values))
