"""The page of `reversi serve` in a browser while a review runs, and what it keeps of earlier analyses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.notation import parse_action
from reversi.games.position import Position
from tests.runs.page.page import discs, load, review, status
from tests.scripts.commands.reviewed_game import ending

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocketRoute

OPENING = "c2b2b3"
LAST_MOVE_LOSES = "XXXX-OXXXX-OXXXOOOOOOOOO--OOOO--OOOO X"  # a5 ends the game, b5 would hold the draw


class Line:
    """The page's connection to the server: what is said there, and answers that come when a test wants them."""

    def __init__(self, page: Page) -> None:
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        self.holds = False
        self._page, self._held = page, list[str]()
        page.route_web_socket("**/api/think*", self._connect)

    def _connect(self, route: WebSocketRoute) -> None:
        self._route, server = route, route.connect_to_server()

        def send(message: str | bytes) -> None:
            self.sent.append(json.loads(message))
            server.send(message)

        def receive(message: str | bytes) -> None:
            self._held.append(str(message))
            if not self.holds:
                self._give()

        route.on_message(send)
        server.on_message(receive)

    def _give(self) -> None:
        message = self._held.pop(0)
        self.received.append(json.loads(message))
        self._route.send(message)

    def give(self, count: int) -> None:
        """Give the page that many held answers of the request that runs, and let it show them."""
        for _ in range(count):
            self.wait_for(lambda: self._held)
            self._give()
        self._page.wait_for_timeout(50)

    def release(self) -> None:
        """Hold nothing any more."""
        self.holds = False
        while self._held:
            self._give()

    def wait_for(self, what: Callable[[], object]) -> None:
        for _ in range(600):
            if what():
                return
            self._page.wait_for_timeout(50)
        pytest.fail("it did not come")

    @property
    def wishes(self) -> list[str]:
        """What the page has asked for."""
        return [each["do"] for each in self.sent]


@pytest.fixture
def line(page: Page) -> Line:
    """Return the connection of the page, which is loaded again."""
    line = Line(page)
    page.reload()
    status(page, "Your move")
    return line


def begin_review(page: Page, line: Line, game: str) -> Locator:
    """Load a game, hold its review's answers, and return its moves."""
    load(page, game)
    moves = page.locator("#moves button")
    moves.first.wait_for()
    line.holds = True
    page.click("#review")
    page.locator("#review", has_text="Reviewing").wait_for()
    return moves


def wait_for_end(page: Page) -> None:
    page.locator("#review", has_text="Reviewing").wait_for(state="detached")


def test_moves_can_be_pressed_while_a_review_goes_on(page: Page, line: Line) -> None:
    game, judged = ending(15, 4)
    moves = begin_review(page, line, str(game))
    numbers = range(len(judged) - 1, len(judged) - 11, -1)
    for number in numbers:  # marks that appear before a move carry it away from under the pointer
        box = moves.nth(number - 1).bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 9, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.wait_for_timeout(60)
        line.give(1)
        page.wait_for_timeout(60)
        page.mouse.up()
        status(page, f"After ply {number} of {len(judged)}")
    assert {each.mark for each in judged[-len(numbers) :]} > {""}


def test_a_review_takes_neither_focus_nor_scroll(page: Page, line: Line) -> None:
    game, judged = ending(15, 4)
    moves = begin_review(page, line, str(game))
    moves.nth(2).focus()
    page.evaluate("document.querySelector('#moves').style.maxHeight = '60px'")
    page.evaluate("document.querySelector('#moves').scrollTop = 0")
    before = page.locator("#moves .marked").count()
    line.give(len(judged) - 1)
    assert page.locator("#moves .marked").count() > before
    focused = "[...document.querySelectorAll('#moves button')].indexOf(document.activeElement)"
    assert page.evaluate(focused) == 2
    assert page.evaluate("document.querySelector('#moves').scrollTop") == 0
    page.keyboard.press("Enter")
    status(page, f"After ply 3 of {len(judged)}")
    assert page.evaluate(focused) == 2


