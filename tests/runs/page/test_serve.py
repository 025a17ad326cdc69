"""`reversi serve`, its errors, and its page in a real browser."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from reversi.games.notation import PASS
from reversi.games.position import Position
from reversi.model.registry import Registry
from tests.reversi.model.samples import weights
from tests.runs.page.page import discs, load, play_on, served, status
from tests.scripts.conftest import Reversi

if TYPE_CHECKING:
    from playwright.sync_api import Page

ALMOST_OVER = "OOOOOOOOXXXXOXOXXXOXXOXXOXOXOXO----- X"


def test_a_model_offers_levels_and_an_analysis(address: str) -> None:
    with urllib.request.urlopen(address + "api/info", timeout=100) as answer:
        info = json.load(answer)
    assert [each["name"] for each in info["opponents"]][-4:] == ["model:0", "model:64", "model:400", "model"]
    assert info["opponents"][-1]["label"] == "Model 3, 8 simulations, exact endings"
    assert (info["opponent"], info["analysis"]) == ("model", True)


def test_a_player_needs_no_model() -> None:
    with served("--player", "alphabeta:1", "--size", 4) as url, urllib.request.urlopen(url + "api/info") as answer:
        info = json.load(answer)
    assert (info["game"], info["opponent"], info["analysis"]) == ("reversi4", "alphabeta:1", True)


def test_a_browser_that_returns_late_gets_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, seen = tmp_path / "browser.py", tmp_path / "seen"
    browser.write_text(
        f"import os, sys, urllib.request\n"
        f"page = urllib.request.urlopen(sys.argv[1], timeout=100).read()\n"
        f"open({str(seen) + '~'!r}, 'wb').write(page)\n"
        f"os.rename({str(seen) + '~'!r}, {str(seen)!r})\n"
    )
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser} %s")
    with served("--player", "random", "--size", 4, "--open"):
        end_s = time.monotonic() + 100
        while not seen.exists() and time.monotonic() < end_s:
            time.sleep(0.05)
    assert b"<!doctype html>" in seen.read_bytes()


def test_a_model_of_tic_tac_toe_is_served_without_the_solver_of_endings(tmp_path: Path) -> None:
    made = Registry(str(tmp_path), create=True)
    made.publish(weights("tictactoe"), "promoted", None)
    with served("--registry", tmp_path) as url, urllib.request.urlopen(url + "api/info", timeout=100) as answer:
        info = json.load(answer)
    assert (info["game"], info["size"]) == ("tictactoe", 3)
    assert info["opponents"][-1]["label"] == "Model 0, 4,000 simulations"


def test_what_cannot_be_served_is_an_error_in_words(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    for arguments, code, message in (
        (["--registry", registry, "--host", "no.such.host.invalid"], 2, "expected an address to listen on, got"),
        (["--registry", registry, "--port", "99999"], 2, "expected a whole number from 0 to 65535"),
        (["--registry", registry, "--port", "x"], 2, "--port"),
        (["--registry", registry, "--size", 8], 1, "expected"),
        (["--registry", tmp_path / "none"], 3, "none"),
        (["--player", "random", "--model", "3"], 2, "expected --model or --player"),
        (["--player", "gtp:anything"], 2, "expected a player of this program"),
    ):
        answer = reversi("serve", *arguments)
        assert (answer.code, answer.out) == (code, ""), answer
        assert message in answer.err
        assert answer.err.count("\n") == 1


def test_a_person_plays_a_whole_game_by_clicks(page: Page) -> None:
    page.select_option("#opponent", "random")
    page.click("#new .primary")
    play_on(page, "^(You win|You lose|A draw)")
    moves = [each.inner_text().strip() for each in page.locator("#moves li").all()]
    position = Position.start("reversi6")
    for move in moves:
        position = position.play(move)
    assert position.is_over
    assert discs(page) == str(position)[:36]
    counts = [int(each.inner_text()) for each in page.locator(".side .count").all()]
    assert counts == [position.white.bit_count(), position.black.bit_count()]


def test_undo_and_steps_through_the_game(page: Page) -> None:
    page.click("[data-square=c2]")
    page.locator("#moves li").nth(1).wait_for()
    status(page, "Your move")
    after = discs(page)
    page.keyboard.press("ArrowLeft")
    status(page, "After ply 1 of 2")
    assert discs(page) == str(Position.start("reversi6").play("c2"))[:36]
    page.click("#last")
    assert discs(page) == after
    page.click("#undo")
    status(page, "Your move")
    assert discs(page) == str(Position.start("reversi6"))[:36]
    assert page.locator("#moves li").count() == 0


def test_a_page_that_is_loaded_again_goes_on_with_its_game_and_its_players(page: Page) -> None:
    page.select_option("#opponent", "greedy")
    page.select_option("#color", "O")
    page.click("#new .primary")
    page.locator("#moves li").first.wait_for()
    status(page, "Your move")
    shown = discs(page)
    page.reload()
    status(page, "Your move")
    page.wait_for_timeout(300)
    assert discs(page) == shown
    assert page.locator(".side").last.inner_text().startswith("You")
    assert (page.input_value("#color"), page.input_value("#opponent")) == ("O", "greedy")
    load(page, ALMOST_OVER)
    page.locator("#moves li").first.wait_for(state="detached")
    page.reload()
    status(page, "Black to move")
    assert discs(page) == ALMOST_OVER[:36]


def test_a_link_opens_its_game_for_both_sides(page: Page, address: str) -> None:
    assert page.context.browser is not None
    other = page.context.browser.new_page()
    other.goto(f"{address}#c2b2b3")
    other.locator("#moves li").nth(2).wait_for()
    other.wait_for_timeout(300)
    assert (other.locator("#moves li").count(), other.input_value("#color")) == (3, "both")


def test_a_link_may_be_opened_in_a_page_that_is_there(page: Page) -> None:
    page.click("[data-square=c2]")
    page.locator("#moves li").nth(1).wait_for()
    status(page, "Your move")
    shown = discs(page)
    page.evaluate("location.hash = 'c2b2b3'")
    page.locator("#moves li").nth(2).wait_for()
    status(page, "White to move")
    assert page.input_value("#color") == "both"
    page.evaluate("location.hash = 'nonsense'")
    status(page, "expected a position, moves like f5d6c3, or a game in GGF or SGF, got 'nonsense'")
    assert page.evaluate("location.hash") == "#c2b2b3"
    page.evaluate("history.go(-2)")
    status(page, "Your move")
    assert discs(page) == shown
    assert page.input_value("#color") == "X"


def test_a_game_that_the_server_answers_late_does_not_replace_a_newer_one(page: Page) -> None:
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = async (...request) => {
            const answer = await real(...request);
            const late = JSON.parse(request[1].body).moves.length === 1;
            if (late) await new Promise((resolve) => setTimeout(resolve, 500));
            return answer;
          };
        }"""
    )
    page.click("[data-square=c2]")
    page.click("#new .primary")
    page.keyboard.press("h")  # goes on with a game, but not with the old one
    page.wait_for_timeout(1000)
    assert discs(page) == str(Position.start("reversi6"))[:36]
    assert page.locator("#moves li").count() == 0
    status(page, "Your move")


