"""The page of `reversi serve` in a browser: what a review says, links and copies of a game, narrow windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pytest

from reversi.formats.ggf import parse_ggf
from reversi.games.position import Position
from tests.runs.page.page import discs, load, play_on, review, status
from tests.scripts.commands.reviewed_game import MARKS, Judged, ending

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIVE_LEFT = "OOOOOOOOXXXXOXOXXXOXXOXXOXOXOXO----- X"


def text_of(judged: Judged, shown: str) -> str:
    """Return what the list of moves should say; of several best moves it names the one that is `shown`."""
    best = next((move for move in sorted(judged.best) if move in shown), "none of the best moves")
    words = [judged.name, judged.mark, f"\N{MINUS SIGN}{judged.lost}" if judged.lost else ""]
    return " ".join(filter(None, words)) + (f", best {best}" if judged.mark else "")


def test_a_review_solves_more_than_play_does_and_says_what_each_move_lost(page: Page) -> None:
    game, judged = ending(15, 4)  # play solves from 14 empty squares on
    assert set(MARKS) <= {each.mark for each in judged}
    load(page, str(game))
    page.locator("#moves li").nth(len(judged) - 1).wait_for()
    review(page)
    shown = [" ".join(each.inner_text().split()) for each in page.locator("#moves li").all()]
    assert shown == [text_of(each, line) for each, line in zip(judged, shown, strict=True)]
    rows = [row.locator("td").all_inner_texts() for row in page.locator("#sums tbody tr").all()]
    for side, *counts, lost in rows:
        mine = [each for each in judged if each.side == side]
        assert counts == [str(sum(each.mark == mark for each in mine) or "\N{EN DASH}") for mark in MARKS]
        assert int(lost) == sum(each.lost for each in mine)
    assert [side for side, *_ in rows] == ["Black", "White"]
    assert page.locator("#graph .slip").count() == sum(each.mark != "" for each in judged)
    for width in (320, 375, 800, 950, 1366):
        page.set_viewport_size({"width": width, "height": 700})
        wide = "[...document.querySelectorAll('#moves button')].filter((each) => each.scrollWidth > each.clientWidth)"
        assert page.evaluate(f"{wide}.length") == 0


def analysis(
    *moves: tuple[str, float | None, int | None], visits: int = 1, certain: Sequence[str] = (), proven: bool = False
) -> dict[str, Any]:
    """Return an analysis as the server sends it; the first move has the visits, others one."""
    keys = ("move", "value", "score")
    found = [{**dict(zip(keys, move, strict=True)), "visits": 1, "certain": move[0] in certain} for move in moves]
    found[0] |= {"visits": visits}
    return {"nodes": 1, "moves": found, "proven": proven}


def test_the_analysis_that_knows_more_is_kept(page: Page) -> None:
    b2 = ("b2", 0.1, None)
    shallow, deep = analysis(("c2", 0.2, None), b2), analysis(("c2", 0.5, None), b2, visits=9)
    shallow["nodes"] = 40_000_000  # of a solver that did not finish
    draw = analysis(("c2", 0, None), b2, certain=["c2"])  # another move may win
    proven = analysis(("c2", 1, None), b2, visits=3, certain=["c2"], proven=True)
    every = analysis(("c2", 1, None), certain=["c2"], proven=True)
    exact = analysis(("c2", 1, 4), certain=["c2"], proven=True)
    better = "async ([known, found]) => (await import('/static/review.js')).betterOf(known ?? undefined, found)"
    for known, found, expected in (
        (None, shallow, shallow),
        (deep, shallow, deep),
        (shallow, deep, deep),
        (deep, draw, deep),
        (draw, deep, deep),
        (deep, proven, proven),
        (proven, deep, proven),
        (proven, every, every),
        (every, exact, exact),
        (exact, deep, exact),
    ):
        assert page.evaluate(better, [known, found]) == expected


def opened(page: Page, url: str, width: int = 1280, height: int = 900) -> Page:
    """Return a fresh tab that shows the address."""
    assert page.context.browser is not None
    tab = page.context.browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    tab.goto(url)
    return tab


def test_a_link_and_ggf_hold_the_start_of_a_game(page: Page) -> None:
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


def test_a_position_alone_is_in_the_link(page: Page, address: str) -> None:
    load(page, FIVE_LEFT)
    status(page, "Black to move")
    other = opened(page, page.evaluate("location.href"))
    status(other, "Black to move")
    assert discs(other) == FIVE_LEFT[:36]
    plain = opened(page, f"{address}#moves=c2b2")
    plain.locator("#moves li").nth(1).wait_for()
    assert plain.evaluate("location.hash") == "#c2b2"
    plain.locator("summary", has_text="Copy or load").click()
    plain.click("#copy")
    assert plain.input_value("#text") == "c2b2"


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("#f5f5", "expected a legal move at ply 1, got 'f5'"),
        ("#h8", "expected a square from a1 to f6"),
        ("#start=XO&moves=c2", "expected 36 squares"),
        ("#start=OOOOOOOOXXXXOXOXXXOXXOXXOXOXOXO-----+X&moves=a", "expected a square from a1 to f6"),
    ],
)
def test_a_link_that_cannot_be_read_is_said_in_a_fresh_tab(
    page: Page,
    address: str,
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


def test_a_server_that_does_not_answer_is_no_fault_of_the_link(page: Page, address: str) -> None:
    tab = opened(page, address)
    status(tab, "Your move")
    tab.route("**/api/game", lambda route: route.abort())
    tab.evaluate("location.hash = 'c2b2b3'")
    status(tab, "The server does not answer")
    assert tab.inner_text("#status") == "The server does not answer"
    assert tab.evaluate("location.hash") == "#c2b2b3"
    tab.reload()
    status(tab, "The server does not answer")
    tab.keyboard.press("ArrowLeft")  # there is no game
    tab.unroute("**/api/game")
    status(tab, "White to move")
    assert (tab.locator("#moves li").count(), tab.input_value("#color")) == (3, "both")
    tab.route("**/api/game", lambda route: route.fulfill(status=502, body="<html>"))
    tab.evaluate("location.hash = 'c2b2'")
    status(tab, "The server answered 502")
    assert tab.inner_text("#status") == "The server answered 502"
    tab.click("#back")
    status(tab, "After ply 2 of 3")


def test_a_game_that_the_browser_kept_is_not_called_a_link(page: Page, address: str) -> None:
    tab = opened(page, address)
    status(tab, "Your move")
    tab.evaluate("history.replaceState({ mine: 'X', opponent: 'greedy', start: null, moves: ['a1'] }, '')")
    tab.reload()
    status(tab, "The game that the browser kept does not fit 6x6: expected one of ")
    tab.click("[data-square=c2]")
    tab.locator("#moves li").nth(1).wait_for()


@pytest.fixture
def narrow(page: Page, address: str) -> Iterator[Page]:
    """Return the page in a window of a telephone's size."""
    tab = opened(page, address, 375, 700)
    status(tab, "Your move")
    yield tab
    tab.close()


