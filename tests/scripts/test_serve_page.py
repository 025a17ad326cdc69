"""The page of `reversi serve` in a browser: what a review says, links and copies of a game, narrow windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reversi.games.position import Position
from reversi.ggf import GgfGame, GgfMove, parse_ggf
from reversi.search.endgame import Solver
from tests.scripts.page import discs, load, play_on, status

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIVE_LEFT = "OOOOOOOOXXXXOXOXXXOXXOXXOXOXOXO----- X"
MARKS = ("??", "?", "?!")


@dataclass(frozen=True)
class Judged:
    """A move and what the solver says of it."""

    side: str
    name: str
    lost: int
    mark: str
    best: set[str]


def ending(empties: int, seed: int) -> tuple[GgfGame, list[Judged]]:
    """Return random moves from a position with `empties` empty squares to the end, and the solver's judgement."""
    rng, solver = np.random.default_rng(seed), Solver("reversi6")
    start = Position.start("reversi6")
    while start.empties > empties:
        start = start.play(int(rng.choice(start.legal_actions())))
    position, actions, judged = start, list[int](), list[Judged]()
    while not position.is_over:
        scores = solver.solve_moves(position.own, position.opp).moves
        actions.append(int(rng.choice(position.legal_actions())))
        most, got = max(scores.values()), scores[actions[-1]]
        mark = ("", "?", "??")[int(np.sign(most) - np.sign(got))] or ("?!" if most - got >= 10 else "")
        names = dict(zip(position.legal_actions(), position.legal_moves(), strict=True))
        best = {names[action] for action, score in scores.items() if score == most}
        side = "Black" if position.black_to_move else "White"
        judged.append(Judged(side, names[actions[-1]], most - got, mark, best))
        position = position.play(actions[-1])
    return GgfGame(start, tuple(GgfMove(action) for action in actions)), judged


def review(page: Page) -> None:
    page.click("#review")
    page.locator("#review", has_text="Reviewing").wait_for(state="detached")


def text_of(judged: Judged, shown: str) -> str:
    """Return what the list of moves should say; of several best moves it names the one that is `shown`."""
    best = next((move for move in sorted(judged.best) if move in shown), "none of the best moves")
    words = [judged.name, judged.mark, f"\N{MINUS SIGN}{judged.lost}" if judged.lost else ""]
    return " ".join(filter(None, words)) + (f", best {best}" if judged.mark else "")


def test_a_review_solves_more_than_play_does_and_says_what_each_move_lost(page: Page) -> None:
    game, judged = ending(15, 18)  # play solves from 14 empty squares on
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


def test_a_reviewed_position_stays_exact_when_it_is_evaluated(page: Page) -> None:
    game, judged = ending(15, 18)
    load(page, str(game))
    page.locator("#moves li").nth(len(judged) - 1).wait_for()
    review(page)
    page.click("#first")
    page.check("#hints")
    page.wait_for_timeout(500)
    assert page.locator("#analysis tr td").nth(1).inner_text().endswith(" discs")


def analysis(*moves: tuple[str, float | None, int | None], nodes: int = 1) -> dict[str, Any]:
    """Return an analysis as the server sends it."""
    keys = ("move", "value", "score")
    return {"nodes": nodes, "moves": [{**dict(zip(keys, move, strict=True)), "certain": False} for move in moves]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (analysis(("c2", None, 4), ("b2", None, -6)), None, {"result": 2, "discs": 10, "best": "c2", "mark": "??"}),
        (analysis(("c2", 1, 4), ("b2", -1, -6)), None, {"result": 2, "discs": 10, "best": "c2", "mark": "??"}),
        (analysis(("c2", 1, 4), ("b2", 0, 0)), None, {"result": 1, "discs": 4, "best": "c2", "mark": "?"}),
        (analysis(("c2", 1, 14), ("b2", 1, 4)), None, {"result": 0, "discs": 10, "best": "c2", "mark": "?!"}),
        (analysis(("c2", 1, 12), ("b2", 1, 4)), None, {"result": 0, "discs": 8, "best": "c2", "mark": ""}),
        (analysis(("c2", 1, 4), ("b2", 1, 4)), None, {"result": 0, "discs": 0, "best": None, "mark": ""}),
        (
            analysis(("c2", 0.75, None), ("b2", 0.5, None)),
            analysis(("a1", 1, 2)),
            {"result": 1.75, "discs": None, "best": "c2", "mark": "??"},
        ),
        (
            analysis(("c2", 0.5, None), ("b2", 0.5, None)),
            analysis(("a1", 0.25, None)),
            {"result": 0.75, "discs": None, "best": "c2", "mark": "?"},
        ),
        (analysis(("b2", 0.5, None)), analysis(("a1", 1, 2)), {"result": 0, "discs": None, "best": None, "mark": ""}),
        (analysis(("c2", 0.5, None), ("b2", 0.5, None)), None, None),
    ],
)
def test_a_loss_is_graded_by_what_is_known(page: Page, before: Any, after: Any, expected: Any) -> None:
    found = page.evaluate(
        """async ([before, after]) => {
          const { lossOf, markOf } = await import("/static/review.js");
          const positions = ["X", "O"].map((side) => ({ side, over: false, margin: 0 }));
          const loss = lossOf({ positions, moves: ["b2"] }, [before, after ?? undefined], 0);
          return loss && { ...loss, mark: markOf(loss) };
        }""",
        [before, after],
    )
    assert found == expected


def test_the_analysis_that_knows_more_is_kept(page: Page) -> None:
    exact, deep, shallow = analysis(("c2", 1, 4)), analysis(("c2", 0.5, None), nodes=9), analysis(("c2", 0.2, None))
    proven = analysis(("c2", 1, None))
    proven["moves"][0]["certain"] = True
    better = "async ([known, found]) => (await import('/static/review.js')).betterOf(known ?? undefined, found)"
    for known, found, expected in (
        (None, shallow, shallow),
        (deep, shallow, deep),
        (shallow, deep, deep),
        (deep, proven, proven),
        (proven, exact, exact),
        (exact, deep, exact),
    ):
        assert page.evaluate(better, [known, found]) == expected


def opened(page: Page, url: str, width: int = 1280, height: int = 900) -> Page:
    """Return a fresh tab that shows the address."""
    assert page.context.browser is not None
    tab = page.context.browser.new_page(viewport={"width": width, "height": height})
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


@pytest.fixture
def narrow(page: Page, address: str) -> Iterator[Page]:
    """Return the page in a window of a telephone's size."""
    tab = opened(page, address, 375, 700)
    status(tab, "Your move")
    yield tab
    tab.close()


def test_moves_do_not_scroll_a_narrow_page(narrow: Page) -> None:
    narrow.select_option("#opponent", "random")
    narrow.click("text=New game")
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


def test_the_curve_keeps_its_letters_at_every_width(narrow: Page) -> None:
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