def test_steps_and_switches_leave_a_review_running(page: Page, line: Line) -> None:
    game, judged = ending(15, 4)
    moves = begin_review(page, line, str(game))
    asked = line.wishes
    line.give(2)
    page.locator("h1").click()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft", "h"):
        page.keyboard.press(key)
    assert page.locator("#analysis tr").count() == 0  # the review has not come here
    line.give(1)
    assert page.locator("#analysis tr").count() > 0
    page.keyboard.press("h")
    page.select_option("#opponent", "greedy")
    page.select_option("#color", "X")
    page.click("#seat")
    moves.nth(4).click()
    page.fill("#text", "nonsense")
    page.click("#load")
    status(page, "expected a position, moves like f5d6c3")
    assert page.inner_text("#review") == "Reviewing…"
    assert line.wishes == asked
    line.release()
    wait_for_end(page)
    assert line.wishes == asked
    points = (page.locator("#graph .curve").get_attribute("points") or "").split()
    assert len(points) == len(judged) + 1


def test_a_review_that_was_stopped_may_begin_again_and_a_move_keeps_what_was_found(page: Page, line: Line) -> None:
    begin_review(page, line, OPENING)
    line.give(2)
    page.click("#review")
    wait_for_end(page)
    assert line.wishes[-1] == "stop"
    line.release()
    review(page)
    page.locator("#sums").wait_for()
    before = page.locator("#moves").inner_text()
    page.click(".square.legal.mine")
    page.locator("#moves li").nth(3).wait_for()
    assert not page.locator("#sums").is_visible(), "the new move is not judged"
    assert page.locator("#moves").inner_text().startswith(before)
    assert len((page.locator("#graph .curve").get_attribute("points") or "").split()) == 4
    review(page)
    page.locator("#sums").wait_for()
    assert len((page.locator("#graph .curve").get_attribute("points") or "").split()) == 5


def test_an_exact_score_is_not_asked_for_again(page: Page, line: Line) -> None:
    game, judged = ending(15, 4)
    load(page, str(game))
    page.locator("#moves li").nth(len(judged) - 1).wait_for()
    review(page)
    assert line.wishes[-1] == "review"
    page.click("#first")
    page.check("#hints")
    for number in range(len(judged)):
        assert page.locator("#analysis tr td").nth(1).inner_text().endswith(" discs"), number
        page.click("#forward")
    assert line.wishes[-1] == "review"


def test_a_shallow_analysis_does_not_replace_a_deeper_one(page: Page, line: Line) -> None:
    load(page, OPENING)
    page.locator("#moves li").nth(2).wait_for()
    page.check("#hints")
    line.wait_for(lambda: line.received and line.received[-1].get("analysis", {"nodes": 0})["nodes"] > 1000)
    line.holds = True  # no deeper one comes
    page.click("#review")
    page.evaluate(
        """() => {
          const note = document.querySelector("#analysis-note");
          window.notes = [note.textContent];
          new MutationObserver(() => window.notes.push(note.textContent)).observe(note, { childList: true });
        }"""
    )
    line.release()
    wait_for_end(page)
    line.wait_for(lambda: line.received[-1]["id"] == line.sent[-1]["id"])
    assert line.wishes[-2:] == ["review", "analyse"]
    page.wait_for_timeout(300)
    depths = [
        int(found[1].replace(",", ""))
        for each in page.evaluate("window.notes")
        if (found := re.search(r"([\d,]+) positions", each))
    ]
    assert len(depths) > 1
    assert depths == sorted(depths)


def test_a_finished_game_has_its_whole_curve_without_evaluation(page: Page) -> None:
    start = Position.parse(LAST_MOVE_LOSES)
    load(page, str(GgfGame(start, (GgfMove(parse_action(start.game, "a5")),))))
    page.locator("#moves li").wait_for()
    assert not page.is_checked("#hints")
    review(page)
    assert " ".join(page.inner_text("#moves li").split()) == "a5 ? \N{MINUS SIGN}3, best b5"
    points = (page.locator("#graph .curve").get_attribute("points") or "").split()
    assert len(points) == 2
    assert f"{float(page.locator('#graph .slip').get_attribute('cx') or 0):.1f}" == points[-1].split(",")[0]


def test_the_curve_grows_from_the_end(page: Page, line: Line) -> None:
    game, judged = ending(15, 4)
    begin_review(page, line, str(game))
    assert not page.locator("#graph").is_visible()
    for count in range(1, 4):
        line.give(1)
        points = (page.locator("#graph .curve").get_attribute("points") or "").split()
        assert len(points) == count + 1, "and the result of the game"
    line.release()
    wait_for_end(page)
    assert len((page.locator("#graph .curve").get_attribute("points") or "").split()) == len(judged) + 1


