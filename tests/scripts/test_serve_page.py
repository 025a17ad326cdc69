"""The page of `reversi serve` in a browser: links and copies of a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reversi.games.position import Position
from reversi.ggf import parse_ggf
from tests.scripts.test_serve import address, discs, load, page, status  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIVE_LEFT = "OOOOOOOOXXXXOXOXXXOXXOXXOXOXOXO----- X"


def opened(page: Page, url: str, width: int = 1280, height: int = 900) -> Page:  # noqa: F811
    """Return a fresh tab that shows the address."""
    assert page.context.browser is not None
    tab = page.context.browser.new_page(viewport={"width": width, "height": height})
    tab.goto(url)
    return tab


def test_a_link_and_ggf_hold_the_start_of_a_game(page: Page) -> None:  # noqa: F811
    load(page, FIVE_LEFT)
    status(page, "Black to move")
    page.evaluate("document.querySelector('.square.legal.mine').click()")
    page.locator("#moves li").first.wait_for()
    assert not page.locator("#copy").is_visible()  # a transcript would lose the start
    shown, moves = discs(page), [each.inner_text().strip() for each in page.locator("#moves li").all()]
    page.click("#copy-ggf")
    read = parse_ggf(page.input_value("#text"))
    assert str(read.start) == FIVE_LEFT
    assert str(read.positions[-1])[:36] == shown
    page.click("#copy-link")
    other = opened(page, page.input_value("#text"))
    other.locator("#moves li").nth(len(moves) - 1).wait_for()
    assert discs(other) == shown
    assert [each.inner_text().strip() for each in other.locator("#moves li").all()] == moves
    assert other.input_value("#color") == "both"
    other.click("#first")
    assert discs(other) == FIVE_LEFT[:36]


def test_a_position_alone_is_in_the_link(page: Page, address: str) -> None:  # noqa: F811
    load(page, FIVE_LEFT)
    status(page, "Black to move")
    other = opened(page, page.evaluate("location.href"))
    status(other, "Black to move")
    assert discs(other) == FIVE_LEFT[:36]
    plain = opened(page, f"{address}#moves=c2b2")
    plain.locator("#moves li").nth(1).wait_for()
    assert plain.evaluate("location.hash") == "#c2b2"
    plain.locator("summary").click()
    plain.click("#copy")
    assert plain.input_value("#text") == "c2b2"


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("#f5d6", "expected a legal move at ply 1, got 'f5'"),
        ("#h8", "expected a square from a1 to f6"),
        ("#start=XO&moves=c2", "expected 36 squares"),
        ("#start=OOOOOOOOXXXXOXOXXXOXXOXXOXOXOXO-----+X&moves=a", "expected a square from a1 to f6"),
    ],
)
def test_a_link_that_cannot_be_read_is_said_in_a_fresh_tab(
    page: Page,  # noqa: F811
    address: str,  # noqa: F811
    link: str,
    reason: str,
) -> None:
    tab = opened(page, address + link)
    status(tab, "This link's game does not fit 6x6: ")
    tab.wait_for_timeout(300)
    assert reason in tab.inner_text("#status")
    assert discs(tab) == str(Position.start("reversi6"))[:36]
    assert tab.input_value("#color") == "X"
    tab.click("[data-square=c2]")
    tab.locator("#moves li").nth(1).wait_for()
    status(tab, "Your move")
