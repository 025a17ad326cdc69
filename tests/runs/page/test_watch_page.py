"""The page of a run in a browser, on a desk and on a phone, and its report opened from disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.position import Position
from reversi.model.registry import Registry
from scripts.bench.setup import random_weights
from scripts.run.kept_games import KeptGames
from scripts.run.watch.report import write_report
from tests.runs.page.page import CHROMIUM, served
from tests.scripts.conftest import TINY
from tests.scripts.run.watch.watched_runs import VERDICTS, moment, run_with, verdict
from tests.scripts.run.written_runs import held, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WON = {"wins": 30, "draws": 0, "losses": 10, "opponent_version": 0, "champion_elo": 190.0}
SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def opened(browser: Browser, address: str, size: str) -> tuple[Page, list[str]]:
    """Return a page and the list of its errors so far."""
    page = browser.new_page(viewport=SIZES[size])  # type: ignore[arg-type]
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.set_default_timeout(120_000)
    page.goto(address)
    return page, errors


def fits(page: Page) -> bool:
    """Return whether nothing makes the page wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def point_at(page: Page, chart: str, words: str) -> None:
    """Move the mouse over a chart until it says `words`: one that is drawn again has lost the mouse."""
    for step in range(600):
        page.hover(f"#{chart} .u-over", position={"x": 40 + step % 2, "y": 40})
        tip = page.locator(f"#{chart} .tip")
        if tip.is_visible() and words in tip.inner_text():
            return
        page.wait_for_timeout(100)
    pytest.fail(f"the chart does not say {words!r}")


@pytest.mark.parametrize("size", SIZES)
def test_a_run_is_followed_while_it_trains_and_when_it_has_ended(browser: Browser, size: str, tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", VERDICTS[:1]).folder
    with held(run), served(run, command="watch") as address:
        page, errors = opened(browser, address, size)
        page.locator("#state", has_text="training").wait_for()
        page.locator("#gate tbody tr").first.wait_for()
        assert page.locator("#gate tbody tr").count() == 1
        assert page.locator("#strength canvas").count() == 1
        assert fits(page)
        page.locator("#roles", has_text="learner").wait_for()
        more = [row for at_s in (65.0, 70.0) for row in moment(at_s)]
        write(run, [*moment(60.0), *VERDICTS[:1], *more, verdict(75.0, 8, 2, promoted=True, champion=1050.0)])
        page.locator(".tile", has_text="v8").wait_for()
        page.select_option("#axis", "games")
        page.click("#show-config")
        page.locator("#dialog-text", has_text="name: reversi6").wait_for()
        page.click("#dialog button")
        point_at(page, "strength", "games")
        assert errors == []
        shutil.rmtree(run)
        page.locator("#trouble", has_text="folder is gone").wait_for()
        page.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_report_is_the_same_page_without_a_server(browser: Browser, size: str, tmp_path: Path) -> None:
    report = write_report(run_with(tmp_path / "run", VERDICTS).folder)
    page, errors = opened(browser, report.as_uri(), size)
    page.locator(".tile", has_text="v6").wait_for()
    assert page.locator("#gate tbody tr").count() == 3
    assert page.locator("#losses canvas").count() == 1
    assert fits(page)
    page.click("#show-config")
    page.locator("#dialog-text", has_text="name: reversi6").wait_for()
    assert errors == []
    page.close()


def test_a_kept_game_opens_on_the_board_with_the_model_of_its_run(browser: Browser, tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", VERDICTS).folder
    Registry(run / "registry", create=True).publish(random_weights(TINY), "promoted", WON)
    kept = KeptGames(run, 100)
    kept.match(6, f"{GgfGame(Position.start('reversi6'), tuple(map(GgfMove, (8, 7, 13))), {'PB': 'v6', 'PW': 'v2'})}\n")
    with served(run, command="watch") as address:
        page, errors = opened(browser, address, "desk")
        page.locator("#board", has_text="play the champion").wait_for()
        with page.expect_download() as download:
            page.hover("#losses .plot")
            page.locator("#losses button", has_text="CSV").click()
        assert Path(download.value.path()).read_text().startswith("seconds,policy")
        with page.expect_popup() as popup:
            page.locator("#kept a").first.click()
        board = popup.value
        board.on("pageerror", lambda error: errors.append(str(error)))
        board.locator("#moves", has_text="c2").wait_for(timeout=120_000)
        assert board.url.startswith(f"{address}play/0/#c2")
        assert errors == []
        page.close()
        board.close()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, look: Literal["light", "dark"], tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    run = run_with(tmp_path / "run", VERDICTS).folder
    page, _ = opened(browser, write_report(run).as_uri(), "phone")
    page.emulate_media(color_scheme=look)
    page.locator("#gate tbody tr").first.wait_for()
    found = axe.Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in serious] == []
    page.close()


def test_runs_are_compared_or_chosen_and_a_lost_server_is_said(browser: Browser, tmp_path: Path) -> None:
    runs = [run_with(tmp_path / name, VERDICTS).folder for name in ("first", "second")]
    with served(*runs, command="watch") as address:
        page, errors = opened(browser, address, "phone")
        page.locator("h1", has_text="2 runs").wait_for()
        page.locator("#strength canvas").wait_for()
        assert page.locator("#compared-runs tbody tr").count() == 2
        page.select_option("#axis", "games")
        point_at(page, "losses", "games")
        assert fits(page)
        assert errors == []
        page.select_option("#runs", "second")
        page.locator("h1", has_text="second").wait_for()
    page.locator("#trouble", has_text="the server does not answer").wait_for()
    page.close()
