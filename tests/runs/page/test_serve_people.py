"""The page for everyone who plays there: nothing is lost by a click, its pace, its ends, and every way to use it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from reversi.formats.ggf import parse_ggf
from tests.runs.page.page import discs, load, moves_of, phone, play_on, review, status
from tests.scripts.commands.reviewed_game import ending

if TYPE_CHECKING:
    from playwright.sync_api import Page

NEXT_TO_LAST = "XXXX-OXXXX-OXXXOOOOOOOOO--OOOO--OOOO X"
"""a5 ends the game and loses it, b5 would hold the draw."""


def play(page: Page, count: int) -> list[str]:
    """Play so many moves of one's own, each with the reply, and return the game."""
    for number in range(2, 2 * count + 1, 2):
        page.click(".square.legal.mine >> nth=0")
        page.locator("#moves li").nth(number - 1).wait_for()
        status(page, "Your move")
    return moves_of(page)


def test_settings_act_when_a_game_begins(page: Page) -> None:
    before = play(page, 2)
    page.select_option("#color", "O")
    page.select_option("#opponent", "random")
    page.wait_for_timeout(300)
    assert moves_of(page) == before
    assert page.locator("#bottom-side .name").inner_text() == "You"
    assert page.locator("#top-side .name").inner_text() != "Random moves"
    page.click("#seat")  # the game goes on, with Black's move to the new opponent
    page.locator("#moves li").nth(len(before)).wait_for()
    assert moves_of(page)[: len(before)] == before
    assert page.locator("#top-side .name").inner_text() == "Random moves"


@pytest.mark.parametrize("how", ["restore", "back"])
@pytest.mark.parametrize("what", ["new", "undo", "earlier", "load"])
def test_what_a_click_takes_away_comes_back(page: Page, how: str, what: str) -> None:
    before, shown = play(page, 2), discs(page)
    assert not page.locator("#restore").is_visible()
    if what == "new":
        page.click("#new .primary")
    elif what == "undo":
        page.click("#undo")
    elif what == "earlier":
        page.click("#first")
        page.locator(".square.legal.mine").last.click()
    else:
        load(page, "c2b2")
    page.locator("#restore").wait_for()
    assert moves_of(page) != before
    if how == "restore":
        page.click("#restore")
    else:
        page.go_back()
    page.locator("#moves li").nth(len(before) - 1).wait_for()
    status(page, "Your move")
    assert moves_of(page) == before
    assert discs(page) == shown
    assert (page.input_value("#color"), page.locator("#restore").is_visible()) == ("X", False)


def test_an_empty_box_loads_nothing_and_a_link_of_the_page_its_game(page: Page, address: str) -> None:
    before = play(page, 1)
    load(page, "  \n")
    page.wait_for_timeout(200)
    assert moves_of(page) == before
    page.fill("#text", f"{address}#c2b2b3")
    page.click("#load")
    page.locator("#moves li").nth(2).wait_for()
    assert moves_of(page) == ["c2", "b2", "b3"]


def test_a_game_ends_clearly_is_kept_and_goes_on_with_sides_changed(page: Page) -> None:
    page.select_option("#opponent", "random")
    page.click("#new .primary")
    assert not page.locator("#end").is_visible()
    play_on(page, "^(You win|You lose|A draw)")
    black, white = (int(page.locator(f"#{side}-side .count").inner_text()) for side in ("bottom", "top"))
    assert (black > white) == page.inner_text("#status").startswith("You win")
    assert re.search(rf"\b{black}\b", page.inner_text("#status"))
    game = moves_of(page)
    page.locator("summary", has_text="Finished games 1").click()
    assert f"You \N{EN DASH} Random moves  {black}\N{EN DASH}{white}" in page.locator("#games li").inner_text()
    with page.expect_download() as download:
        page.click("#export")
    written = download.value.path().read_text()
    assert parse_ggf(written).positions[-1].black.bit_count() == black
    assert "PB[You]PW[Random moves]" in written
    page.click("#swap")
    page.locator("#moves li").first.wait_for()
    status(page, "Your move")
    assert page.locator("#bottom-side .dot.O").count() == 1
    page.locator("#games button").click()
    page.locator("#moves li").nth(len(game) - 1).wait_for()
    assert moves_of(page) == game
    page.click("#end-review")
    page.locator("#sums tbody tr").first.wait_for()
    page.click("#forget")
    page.locator("#games-card").wait_for(state="hidden")


def test_a_rematch_begins_with_the_same_sides(page: Page) -> None:
    load(page, NEXT_TO_LAST)
    page.select_option("#color", "X")
    page.click("#seat")
    status(page, "Your move")
    page.click("[data-square=a5]")
    status(page, "You lose")
    page.click("#rematch")
    status(page, "Your move")
    assert (moves_of(page), page.locator("#bottom-side .dot.X").count()) == ([], 1)