def test_moves_do_not_scroll_a_narrow_page(narrow: Page) -> None:
    narrow.select_option("#opponent", "random")
    narrow.click("#new .primary")
    narrow.evaluate("scrollTo(0, 0); document.querySelector('#moves').style.maxHeight = '100px'")
    for number in range(2, 7, 2):
        narrow.evaluate("document.querySelector('.square.legal.mine').click()")
        narrow.locator("#moves li").nth(number - 1).wait_for()
        status(narrow, "Your move")
        assert narrow.evaluate("scrollY") == 0
    play_on(narrow, "^(You win|You lose|A draw)")
    assert narrow.evaluate("scrollY") == 0
    in_sight = """() => {
      const [list, now] = ["#moves", "#moves .now"].map((each) => document.querySelector(each).getBoundingClientRect());
      return now.top > list.top - 1 && now.bottom < list.bottom + 1; // scrolled by whole pixels
    }"""
    assert narrow.evaluate("document.querySelector('#moves').scrollTop") > 0
    assert narrow.evaluate(in_sight)
    for _ in range(narrow.locator("#moves li").count() - 1):
        narrow.keyboard.press("ArrowLeft")
        assert narrow.evaluate(in_sight)
    assert narrow.evaluate("scrollY") == 0
    assert narrow.evaluate("document.documentElement.scrollWidth") == 375


@pytest.mark.parametrize("width", [280, 300, 320])
def test_the_page_fits_a_very_narrow_window(narrow: Page, width: int) -> None:
    load(narrow, str(ending(15, 4)[0]))
    review(narrow)
    narrow.click("#first")
    narrow.check("#hints")
    narrow.locator("#analysis .line").first.wait_for()
    narrow.set_viewport_size({"width": width, "height": 600})
    assert narrow.evaluate("document.documentElement.scrollWidth") == width


CONTRAST = """(selector) => {
  const element = document.querySelector(selector);
  let under = element;
  while (getComputedStyle(under).backgroundColor === "rgba(0, 0, 0, 0)") under = under.parentElement;
  const light = (color) => {
    const parts = color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const colors = [getComputedStyle(element).color, getComputedStyle(under).backgroundColor];
  const [low, high] = colors.map(light).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""
"""The contrast of an element's text with what is behind it, as WCAG 2 defines it."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_the_dark(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    load(page, str(ending(15, 4)[0]))
    review(page)
    page.check("#hints")
    page.locator("#moves .marked button").first.click()
    page.locator("#analysis .line").first.wait_for()
    texts = (".now span", ".now b", ".now small", "li:last-child span", "small", ".marked :not(.now) > b")
    for text in (*(f"#moves {each}" for each in texts), ".primary", "#review", "#status", "#about", "#analysis .line"):
        assert page.evaluate(CONTRAST, text) >= 4.5, text


def test_the_curve_keeps_its_letters_at_every_width(narrow: Page) -> None:
    load(narrow, "c2b2b3")
    review(narrow)
    for width in (375, 800, 1366):
        narrow.set_viewport_size({"width": width, "height": 700})
        narrow.wait_for_timeout(100)
        scale = narrow.evaluate("(({ a, d }) => [a, d])(document.querySelector('#graph text').getScreenCTM())")
        assert scale == pytest.approx([1, 1], abs=0.01)
        box = narrow.locator("#graph").bounding_box()
        line = narrow.locator("#graph .zero").bounding_box()
        assert box is not None
        assert line is not None
        assert line["x"] + line["width"] == pytest.approx(box["x"] + box["width"], abs=1)
