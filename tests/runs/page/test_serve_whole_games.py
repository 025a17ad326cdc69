"""Whole games on the page, by keys alone and by touch alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.runs.page.page import moves_of, phone, status

if TYPE_CHECKING:
    from playwright.sync_api import Page

END = re.compile("You win|You lose|A draw")


def focused(page: Page, attribute: str) -> str:
    return str(page.evaluate(f"document.activeElement.getAttribute({attribute!r}) ?? ''"))


def tab_to(page: Page, attribute: str, wanted: str) -> None:
    for _ in range(100):
        if re.fullmatch(wanted, focused(page, attribute)):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {wanted}")


def next_move(page: Page) -> str | None:
    """Wait for one's turn and return a square to play on, or None at the end of the game."""
    page.locator("#status", has_text=re.compile(f"Your move|{END.pattern}")).wait_for()
    if END.match(page.inner_text("#status")):
        return None
    return page.locator(".square.legal.mine").first.get_attribute("data-square")


def test_a_whole_game_is_played_by_keys_alone(page: Page) -> None:
    tab_to(page, "data-square", "[a-f][1-6]")
    while (square := next_move(page)) is not None:
        at = focused(page, "data-square")
        across, down = (ord(to) - ord(now) for to, now in zip(square, at, strict=True))
        for key in ["ArrowRight" if across > 0 else "ArrowLeft"] * abs(across):
            page.keyboard.press(key)
        for key in ["ArrowDown" if down > 0 else "ArrowUp"] * abs(down):
            page.keyboard.press(key)
        assert focused(page, "data-square") == square
        played = len(moves_of(page))
        page.keyboard.press("Enter")
        page.locator("#moves li").nth(played).wait_for()
    tab_to(page, "id", "rematch")
    page.keyboard.press("Enter")
    status(page, "Your move")
    assert moves_of(page) == []


def test_a_whole_game_is_played_by_touch_alone(page: Page, address: str) -> None:
    tab = phone(page.context.browser, address, 375, 700)  # with a game of three moves, of which one plays both sides
    tab.select_option("#color", "X")
    tab.locator("#new .primary").tap()
    tab.locator("#moves li").first.wait_for(state="detached")
    while (square := next_move(tab)) is not None:
        played = len(moves_of(tab))
        tab.locator(f"[data-square={square}]").tap()
        tab.locator("#moves li").nth(played).wait_for()
    tab.locator("#rematch").tap()
    status(tab, "Your move")
    assert moves_of(tab) == []
    tab.context.close()