def test_deeper_searches_do_not_change_marks(page: Page, line: Line) -> None:
    load(page, OPENING)
    page.locator("#moves li").nth(2).wait_for()
    review(page)
    page.locator("#sums").wait_for()
    before = [page.inner_text(each) for each in ("#moves", "#sums")]
    page.check("#hints")
    line.wait_for(lambda: line.received[-1].get("analysis", {"nodes": 0})["nodes"] > 1000)
    assert [page.inner_text(each) for each in ("#moves", "#sums")] == before
    page.reload()
    page.locator("#moves li").nth(2).wait_for()
    review(page)
    page.locator("#sums").wait_for()
    assert [page.inner_text(each) for each in ("#moves", "#sums")] == before


@pytest.mark.parametrize(
    ("exact", "lost", "cover"),
    [
        ((2, 1), ("4", "5"), ""),
        ((0, 0), ("4.0", "5.0"), " Discs are estimated."),
        ((1, 1), ("4.0", "5"), " Discs are exact for 1 of Black's 2 moves and 1 of White's 1, else estimated."),
    ],
)
def test_the_sums_say_of_how_many_moves_the_discs_are(
    page: Page, exact: tuple[int, int], lost: tuple[str, str], cover: str
) -> None:
    page.evaluate(
        """async (exact) => {
          const { Moves } = await import("/static/moves.js");
          const info = await (await fetch("/api/info")).json();
          const of = (moves, exact, discs) => ({ moves, judged: moves, exact, discs, marks: {} });
          const whole = { sums: { X: of(2, exact[0], 4), O: of(1, exact[1], 5) }, decided: null };
          new Moves(() => {}, { info, counts: true }).show({ moves: [], positions: [] }, 0, { moves: [], whole });
        }""",
        exact,
    )
    assert tuple(row.locator("td").last.inner_text() for row in page.locator("#sums tbody tr").all()) == lost
    meanings = "?? win to loss, or 12 discs; ? half of the result, or 6 discs; ?! 3 discs."
    assert page.inner_text("#sums caption") == meanings + cover


def test_the_deciding_move_is_named_and_mistakes_are_played_again(page: Page) -> None:
    game, judged = ending(15, 4)
    load(page, str(game))
    page.locator("#moves li").nth(len(judged) - 1).wait_for()
    review(page)
    page.locator("#decided").wait_for()
    found = re.search(r"Decided at move (\d+): (\w+)'s (\w+); (\w+) was better", page.inner_text("#decided"))
    assert found is not None
    decided = judged[int(found[1]) - 1]
    assert (decided.side, decided.name, bool(decided.mark)) == (found[2], found[3], True)
    assert found[4] in decided.best
    marked = [each for each in judged if each.mark]
    page.click("#learn")
    for number, mistake in enumerate(marked, 1):
        page.locator("#lesson-text", has_text=f"Mistake {number} of {len(marked)}").wait_for()
        before = discs(page)
        page.click(f"[data-square={mistake.name}]")
        page.locator("#lesson-text", has_text="is the move of the game").wait_for()
        page.click(f"[data-square={min(mistake.best)}]")
        page.locator("#lesson-text", has_text="is the best move").or_(
            page.locator("#lesson-text", has_text="is good; the best")
        ).wait_for()
        assert discs(page) == before, "the game stays"
        if number < len(marked):
            page.click("#lesson-next")
    assert not page.locator("#lesson-next").is_visible()
    page.click("#lesson-end")
    assert page.locator("#moves li").count() == len(judged)
    status(page, "wins")


def test_only_ones_own_mistakes_are_to_learn_from(page: Page) -> None:
    load(page, LAST_MOVE_LOSES)
    status(page, "Black to move")
    for color, learns in (("O", False), ("X", True)):
        page.select_option("#color", "both")
        page.click("#seat")
        page.click("[data-square=a5]")
        page.locator("#moves li").wait_for()
        page.select_option("#color", color)
        page.click("#seat")
        review(page)
        page.locator("#sums").wait_for()
        assert page.locator("#learn").is_visible() == learns
        page.select_option("#color", "both")
        page.click("#seat")
        page.click("#undo")
        page.locator("#moves li").wait_for(state="detached")
