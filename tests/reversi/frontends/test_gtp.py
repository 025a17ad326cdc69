"""GTP: golden conversations, passes in three dialects, clocks, interrupts, and garbage that changes nothing."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from reversi import __version__
from reversi.analysis.analyzer import Limit
from reversi.frontends.clocks import MARGIN_S
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.gtp import Gtp
from reversi.frontends.gtp_words import parse_line
from reversi.frontends.input_lines import InputLines
from reversi.games.position import Position
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped, lines_of, model_session, session_of

BLACK_MUST_PASS = "-XOXOOOO-XOOXOOO X"
"""Black passes, White plays a1 or a3, Black passes again, White plays the other: 14 to 2."""


def heard(text: str | bytes, session: EngineSession | None = None) -> str:
    """Return all that is answered to these lines."""
    said: list[str] = []
    Gtp(session or session_of(), lines_of(text), said.append).serve()
    return "".join(said)


def answers(text: str, session: EngineSession | None = None) -> list[str]:
    """Return the answers one by one, without the empty lines between them."""
    return heard(text, session).removesuffix("\n\n").split("\n\n")


def standing_at(text: str) -> EngineSession:
    session = session_of()
    session.begin(Position.parse(text))
    return session


def test_a_conversation_word_for_word() -> None:
    text = """\