REPLY_MS = """() => new Promise((resolve) => {
  const moves = document.querySelector("#moves");
  const began = performance.now();
  const look = () => moves.children.length === 2 && resolve(performance.now() - began);
  new MutationObserver(look).observe(moves, { childList: true });
  document.querySelector(".square.legal.mine").click();
})"""


@pytest.mark.parametrize(("motion", "least_ms"), [("reduce", 400), ("no-preference", 450)])
def test_a_reply_waits_for_ones_own_discs(page: Page, motion: Any, least_ms: int) -> None:
    page.emulate_media(reduced_motion=motion)
    page.reload()
    status(page, "Your move")
    page.select_option("#opponent", "random")
    page.click("#new .primary")
    assert page.evaluate(REPLY_MS) >= least_ms


def test_a_game_is_watched_with_pause_step_and_two_players(page: Page) -> None:
    page.select_option("#color", "none")
    page.select_option("#opponent", "random")
    page.select_option("#second", "greedy")
    page.click("#new .primary")
    page.locator("#watch").wait_for()
    page.select_option("#speed", "fast")
    page.locator("#moves li").nth(2).wait_for()
    page.click("#pause")
    status(page, "Paused")
    names = [page.locator(f"#{side}-side .name").inner_text() for side in ("bottom", "top")]
    assert names == ["Greedy: most discs now", "Random moves"]
    count = len(moves_of(page))
    page.wait_for_timeout(900)
    assert len(moves_of(page)) == count
    for number in (1, 2):
        page.click("#step")
        page.locator("#moves li").nth(count + number - 1).wait_for()
        status(page, "Paused")
    assert len(moves_of(page)) == count + 2
    page.click("#pause")
    page.locator("#moves li").nth(count + 3).wait_for()


def test_moves_score_and_passes_are_spoken_and_squares_have_their_values(page: Page) -> None:
    play(page, 1)
    move = moves_of(page)[1]
    white, black = (each.inner_text() for each in page.locator(".side .count").all())
    assert page.inner_text("#say") == f"White plays {move}. Black {black}, White {white}. Your move"
    page.check("#hints")
    page.locator(".judgement").first.wait_for()
    labels = [each.get_attribute("aria-label") or "" for each in page.locator(".square.judged").all()]
    assert all(re.fullmatch(r"\w\d, legal move, [+\N{MINUS SIGN}]?\d+(\.\d)? discs(, best)?", each) for each in labels)
    assert sum(each.endswith("best") for each in labels) == 1
    page.click("[role=row] >> nth=0 >> [role=gridcell] >> nth=0")
    assert page.locator("[role=grid] > [role=row]").count() == 6
    assert page.locator("[role=row] > [role=gridcell] > button").count() == 36


