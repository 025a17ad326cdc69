"""Other people's programs in the commands `play` and `match`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reversi.formats.ggf import parse_ggf
from tests.runs.engines.commands import spec
from tests.scripts.conftest import Reversi


def test_another_program_plays_a_whole_game(reversi: Reversi) -> None:
    lines = "".join(f"{column}{row}\n" for column in "abcd" for row in "1234") * 16
    answer = reversi("play", spec("gtp", "--dialect", "refused"), "--size", 4, "--ascii", stdin="undo\nhint\n" + lines)
    assert answer.code == 0
    assert re.search(r"(wins \d+-\d+\. You (win|lose)|Draw 8-8)\.$", answer.out, re.M)
    answer = reversi("play", spec("nboard", "--fault", "crash", "--at", 2), "--size", 4, stdin=lines)
    assert answer.code == 1
    assert answer.err.startswith("error: nboard:")
    assert "it ended with exit code 7" in answer.err


def test_another_program_goes_on_with_moves_but_not_from_a_position(reversi: Reversi) -> None:
    program = spec("gtp", "--dialect", "refused")
    answer = reversi("play", program, "--start", "b1a1", "--ascii", stdin="a2\n")
    assert answer.code == 0
    assert f"{program} plays " in answer.out
    refused = reversi("play", program, "--start", "-XOXOO-O-XOOXOOO O")
    assert refused.code == 2
    assert "which follows games, got a position" in refused.err


def test_a_program_gets_the_patience_that_was_asked_for(reversi: Reversi) -> None:
    """It falls silent at its first move; without the limit a game would last a minute."""
    silent = ["--a", spec("gtp", "--fault", "hang", "--at", 1), "--b", "random", "--size", 4, "--games", 2]
    found = json.loads(reversi("match", *silent, "--engine-move", 0.5, "--engine-restarts", 2, "--json").out)
    assert found["forfeits"] == [2, 0]
    answer = reversi("match", *silent, "--engine-move", 0.5, "--engine-restarts", 0)
    assert answer.code == 0
    assert "forfeits, counted as lost: 2 by gtp:" in answer.out
    answer = reversi("match", *silent, "--engine-move", 0)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "expected seconds above 0" in answer.err


@pytest.mark.parametrize(("fault", "how", "words"), [("resign", "r", "resigned"), ("crash", "l", "left")])
def test_a_game_that_was_given_up_is_saved_as_lost(
    reversi: Reversi, tmp_path: Path, fault: str, how: str, words: str
) -> None:
    saved = tmp_path / "games.ggf"
    quitter = spec("gtp", "--fault", fault, "--at", 2)
    match = ("match", "--a", quitter, "--b", "random", "--size", 6, "--games", 2, "--save", saved, "--json")
    assert json.loads(reversi(*match).out)["forfeits"] == [2, 0]
    as_black, as_white = saved.read_text().splitlines()
    assert f"RE[-36.000:{how}]" in as_black
    assert f"RE[+36.000:{how}]" in as_white
    assert str(parse_ggf(as_black)) == as_black
    answer = reversi("replay", saved, "--game", 2, "--ascii")
    assert answer.code == 0
    assert answer.out.splitlines()[0].endswith(f", Black wins by 36: White {words}")