1 protocol_version
2 name
3 boardsize 4
4 clear_board
komi 6.5
5 play black b1
6 genmove white
7 showboard
8 gogui-rules_side_to_move
9 gogui-rules_legal_moves
10 gogui-rules_board
11 undo
12 undo
13 undo
14 play white b1
boardsize 8
15 quit
name
"""
    assert heard(text) == (
        "=1 2\n\n"
        "=2 reversi-zero\n\n"
        "=3 \n\n"
        "=4 \n\n"
        "= \n\n"
        "=5 \n\n"
        "=6 a1\n\n"
        "=7 \n"
        "  a b c d\n"
        "1 O X - -\n"
        "2 * O X -\n"
        "3 - X O *\n"
        "4 - - * -\n"
        "X to move (X 3, O 3)\n\n"
        "=8 black\n\n"
        "=9 a2 d3 c4\n\n"
        "=10 \n"
        ". . . .\n"
        ". X O .\n"
        ". O X .\n"
        "O X . .\n\n"
        "=11 \n\n"
        "=12 \n\n"
        "?13 cannot undo\n\n"
        "?14 illegal move: expected a move of black, one of b1, a2, d3, c4; got 'b1' of the other side\n\n"
        "? unacceptable size\n\n"
        "=15 \n\n"
    )


def test_a_whole_game_is_scored() -> None:
    session = standing_at(BLACK_MUST_PASS)
    text = "final_score\ngogui-rules_final_result\n" + "genmove b\ngenmove w\n" * 3 + "final_score\n"
    assert answers(text + "gogui-rules_final_result\ngogui-rules_legal_moves\nreg_genmove w\n", session) == [
        "? cannot score: the game is not over",
        "= unknown: the game is not over",
        *("= pass", "= a1", "= pass", "= a3", "= pass", "= pass"),
        "= W+12",
        "= white wins by 12, 2-14",
        "= ",
        "= pass",
    ]


def test_a_whole_game_as_sabaki_drives_it_word_for_word() -> None:
    """The lines that @sabaki/gtp 3 sends: every command has a number, sides are B and W, squares capitals."""
    sent = ["name", "protocol_version", "boardsize 4", "clear_board", "komi 0"]
    sent += [f"genmove {side}" for side in "BWBWBWBWBWBWBW"]
    sent += ["final_score", "clear_board"]
    replayed = ["B1", "A1", "A2", "C1", "D1", "A3", "A4", "D2", "D3", "B4", "C4", "D4", "--", "PA"]
    sent += [f"play {side} {move}" for side, move in zip("BWBWBWBWBWBWBW", replayed, strict=True)]
    sent += ["final_score", "undo", "play W z9", "play purple A1", "quit"]
    moves = ["b1", "a1", "a2", "c1", "d1", "a3", "a4", "d2", "d3", "b4", "c4", "d4", "pass", "pass"]
    said = ["= reversi-zero", "= 2", "= ", "= ", "= ", *(f"= {move}" for move in moves), "= W+4", "= "]
    said += ["= "] * 14 + ["= W+4", "= "]
    said += ["? invalid vertex: expected a square from a1 to d4 or pass, got 'z9'"]
    said += ["? syntax error: expected black or white, got 'purple'", "= "]
    numbered = [f"{answer[0]}{number} {answer[2:]}" for number, answer in enumerate(said)]
    assert answers("\n".join(f"{number} {line}" for number, line in enumerate(sent)) + "\n") == numbered


@pytest.mark.parametrize("word", ["pass", "PASS", "PA", "ps", "--", "@@@@", "tt"])
@pytest.mark.parametrize("side", ["b", "black", "B", "Black", "x"])
def test_every_word_for_a_pass_and_a_side_is_one(side: str, word: str) -> None:
    session = standing_at(BLACK_MUST_PASS)
    assert answers(f"play {side} {word}\n", session) == ["= "]
    assert not session.position.black_to_move


def test_an_illegal_move_is_quoted_as_it_was_sent() -> None:
    (said,) = answers("play b PA\n")
    assert said.startswith("? illegal move: expected one of b1, a2, d3, c4; got 'PA' in ")


def test_tictactoe_has_its_board_and_no_discs_to_count() -> None:
    won = "play b a1\nplay w a2\nplay b b1\nplay w b2\nplay b c1\ngogui-rules_final_result\nfinal_score\n"
    drawn = "play b b2\nplay w a1\nplay b b1\nplay w b3\nplay b a2\nplay w c2\nplay b a3\nplay w c1\nplay b c3\n"
    session = session_of("tictactoe")
    assert answers(f"gogui-rules_board_size\n{won}boardsize 3\n{drawn}gogui-rules_final_result\n", session) == [
        "= 3", *["= "] * 5, "= black wins", "= B+1", *["= "] * 10, "= draw",
    ]  # fmt: skip
    assert answers("boardsize 4\nboardsize 3\n", session) == ["= ", "? unacceptable size"]


@pytest.mark.parametrize(
    ("dialect", "lines"),
    [
        ("said", "play black pass\nplay white a1\nplay black pass\nplay white a3"),
        ("implied", "play white a1\nplay white a3"),
        ("said once", "play black pass\nplay white a1\nplay white a3"),
        ("asked for", "genmove black\nplay white a1\ngenmove black\nplay white a3"),
        ("asked of the other side", "genmove white\ngenmove white"),
        ("said after the end", "play white a1\nplay white a3\nplay black pass\nplay white pass"),
    ],
)
def test_passes_in_every_dialect_come_to_the_same_end(dialect: str, lines: str) -> None:
    session = standing_at(BLACK_MUST_PASS)
    found = answers(lines + "\nfinal_score\n", session)
    assert found[-1] == "= W+12"
    assert all(answer.startswith("= ") for answer in found)
    assert all(session.undo() for _ in lines.splitlines())
    assert str(session.position) == BLACK_MUST_PASS


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("play black pass", "? illegal move"),
        ("play white pass", "? illegal move"),
        ("play black a1", "? illegal move"),
        ("play black e5", "? invalid vertex: expected a square from a1 to d4 or pass, got 'e5'"),
        ("play black", "? syntax error"),
        ("play", "? syntax error"),
        ("play red b1", "? syntax error: expected black or white, got 'red'"),
        ("genmove", "? syntax error"),
        ("genmove white", "? illegal move: it is black's turn"),
        ("reg_genmove white", "? illegal move: it is black's turn"),
        ("boardsize", "? syntax error: expected a number, got nothing"),
        ("boardsize four", "? syntax error: expected a number, got 'four'"),
        ("boardsize 19", "? unacceptable size"),
        ("boardsize 4.5", "? syntax error: expected a whole number"),
        ("boardsize inf", "? syntax error"),
        ("komi", "? syntax error"),
        ("time_settings 1 2", "? syntax error"),
        ("time_settings -1 0 0", "? syntax error"),
        ("time_left green 1 0", "? syntax error"),
        ("set_game Chess", "? unsupported game"),
        ("loadsgf", "? cannot load file"),
        ("loadsgf /nowhere/game.sgf", "? cannot load file"),
        ("undo", "? cannot undo"),
        ("list_command", "? unknown command"),
        ("7", "?7 unknown command"),
        ("SHOWBOARD", "? unknown command"),
    ],
)
def test_what_cannot_be_done_is_an_error_and_changes_nothing(line: str, says: str) -> None:
    session = session_of()
    found = heard(line, session)
    assert found.startswith(says)
    assert found.endswith("\n\n")
    assert found.count("\n") == 2
    assert session.positions == [Position.start("reversi4")]


def test_commands_are_known_by_their_names() -> None:
    listed = answers("list_commands")[0].removeprefix("= ").split("\n")
    assert len(listed) == len(set(listed)) == 32
    known = answers("\n".join(f"known_command {name}" for name in listed))
    assert known == ["= true"] * 32
    assert answers("known_command hint\nknown_command\n") == ["= false", "= false"]
    assert answers("version\nlist_games\nset_game Othello\n") == [f"= {__version__} first", "= Othello", "= "]


@pytest.mark.parametrize(
    ("line", "number", "words"),
    [
        ("", "", []),
        ("   \t ", "", []),
        ("# a comment", "", []),
        ("name # a comment", "", ["name"]),
        ("12 play\tblack  D3 ", "12", ["play", "black", "D3"]),
        ("na\x07me\x00", "", ["name"]),
        ("0012 name\r", "0012", ["name"]),
        ("12name", "", ["12name"]),
        ("-1 name", "", ["-1", "name"]),
        ("٣ name", "", ["٣", "name"]),
    ],
)
def test_lines_are_read_as_gtp_says(line: str, number: str, words: list[str]) -> None:
    assert parse_line(line) == (number, words)


def test_comments_and_empty_lines_get_no_answer() -> None:
    assert heard("# hello\n\n  \n\t# interrupt\nname#\n") == "= reversi-zero\n\n"


def test_colours_and_moves_are_read_in_either_case() -> None:
    assert answers("play B B1\nplay W A1\nplay Black A2\nundo\nplay BLACK a2\n") == ["= "] * 5


def test_reg_genmove_plays_nothing() -> None:
    session = standing_at(BLACK_MUST_PASS)
    assert answers("reg_genmove black\nreg_genmove white\n", session) == ["= pass", "= a1"]
    assert len(session.positions) == 1


def test_a_move_spends_what_the_clock_and_the_command_line_allow() -> None:
    session = session_of(limit=Limit(simulations=50, seconds=3.0))
    heard(
        "genmove b\ntime_settings 100 0 0\ngenmove w\ntime_left b 4.5 0\ngenmove b\ntime_left w 2 1\ngenmove w", session
    )
    seconds = [limit.seconds for limit in session.analyzer.limits]  # type: ignore[attr-defined]
    assert seconds == [3.0, 3.0, pytest.approx(4.5 / 7 - MARGIN_S), pytest.approx(2 - MARGIN_S)]
    assert {limit.simulations for limit in session.analyzer.limits} == {50}  # type: ignore[attr-defined]


def test_the_clock_runs_while_it_is_not_told() -> None:
    session = session_of()
    heard("time_settings 10 0 0\ngenmove b\ngenmove w\ngenmove b\n", session)
    seconds = [limit.seconds for limit in session.analyzer.limits]  # type: ignore[attr-defined]
    # 12, 11 and 10 empty squares; every thought of the stub takes a quarter of a second, and the margin counts
    assert seconds == [pytest.approx(t - MARGIN_S) for t in (10 / 8, 10 / 8, (9.75 - MARGIN_S) / 7)]


@pytest.mark.parametrize("solve", [0, 14])
@pytest.mark.parametrize("limit", [Limit(), Limit(seconds=1e-4)], ids=["simulations", "no time"])
@pytest.mark.parametrize("clock", ["", "time_settings 0 0 0\n"], ids=["no clock", "clock has run out"])
def test_a_model_plays_games_to_their_end(solve: int, limit: Limit, clock: str) -> None:
    game = "genmove black\ngenmove white\n" * 20 + "final_score\n"
    said = answers(clock + (game + "clear_board\n") * 2, model_session(solve, limit))
    assert [answer for answer in said if not answer.startswith("=")] == []
    assert sum(answer.startswith(("= B+", "= W+", "= 0")) for answer in said) == 2


def test_a_new_game_has_new_clocks_and_a_question_costs_no_time() -> None:
    session = session_of()
    analyzer = cast(FirstMove, session.analyzer)
    asked = "reg_genmove black\nreg_genmove black\ngenmove black\n"
    heard(f"time_settings 4 0 0\n{asked}clear_board\ngenmove black\n", session)
    assert analyzer.limits[0] == analyzer.limits[1] == analyzer.limits[2] == analyzer.limits[3]
    heard("boardsize 4\ntime_settings 4 0 0\ngenmove black\nundo\ngenmove black\n", session)
    first, second = (limit.seconds or 0.0 for limit in analyzer.limits[-2:])
    assert second < first


def test_a_loaded_game_has_new_clocks(tmp_path: Path) -> None:
    (tmp_path / "game.sgf").write_text("(;GM[2]SZ[4];B[b1])")
    session = session_of()
    load, think = f"loadsgf {tmp_path / 'game.sgf'}\n", "genmove white\n"
    heard(f"time_settings 8 0 0\n{load}{think}genmove black\n{think}{load}{think}", session)
    first, _, second, again = (limit.seconds for limit in cast(FirstMove, session.analyzer).limits)
    assert first == again != second


def test_an_interrupt_ends_the_thinking() -> None:
    session = session_of(analyzer=ThinksUntilStopped)
    reading, writing = os.pipe()
    said: list[str] = []
    serving = threading.Thread(target=Gtp(session, InputLines(lambda: os.read(reading, 1000)), said.append).serve)
    serving.start()
    os.write(writing, b"1 genmove b\n")
    assert session.analyzer.begun.wait(100)  # type: ignore[attr-defined]
    os.write(writing, b"# interrupt\n2 quit\n")
    serving.join(100)
    os.close(writing)
    assert session.analyzer.stopped  # type: ignore[attr-defined]
    assert said == ["=1 b1\n\n", "=2 \n\n"]


def test_a_file_is_loaded_up_to_a_move(tmp_path: Path) -> None:
    file = tmp_path / "a game.sgf"
    file.write_text("(;GM[2]SZ[4];B[b1];W[a1];B[a2])")
    session = session_of()
    assert answers(f"loadsgf {file}\nreg_genmove white\nundo\ngogui-rules_side_to_move\n", session) == [
        "= white", "= c1", "= ", "= black",
    ]  # fmt: skip
    assert answers(f'loadsgf "{file}" 2\n', session) == ["= white"]
    assert session.position == Position.start("reversi4").play("b1")
    file.write_text("(;GM[1];B[pd])")
    assert answers(f"loadsgf {file}\n", session)[0].startswith("? expected a game of Othello")
    file.write_text("(;GM[2]SZ[8])")
    assert answers(f"loadsgf {file}\n", session)[0].startswith("? expected a smaller board")
    file.write_bytes(b"\xff\x00(;GM[2]SZ[4];B[a1])")
    assert answers(f"loadsgf {file}\n", session)[0].startswith("? ")
    assert session.position == Position.start("reversi4").play("b1")


def test_garbage_gets_answers_and_never_an_exception() -> None:
    rng = np.random.default_rng(0)
    names = answers("list_commands")[0].removeprefix("= ").split("\n")
    words = [*names, "black", "white", "b1", "pass", "-1", "1e999", "nan", "#", "9" * 400, "\u00e9", '"', "4", "\x01"]
    for _ in range(300):
        if rng.random() < 0.3:
            text = rng.integers(0, 256, int(rng.integers(0, 200))).astype(np.uint8).tobytes()
        else:
            lines = (" ".join(rng.choice(words, int(rng.integers(1, 5)))) for _ in range(20))
            text = "\n".join(lines).encode()
        found = heard(text)
        assert all(answer[0] in "=?" for answer in found.split("\n\n")[:-1])
        assert found == "" or found.endswith("\n\n")