@pytest.mark.parametrize(
    "look",
    [
        {"color_scheme": "light"},
        {"color_scheme": "dark"},
        {"forced_colors": "active"},
        {"viewport": {"width": 375, "height": 700}, "has_touch": True, "is_mobile": True},
    ],
    ids=["light", "dark", "forced", "phone"],
)
def test_axe_finds_nothing(page: Page, address: str, look: dict[str, Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    browser = page.context.browser
    assert browser is not None
    tab = browser.new_context(reduced_motion="reduce", **look).new_page()
    tab.goto(address)
    load(tab, str(ending(15, 4)[0]))
    review(tab)
    tab.locator("#sums tbody tr").first.wait_for()
    tab.click("#learn")
    tab.click("#lesson-tell")
    tab.check("#hints")
    tab.locator("#analysis .line").first.wait_for()
    tab.locator("summary", has_text="Keys").click()
    found = axe.Axe().run(tab).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
    tab.context.close()


SMALL = """[...document.querySelectorAll("button, select, summary, .switch")]
  .filter((each) => each.offsetParent && !each.closest("#board"))
  .map((each) => [each.id || each.textContent, each.getBoundingClientRect()])
  .filter(([, box]) => box.width < 44 || box.height < 44).map(([name]) => name)"""


def test_fingers_find_targets_and_the_game_before_settings(page: Page, address: str) -> None:
    tab = phone(page.context.browser, address, 375, 700)
    for summary in tab.locator("summary").all():
        if summary.is_visible():
            summary.tap()
    assert tab.evaluate(SMALL) == []
    assert tab.evaluate("document.documentElement.scrollWidth") == 375
    places = [tab.locator(each).bounding_box() for each in ("#moves", "#review", "#new")]
    tops = [place["y"] for place in places if place]
    assert max(tops[:2]) < tops[2]
    tab.locator("[data-square=d2]").tap()
    tab.locator("#moves li").nth(3).wait_for()
    tab.context.close()


@pytest.mark.parametrize(("width", "height"), [(320, 568), (360, 740), (375, 667), (390, 844), (667, 375), (844, 390)])
def test_a_finger_within_44_pixels_plays_a_square_of_8x8(page: Page, address: str, width: int, height: int) -> None:
    tab = phone(page.context.browser, address, width, height, "?size=8#f5d6c3")
    squares = {each.get_attribute("data-square"): each.bounding_box() for each in tab.locator(".square").all()}
    middles = {
        name: (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for name, box in squares.items() if box
    }
    across = squares["a1"]
    assert across is not None
    assert width > 600 or width < 360 or min(across["width"], across["height"]) >= 43, "a board from edge to edge"
    x, y = middles["d3"]  # no other move is beside it
    for right, down in ((-21, -21), (21, -21), (-21, 21), (21, 21), (0, 0)):
        tab.touchscreen.tap(x + right, y + down)
        tab.locator("#moves li").nth(3).wait_for()
        assert moves_of(tab)[-1] == "d3"
        tab.locator("#undo").tap()
        tab.locator("#moves li").nth(3).wait_for(state="detached")
    tab.touchscreen.tap(*middles["g7"])
    tab.touchscreen.tap(*middles["f3"])
    tab.locator("#moves li").nth(3).wait_for()
    assert moves_of(tab)[-1] == "f3"
    tab.context.close()


@pytest.mark.parametrize(("width", "height"), [(667, 375), (740, 360), (844, 390), (932, 430)])
def test_a_phone_in_landscape_shows_the_whole_board(page: Page, address: str, width: int, height: int) -> None:
    tab = phone(page.context.browser, address, width, height)
    for part in (".frame", "#top-side", "#bottom-side", "#status"):
        box = tab.locator(part).bounding_box()
        assert box is not None
        assert (box["y"] >= 0, box["y"] + box["height"] <= height, box["x"] + box["width"] <= width) == (True,) * 3, (
            part
        )
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    tab.context.close()


def test_high_contrast_shows_a_board(page: Page, address: str) -> None:
    assert page.context.browser is not None
    tab = page.context.browser.new_page(forced_colors="active", reduced_motion="reduce")
    tab.goto(address)
    status(tab, "Your move")
    style = """(element) => {
      const { outlineStyle, backgroundColor, borderStyle } = getComputedStyle(element);
      return [outlineStyle, backgroundColor, borderStyle];
    }"""
    square = tab.locator("[data-square=a1]").evaluate(style)
    faces = [tab.locator(f".disc.{side} .face.{side}").first.evaluate(style) for side in "XO"]
    assert square[0] == "solid"
    assert [each[2] for each in faces] == ["solid", "solid"]
    assert len({faces[0][1], faces[1][1]}) == 2
    tab.close()


def test_a_game_of_another_board_says_so_and_opens_there(page: Page, address: str) -> None:
    load(page, "f5d6c3d3c4f4f6")
    status(page, "this is a game of 8x8; this page plays 6x6")
    assert page.locator("#elsewhere").inner_text() == "Open it on 8 \N{MULTIPLICATION SIGN} 8"
    page.click("#elsewhere")
    page.locator("#moves li").nth(6).wait_for()
    assert (page.inner_text("#opening"), page.locator(".square").count()) == ("Stephenson", 64)
    page.check("#hints")
    page.locator(".judgement").first.wait_for()
    review(page)
    page.locator("#sums tbody tr").first.wait_for()
    page.reload()
    page.locator("#moves li").nth(6).wait_for()
    page.click("#sizes a >> nth=0")
    status(page, "Your move")
    assert page.locator(".square").count() == 16
    page.check("#hints")
    page.locator(".judgement", has_text="\N{MINUS SIGN}8").nth(3).wait_for()  # perfect play, from every first move
    page.go_back()
    page.locator("#moves li").nth(6).wait_for()
    page.goto(f"{address}?size=5")  # there is no such board
    page.locator(".square").nth(35).wait_for()
    page.goto(f"{address}#start={'-' * 27}OX------XO{'-' * 27}+X&moves=f5")
    status(page, "this is a game of 8x8; this page plays 6x6")
    page.click("#elsewhere")
    page.locator("#moves li").first.wait_for()
    assert page.locator(".square").count() == 64


OPENINGS = {
    "c4e3f6e6f5": "Tiger",  # and the same from the other first moves
    "f5d6c3d3c4": "Tiger",
    "d3c5f6f5e6": "Tiger",
    "e6f4c3c4d3": "Tiger",
    "f5f6": "Diagonal",
    "f5f4": "Parallel",
    "f5d6c5f4e3": "Perpendicular",
    "f5": "",
    "": "",
}


def test_openings_are_named_whichever_move_begins(page: Page) -> None:
    names = page.evaluate(
        """async (games) => {
          const { openingOf } = await import("/static/openings.js");
          return games.map((game) => openingOf(game.match(/../g) ?? []));
        }""",
        list(OPENINGS),
    )
    assert dict(zip(OPENINGS, names, strict=True)) == OPENINGS


def test_the_first_load_is_small(page: Page, address: str) -> None:
    assert page.context.browser is not None
    tab, sizes = page.context.browser.new_page(), list[int]()
    tab.on("response", lambda response: sizes.append(len(response.body())))
    tab.goto(address)
    status(tab, "Your move")
    assert 50_000 < sum(sizes) < 100_000
