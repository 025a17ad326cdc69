"""Sweeps are measured and fill the places of a page, with pictures beside it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reversi.errors import UsageError
from scripts.bench.measure import row
from scripts.bench.setup import Settings
from tests.figures import __main__ as figures
from tests.figures import page as figures_page
from tests.figures import sweeps
from tests.figures.limits import flop_per_position, limits

PAGE = "# Speed\n\n<!-- measured: machine -->\nold\n<!-- end -->\n\nProse.\n\n<!-- measured: games -->\n<!-- end -->\n"
SWEEP = {
    "name": "games",
    "title": "Tree over games",
    "across": "games",
    "unit": "simulations/s",
    "points": [1, 64],
    "series": {"search": [1234.5, 2_500_000.0]},
    "relative": False,
}
MEASURED = {"machine": "A machine.", "settings": {}, "rows": [], "limits": [], "peers": [], "sweeps": [SWEEP]}


def test_the_places_of_a_page_are_filled_and_the_rest_is_left(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text(PAGE)
    for _ in range(2):  # the second time over what the first has written
        figures_page.write_page(page, MEASURED)
        text = page.read_text()
        assert text.startswith("# Speed\n\n<!-- measured: machine -->\n\nA machine.\n\n<!-- end -->\n\nProse.\n")
        assert text.endswith("<!-- measured: games -->\n\n![Tree over games](speed/games.svg)\n\n<!-- end -->\n")
        assert "<svg" in (tmp_path / "speed" / "games.svg").read_text()
        assert json.loads((tmp_path / "speed.json").read_text()) == MEASURED


@pytest.mark.parametrize("relative", [False, True])
def test_a_picture_has_a_dot_at_every_point_except_on_a_limit(relative: bool) -> None:
    series = {"bf16": [1e3, 2e3, 4e3], "peak": [5e3, 5e3, 5e3]}
    text = figures_page.picture({**SWEEP, "points": [1, 8, 64], "series": series, "relative": relative})
    root = ElementTree.fromstring(text)
    assert sum(e.tag.endswith("circle") for e in root.iter()) == 3
    assert {"bf16", "peak", "Tree over games", "1", "8", "64"} <= {e.text for e in root.iter()}
    assert ("0" in {e.text for e in root.iter()}) == relative, "only shares begin at 0"


def test_a_place_for_nothing_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text("<!-- measured: love -->\n<!-- end -->\n")
    with pytest.raises(UsageError, match="'love'"):
        figures_page.write_page(page, MEASURED)


def test_the_page_of_the_documentation_has_a_place_for_everything() -> None:
    text = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    places = [found[1] for found in figures_page.PLACE.findall(text)]
    assert sorted(places) == sorted(["machine", "rows", "limits", "peers", *sweeps.SWEEPS])


def test_the_page_of_the_documentation_is_made_from_its_figures(tmp_path: Path) -> None:
    for path in (figures.PAGE, figures.PAGE.with_suffix(".json")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    page = tmp_path / figures.PAGE.name
    assert figures.main(["page", "--page", str(page), "--again"]) == 0
    assert page.read_text(encoding="utf-8") == figures.PAGE.read_text(encoding="utf-8")
    for picture in page.with_suffix("").glob("*.svg"):
        assert picture.read_text() == (figures.PAGE.with_suffix("") / picture.name).read_text()


def test_a_page_that_is_not_there_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(UsageError, match="expected a page"):
        figures.main(["page", "--page", "nowhere.md"])


def test_the_work_in_a_position_is_that_of_its_layers() -> None:
    network = Settings(blocks=1, channels=8).network
    tower = 64 * 9 * (4 * 8 + 2 * 8 * 8)
    policy = 64 * (8 * 16 + 16) + 16
    value = 64 * 8 * 4 + 4 * 64 * 64 + 64 * 4
    assert flop_per_position(network, 8) == 2 * (tower + policy + value)


def test_rows_are_held_against_their_limits() -> None:
    settings = Settings(size=6)
    rows = {
        name: row(name, [value], "", "bf16")
        for name, value in {
            "legal_moves_positions_per_s": 2e8,
            "plies_per_s": 2e8,
            "playout_games_per_s": 1e6,
            "selfplay_evaluations_per_s": 95.0,
            "inference_positions_per_s": 100.0,
        }.items()
    }
    found = {limit.row: limit for limit in limits(rows, settings)}
    assert set(found) == {"playout_games_per_s", "selfplay_evaluations_per_s"}
    assert found["playout_games_per_s"].limit == pytest.approx(1e8 / 32)
    assert found["selfplay_evaluations_per_s"].limit == 100.0