def test_the_opponent_begins_if_the_person_is_white(page: Page) -> None:
    page.select_option("#color", "O")
    page.click("#new .primary")
    page.locator("#moves li").first.wait_for()
    status(page, "Your move")
    assert page.locator(".side").last.inner_text().startswith("You")


def test_the_board_is_played_by_keys(page: Page) -> None:
    page.locator("[data-square=a1]").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.locator("#moves li").first.wait_for()
    assert page.locator("#moves li").first.inner_text().strip() == "c2"


def test_the_evaluation_is_shown_on_the_board_and_as_a_table(page: Page) -> None:
    page.keyboard.press("h")
    page.locator(".judgement").nth(3).wait_for()
    page.locator("#analysis tr").nth(3).wait_for()
    assert page.locator("#bar.on").count() == 1
    cell = page.locator("#analysis tr td").nth(1)
    assert re.fullmatch(r"[+\N{MINUS SIGN}]?\d+\.\d discs", cell.inner_text())
    page.select_option("#unit", "percent")
    assert re.fullmatch(r"\d+ %", cell.inner_text())
    assert len({each.inner_text() for each in page.locator(".judgement").all()}) == 1, "symmetry exchanges all moves"


def test_an_ending_is_scored_exactly_and_reviewed(page: Page) -> None:
    load(page, ALMOST_OVER)
    page.keyboard.press("Escape")
    page.check("#hints")
    page.locator("#analysis tr").first.wait_for()
    assert re.fullmatch(r".?\d+ discs", page.locator("#analysis tr td").nth(1).inner_text())
    play_on(page, "wins|draw")
    page.click("#review")
    page.locator("#review", has_text="Reviewing").wait_for(state="detached")
    assert page.locator("#graph .curve").get_attribute("points").count(",") == page.locator("#moves li").count() + 1


