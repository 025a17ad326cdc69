"""`RunView`: all that the page of a run shows, as JSON: read from its folder alone, whether it trains or has ended."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

from reversi.errors import ReversiError, RunError
from reversi.files import read_bytes
from scripts.config.tracking import without_webhook
from scripts.run.folder import is_stopping
from scripts.run.status import config_of, health_of, registry_url, state_of
from scripts.run.tracking.jsonl import Row
from scripts.run.watch.chart import places_json
from scripts.run.watch.charts import SIGMAS, charts_of, is_promoted, is_version, places_of, verdict_text
from scripts.run.watch.history import History

LOG_BYTES = 1 << 16
"""Bytes from the end of a run's log that are looked through for events."""

MOST_EVENTS = 60
"""Most events that are shown, the newest."""

MOST_SUMMARY_BYTES = 1 << 20
"""Largest summary that is read."""

MINUTE_S = 60.0


class RunView:
    """The page of one run; `poll` reads on."""

    def __init__(self, folder: Path) -> None:
        """Raises RunError if the folder is none of a run."""
        self.folder, self.config = folder, without_webhook(config_of(folder))
        self._written_ns = self._config_ns()
        self._history = History(folder)

    def poll(self) -> dict[str, Any]:
        """Return what the page shows now; RunError if the folder is gone."""
        head, history = self.head(), self._history
        return head | {
            "commands": self._commands(history.verdicts),
            "places": places_json(places_of(history)),
            "charts": [chart.as_json() for chart in charts_of(history)],
            "gate": [_match(row) for row in reversed(history.verdicts)],
            "roles": self._roles() if head["state"] in ("training", "saving") else [],
            "events": self._events(),
        }

    def head(self) -> dict[str, Any]:
        """Return what stands above the charts; RunError if the folder is gone."""
        newest = self.read_on().newest
        state, record = state_of(self.folder, wrote_metrics=bool(newest))
        minutes = self._at("run", "minutes")
        return {
            "run": self.folder.name,
            "state": "saving" if state == "training" and is_stopping(self.folder) else state,
            "reason": record.error if record else None,
            "what": self._what(),
            "elapsed_s": newest.get("run/elapsed_s", 0.0),
            "limit_s": None if minutes is None else MINUTE_S * minutes,
            "tiles": self._tiles(),
        }

    def read_on(self) -> History:
        """Return the metrics, with what has been written since; RunError if the folder is gone."""
        if not self.folder.is_dir():
            raise RunError(f"the run's folder is gone: {self.folder}")
        if (written_ns := self._config_ns()) != self._written_ns:  # a run that is resumed may have other settings
            self.config, self._written_ns = without_webhook(config_of(self.folder)), written_ns
        self._history.poll()
        return self._history

    @property
    def registry_url(self) -> str:
        """The URL of the run's registry."""
        return registry_url(self.config, self.folder)

    def config_text(self) -> str:
        """Return the run's configuration as it is now, without its webhook; RunError if it cannot be read."""
        return yaml.safe_dump(without_webhook(config_of(self.folder)), sort_keys=False)

    def _config_ns(self) -> int:
        """Return when the configuration was written, 0 if it is not there."""
        with contextlib.suppress(OSError):
            return (self.folder / "config.yaml").stat().st_mtime_ns
        return 0

    def _at(self, group: str, key: str) -> Any:
        values = self.config.get(group)
        return values.get(key) if isinstance(values, dict) else None

    def _what(self) -> list[str]:
        """Return what is trained, by what, in a few words each."""
        from scripts.config.job import job_of

        try:
            job = job_of(self.config)
        except ReversiError:  # of another version of the program
            return [str(self._at("game", "name")), str(self._at("algorithm", "name"))]
        size = job.game.name.removeprefix("reversi")
        return [
            f"{size}\N{MULTIPLICATION SIGN}{size}" if size.isdigit() else job.game.name,
            job.algorithm.name,
            str(job.network),
            f"seed {job.run.seed}",
            *([] if job.begun_from is None else [f"begun from {job.begun_from.model}"]),
        ]

    def _commands(self, verdicts: list[Row]) -> dict[str, str]:
        """Return command lines for the run, by what they do."""
        registry = self.registry_url
        commands = {"status": f"reversi status {quote(str(self.folder))}"}
        if is_promoted(verdicts).any():
            commands["play the champion"] = f"reversi serve --registry {quote(registry)}"
            commands["pull the champion"] = f"reversi pull --registry {quote(registry)}"
        return commands

    def _tiles(self) -> list[dict[str, str]]:
        """Return the figures that stand above all charts."""
        newest, verdicts = self._history.newest, self._history.verdicts
        tiles = []
        promoted = [row for row, is_one in zip(verdicts, is_promoted(verdicts), strict=True) if is_one]
        if verdicts:
            champion = f"v{verdicts[-1]['gate/champion_version']:.0f}" if promoted else "none yet"
            tiles.append(_tile(champion, f"champion, {len(promoted)} of {len(verdicts)} candidates promoted"))
        judged = [row for row in promoted or verdicts if "gate/truth/outcome_kept" in row]
        if judged:
            row = judged[-1]
            kept, error = row["gate/truth/outcome_kept"], row.get("gate/truth/outcome_kept_error", 0.0)
            positions = row.get("gate/truth/positions", 0)
            words = f"results kept, \N{PLUS-MINUS SIGN}{100 * SIGMAS * error:.1f}, of {positions:,.0f} solved positions"
            tiles.append(_tile(f"{100 * kept:.1f} %", words))
        tiles.append(_tile(f"{newest.get('run/games', 0):,.0f}", "games"))
        since = [row for row in self._history.recent if row["elapsed_s"] > newest.get("elapsed_s", 0) - MINUTE_S]
        for metric, words in (("run/simulations_per_s", "simulations/s"), ("run/positions_per_s", "positions/s")):
            rates = [row[metric] for row in since if row.get(metric)]
            if rates:
                tiles.append(_tile(f"{sum(rates) / len(rates):,.0f}", f"{words}, last minute"))
                break
        tiles += [
            _tile(f"{100 * score:.1f} %", f"against {player}, {games:,.0f} games")
            for player, (score, games) in (self._results() or self._newest_results()).items()
        ]
        return tiles

    def _results(self) -> dict[str, tuple[float, int]]:
        """Return the champion's points per game and games against fixed players; none before the summary is written."""
        try:
            summary = json.loads(read_bytes(self.folder / "summary.json", "a run's summary", MOST_SUMMARY_BYTES))
            return {
                str(player): (float(result["score"]), int(result["games"]))
                for player, result in summary["results"].items()
            }
        except (ReversiError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def _newest_results(self) -> dict[str, tuple[float, float]]:
        """Return the same of the newest champion against the fixed opponents of the gate."""
        results = {}
        for opponent, rows in self._history.strength.items():
            of = f"strength/{opponent}/"
            champions = [row for row in rows if row.get(f"{of}champion")]
            if champions and not is_version(opponent):
                row = champions[-1]
                games = sum(row.get(of + part, 0) for part in ("wins", "draws", "losses"))
                results[opponent] = (row.get(f"{of}score", 0.5), games)
        return results

    def _roles(self) -> list[dict[str, Any]]:
        """Return each role's health, as the driver saw it last."""
        health = health_of(self._history.newest)
        return [{"role": role, **values} for role, values in health.items() if role != "memory"]

    def _events(self) -> list[dict[str, Any]]:
        """Return what happened, newest first: verdicts by the time of training, then lines of the log by the clock."""
        verdicts = [
            {"at_s": row["elapsed_s"], "text": verdict_text(row), "kind": "promotion" if promoted else "verdict"}
            for row, promoted in zip(self._history.verdicts, is_promoted(self._history.verdicts), strict=True)
        ]
        lines = [{"text": line, "kind": "log"} for line in self._log_lines()]
        return (verdicts + lines)[: -MOST_EVENTS - 1 : -1]

    def _log_lines(self) -> list[str]:
        try:
            with open(self.folder / "logs" / "run.log", "rb") as file:
                file.seek(max(0, file.seek(0, 2) - LOG_BYTES))
                text = file.read().decode("utf-8", errors="replace")
        except OSError:
            return []
        return [line for line in text.splitlines() if line.strip()]


def _tile(value: str, text: str) -> dict[str, str]:
    return {"value": value, "text": text}


def _match(row: Row) -> dict[str, Any]:
    """Return a verdict for the table."""
    get = row.get
    return {
        "candidate": get("gate/candidate_version"),
        "opponent": get("gate/opponent_version"),
        "at_s": row["elapsed_s"],
        "games": [get(f"gate/{part}") for part in ("wins", "draws", "losses")],
        "elo": [get("gate/elo"), get("gate/elo_low"), get("gate/elo_high")],
        "kept": get("gate/truth/outcome_kept"),
        "lost": get("gate/truth/regret_discs"),
        "seconds": get("gate/match_s"),
        "promoted": bool(is_promoted([row])[0]),
    }
