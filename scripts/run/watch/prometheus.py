"""The newest metrics of runs in Prometheus' text format: `reversi_run_games{run="night"}`.

The names are those of docs/metrics.md with `_` for `/`; roles and opponents are labels, as in
`reversi_health_rss_mb{run="night",role="learner"}` and `reversi_strength_score{run="night",opponent="greedy"}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from reversi.errors import RunError
from scripts.run.status import State, state_of
from scripts.run.watch.view import RunView

ROLE = re.compile("health/([a-z]+)/([a-z_]+)")
OPPONENT = re.compile("strength/(.+)/([a-z_]+)")


class Metrics(Collector):
    """The metrics of some runs, read on at every scrape.  A run whose folder is gone has none."""

    def __init__(self, views: Mapping[str, RunView]) -> None:
        self._views = views
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """Return what a scrape gets."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield one family a metric, with a sample for every run, and for every role where it is about roles."""
        families: dict[str, GaugeMetricFamily] = {}

        def add(name: str, labels: dict[str, str], value: float) -> None:
            names = list(labels)
            family = families.setdefault(name, GaugeMetricFamily(f"reversi_{name}", "docs/metrics.md", labels=names))
            family.add_metric(list(labels.values()), value)

        for run, view in self._views.items():
            try:
                newest = view.read_on().newest
            except RunError:
                continue
            now, _ = state_of(view.folder, wrote_metrics=bool(newest))
            for state in get_args(State):
                add("state", {"run": run, "state": state}, float(state == now))
            for metric, value in newest.items():
                if (role := ROLE.fullmatch(metric)) and role[1] != "memory":
                    add(f"health_{role[2]}", {"run": run, "role": role[1]}, value)
                elif opponent := OPPONENT.fullmatch(metric):
                    add(f"strength_{opponent[2]}", {"run": run, "opponent": opponent[1]}, value)
                else:
                    add(re.sub(r"\W", "_", metric), {"run": run}, value)
        yield from families.values()