def test_the_score_of_an_ending_is_the_result_of_its_expected_play(page: Page) -> None:
    load(page, "XXXXX-XXXXXO-OOXOOOOOOOOX-OOOO--OOOO O")
    status(page, "White to move")
    page.check("#hints")
    cells = page.locator("#analysis tr").first.locator("td")
    cells.first.wait_for()
    move, result, _, line = cells.all_inner_texts()
    end = Position.parse("XXXXX-XXXXXO-OOXOOOOOOOOX-OOOO--OOOO O")
    for each in (move, *line.split()):
        end = end.play(each)
    assert end.is_over
    assert (end.black | end.white).bit_count() == 35  # a square is left empty
    assert int(result.removesuffix(" discs").replace("\N{MINUS SIGN}", "-")) == -end.black_margin


def test_a_forced_pass_is_shown_and_played(page: Page) -> None:
    moves = game_before_a_pass()
    load(page, "".join(moves))
    page.locator(".side .state", has_text="must pass").wait_for()
    page.locator("#moves li", has_text="pass").wait_for()
    assert page.locator("#moves li").count() == len(moves) + 1
    status(page, "to move")


def test_after_a_review_the_game_goes_on(page: Page) -> None:
    moves = game_before_a_pass()
    load(page, "".join(moves))
    page.locator(".side .state", has_text="must pass").wait_for()
    page.click("#review")
    page.locator("#review", has_text="Reviewing").wait_for(state="detached")
    page.locator("#moves li", has_text="pass").wait_for()
    assert page.locator("#moves li").count() == len(moves) + 1
    status(page, "to move")


def game_before_a_pass() -> list[str]:
    """Return the moves of a game of 6x6 after which the side to move must pass for the first time."""
    rng = np.random.default_rng(1)
    while True:
        position, moves = Position.start("reversi6"), list[str]()
        while not position.is_over:
            if position.legal_moves() == [PASS]:
                return moves
            moves.append(str(rng.choice(position.legal_moves())))
            position = position.play(moves[-1])


def test_what_is_wrong_is_said_and_the_game_stays(page: Page) -> None:
    load(page, "c2c2")
    status(page, "expected a legal move at ply 2, got 'c2'")
    assert discs(page) == str(Position.start("reversi6"))[:36]
    assert page.input_value("#color") == "X"
    page.click("[data-square=c2]")
    page.locator("#moves li").nth(1).wait_for()  # the opponent is still there
    status(page, "Your move")
    page.click("#load")
    status(page, "expected a legal move at ply 2, got 'c2'")
    page.click("#back")
    status(page, "After ply 1 of 2")


@pytest.mark.parametrize(
    ("solve", "opponent", "label"),
    [((), "model:0", "Model 3, no search"), (("--solve", 6), "model", "Model 3, no search, exact endings")],
)
def test_no_simulations_are_the_level_without_search(
    solve: tuple[object, ...], opponent: str, label: str, registry: Path
) -> None:
    with (
        served("--registry", registry, "--simulations", 0, *solve) as url,
        urllib.request.urlopen(f"{url}api/info") as answer,
    ):
        info = json.load(answer)
    labels = [each["label"] for each in info["opponents"] if each["name"] == opponent]
    assert (info["opponent"], labels) == (opponent, [label])
    assert len({each["label"] for each in info["opponents"]}) == len(info["opponents"])
