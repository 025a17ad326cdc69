"""Prometheus gets what the metrics say, and the dashboard of Grafana asks for nothing else."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from scripts.run.watch.prometheus import Metrics
from tests.documents import metrics_named
from tests.scripts.run.watch.watched_runs import VERDICTS, run_with
from tests.scripts.run.written_runs import held

DASHBOARD = Path(__file__).parents[4] / "deploy" / "grafana-dashboard.json"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(metrics: Metrics) -> Samples:
    """Return the samples of a scrape, as Prometheus reads them."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}


def of(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return f"reversi_{name}", frozenset(labels.items())


def test_a_scrape_has_the_newest_values_of_every_run(tmp_path: Path) -> None:
    views = {name: run_with(tmp_path / name, VERDICTS) for name in ("a", 'b "quoted"')}
    metrics = Metrics(views)
    with held(tmp_path / "a"):
        samples = scraped(metrics)
    assert samples[of("run_games", run="a")] == samples[of("run_games", run='b "quoted"')] == 600
    assert samples[of("gate_champion_elo", run="a")] == 1090
    assert samples[of("health_rss_mb", run="a", role="learner")] == 300
    assert samples[of("health_memory_driver_mb", run="a")] == 200
    assert samples[of("state", run="a", state="training")] == 1
    assert samples[of("state", run='b "quoted"', state="training")] == 0
    assert samples[of("state", run='b "quoted"', state="died")] == 1
    with open(tmp_path / "a" / "metrics.jsonl", "a") as file:
        file.write('{"step": 99, "elapsed_s": 70.0, "run/games": 700.0}\n')
    shutil.rmtree(tmp_path / 'b "quoted"')
    samples = scraped(metrics)
    assert samples[of("run_games", run="a")] == 700
    assert not [labels for _, labels in samples if ("run", 'b "quoted"') in labels]


def test_every_query_of_the_dashboard_names_a_metric_and_its_labels() -> None:
    known = {re.sub("^health_ROLE_", "health_", name.replace("/", "_")) for name in metrics_named()} | {"state"}
    queries = [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]
    assert len(queries) > 15
    for query in queries:
        names = re.findall(r"reversi_(\w+)", query)
        assert names
        assert set(names) <= known, query
        assert query.count('{run=~"$run"}') == len(names)


def test_the_dashboard_has_its_own_ids_and_overlaps_nowhere() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
