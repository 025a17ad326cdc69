"""`reversi serve` as a process, and its page in a browser."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[3]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def served(*arguments: object, command: str = "serve", code: int = 0, said: str = "") -> Iterator[str]:
    """Run `reversi serve`, or another such command, on a free port, yield its address, end it by SIGTERM; `said` is a
    pattern of its errors."""
    line = [sys.executable, "-m", "scripts.cli", command, "--port", "0", *map(str, arguments)]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = process.stdout.readline()
            found = re.search(r"http://\S+/", printed)
            assert found, printed + process.communicate(timeout=100)[1]
            yield found[0]
            process.send_signal(signal.SIGTERM)
            assert process.wait(100) == code
            assert process.stderr is not None
            errors = process.stderr.read()
            assert re.fullmatch(said, errors), errors
        finally:
            process.kill()


def load(page: Page, text: str) -> None:
    """Load a text and wait until the page shows it, or why it cannot be read."""
    page.locator("summary", has_text="Copy or load").click()
    page.fill("#text", text)
    if not text.strip():
        page.click("#load")
        return
    with page.expect_response("**/api/game"):
        page.click("#load")
    page.evaluate("new Promise(requestAnimationFrame)")


def play_on(page: Page, end: str) -> None:
    """Click on legal squares until the status says that the game has ended."""
    for _ in range(600):
        if re.search(end, page.inner_text("#status")):
            return
        page.evaluate("document.querySelector('.square.legal.mine')?.click()")
        page.wait_for_timeout(50)
    pytest.fail(f"the game did not end: {page.inner_text('#status')}")


def status(page: Page, text: str) -> None:
    page.locator("#status", has_text=text).wait_for()


def discs(page: Page) -> str:
    """Return the board as the page shows it, in the letters of a position."""
    labels = [each.get_attribute("aria-label") or "" for each in page.locator(".square").all()]
    return "".join({"black": "X", "white": "O"}.get(label.split(", ")[1], "-") for label in labels)


def review(page: Page) -> None:
    page.click("#review")
    page.locator("#review", has_text="Reviewing").wait_for(state="detached")


def moves_of(page: Page) -> list[str]:
    return [each.inner_text().strip() for each in page.locator("#moves li").all()]


def phone(browser: Browser | None, address: str, width: int, height: int, game: str = "#c2b2b3") -> Page:
    assert browser is not None
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(f"{address}{game}")
    tab.locator("#moves li").nth(2).wait_for()
    return tab
