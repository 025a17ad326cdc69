"""The page of a run in a browser, on a desk and on a phone, and its report opened from disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.run.watch.report import write_report
from tests.runs.page.page import CHROMIUM, served
from tests.scripts.run.watch.watched_runs import VERDICTS, moment, run_with, verdict
from tests.scripts.run.written_runs import held, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
