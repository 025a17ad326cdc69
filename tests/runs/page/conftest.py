"""A server with a model, and its page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.runs.page.page import CHROMIUM, served

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def address(registry: Path) -> Iterator[str]:
    """Return the address of a server with a 6x6 model."""
    with served("--registry", registry, "--simulations", 8) as url:
        yield url


@pytest.fixture
def page(address: str) -> Iterator[Page]:
    """Return the page in a browser; no error may have come up there in the end."""
    if CHROMIUM is None:
        pytest.skip("no chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(address)
        page.locator("#status", has_text="Your move").wait_for()
        yield page
        browser.close()
        assert [error for error in errors if "400 (Bad Request)" not in error] == []  # a game that was refused
