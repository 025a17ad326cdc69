"""The page of `reversi serve` in a browser while a review runs, and what it keeps of earlier analyses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.notation import parse_action
from reversi.games.position import Position
from tests.runs.page.page import load, review, status
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
    game, judged = ending(15, 18)
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
    assert {each.mark for each in judged[: len(numbers)]} > {""}
    assert moves.first.locator("xpath=..").get_attribute("class") == ("marked" if judged[0].mark else "")


def test_a_review_takes_neither_focus_nor_scroll(page: Page, line: Line) -> None:
    game, judged = ending(15, 18)
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
    game, judged = ending(15, 18)
    moves = begin_review(page, line, str(game))
    asked = line.wishes
    line.give(2)
    page.locator("h1").click()
    for key in ("ArrowLeft", "Home", "ArrowRight", "ArrowRight", "h"):
        page.keyboard.press(key)
    assert page.locator("#analysis tr").count() == 0  # the review has not come here
    line.give(1)
    assert page.locator("#analysis tr").count() > 0
    page.keyboard.press("h")
    page.select_option("#opponent", "greedy")
    page.select_option("#color", "X")
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


def test_a_review_that_was_stopped_goes_on_where_it_was(page: Page, line: Line) -> None:
    begin_review(page, line, OPENING)
    assert line.sent[-1]["plies"] == [0, 1, 2, 3]
    line.give(2)
    page.click("#review")
    wait_for_end(page)
    assert line.wishes[-1] == "stop"
    line.release()
    page.click("#review")
    wait_for_end(page)
    assert line.sent[-1]["plies"] == [2, 3]
    page.select_option("#color", "both")
    page.click(".square.legal.mine")
    page.locator("#moves li").nth(3).wait_for()
    page.click("#review")
    wait_for_end(page)
    assert line.sent[-1]["plies"] == [4]  # the move that was played
    page.click("#review")
    wait_for_end(page)
    assert line.sent[-1]["plies"] == [0, 1, 2, 3, 4]  # nothing was left


def test_an_exact_score_is_not_asked_for_again(page: Page, line: Line) -> None:
    game, judged = ending(15, 18)
    load(page, str(game))
    page.locator("#moves li").nth(len(judged) - 1).wait_for()
    review(page)
    assert line.wishes[-1] == "review"
    page.click("#first")
    page.check("#hints")
    for number in range(len(judged)):
        assert page.locator("#analysis tr td").nth(1).inner_text().endswith((" discs", "draw")), number
        page.click("#forward")
    assert line.wishes[-1] == "review"
    page.click("#review")
    wait_for_end(page)
    assert line.sent[-1]["plies"] == []


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
    depths = [int(each.split()[0].replace(",", "")) for each in page.evaluate("window.notes") if each != "…"]
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


def test_the_curve_has_gaps_where_nothing_is_known(page: Page, line: Line) -> None:
    game, judged = ending(15, 18)
    begin_review(page, line, str(game))
    curve, alone = page.locator("#graph .curve"), page.locator("#graph .point")
    assert (curve.count(), alone.count()) == (0, 1)  # the result of the game
    at_end = alone.get_attribute("cx")
    line.give(3)
    assert (curve.count(), alone.count(), alone.get_attribute("cx")) == (1, 1, at_end)
    assert len((curve.get_attribute("points") or "").split()) == 3
    page.click("#review")
    page.click("#back")
    page.check("#hints")
    line.release()
    curve.nth(1).wait_for(state="attached")  # the last two positions; a level line counts as hidden
    assert [len((each.get_attribute("points") or "").split()) for each in curve.all()] == [3, 2]
    page.click("#review")
    wait_for_end(page)
    assert [len((each.get_attribute("points") or "").split()) for each in curve.all()] == [len(judged) + 1]
    assert alone.count() == 0


@pytest.mark.parametrize(
    ("discs", "cover"),
    [
        ([0, 4, 2], ""),
        ([None, None, None], ""),
        ([None, 4, 2], " Discs are known of 1 of Black's 2 moves and 1 of White's 1."),
        ([0, None, None], " Discs are known of 1 of Black's 2 moves and 0 of White's 1."),
    ],
)
def test_the_sums_say_of_how_many_moves_the_discs_are(
    page: Page,
    discs: list[int | None],
    cover: str,
) -> None:
    page.evaluate(
        """async (discs) => {
          const { Moves } = await import("/static/moves.js");
          const { marks } = await (await fetch("/api/info")).json();
          const positions = ["X", "O", "X", "O"].map((side) => ({ side }));
          const losses = discs.map((lost) => ({ result: 0, discs: lost, best: null }));
          new Moves(() => {}, true, marks).show({ moves: ["c2", "b2", "b3"], positions }, 3, losses);
        }""",
        discs,
    )
    lost = [row.locator("td").last.inner_text() for row in page.locator("#sums tbody tr").all()]
    sides = [discs[0::2], discs[1::2]]
    known = [[each for each in side if each is not None] for side in sides]
    assert lost == [str(sum(side)) if side else "\N{EN DASH}" for side in known]
    assert page.inner_text("#sums caption") == f"?? win to loss, ? half of the result, ?! 10 discs or more.{cover}"
