"""NBoard: golden conversations, hints, thinking that a ping stops, and garbage that is ignored."""

from __future__ import annotations

import os
import re
import threading
import time

import numpy as np
import pytest

from reversi.analysis.analyzer import Limit, PlayerAnalyzer
from reversi.analysis.margin import discs_of
from reversi.analysis.solver import SolverAnalyzer
from reversi.formats.ggf import GgfGame, name_of
from reversi.frontends.clocks import MARGIN_S
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.input_lines import InputLines
from reversi.frontends.nboard import NBoard, simulations_of
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.players import GreedyPlayer
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped, lines_of, model_session, session_of

PASSING = "(;GM[Othello]TY[4]BO[4 -*O*OOOO-*OO*OOO *];)"
"""Black passes, White plays a1 or a3, Black passes again, White plays the other: 14 to 2."""


def heard(text: str | bytes, session: EngineSession | None = None) -> list[str]:
    """Return the lines that are answered."""
    said: list[str] = []
    NBoard(session or session_of(), lines_of(text), said.append).serve()
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in said)
    return [line.removesuffix("\n") for line in said]


def test_a_conversation_word_for_word() -> None:
    text = f"""\
nboard 2
set depth 6
set contempt 3
set game {GgfGame(Position.start("reversi4"))}
ping 1
hint 2
move B1/1.5/0.2
go
go
set game {PASSING}
go
move PA
hint 1
learn
what is this
ping 2
quit
ping 3
"""
    assert heard(text) == [
        "set myname reversi-zero-first",
        "set myname reversi-zero-first-depth-6",
        "pong 1",
        "status thinking",
        "search B1A1 1.10 0 2 10 simulations",
        "search A2A1 0.51 0 2 9 simulations",
        "nodestats 20 0.25",
        "status",
        *(
            "status thinking",
            "search A1A2 1.10 0 2 10 simulations",
            "nodestats 20 0.25",
            "=== A1/1.10/0.25",
            "status",
        )
        * 2,
        "status thinking",
        "=== PA",
        "status",
        "status thinking",
        "search A1PA 1.10 0 2 10 simulations",
        "nodestats 20 0.25",
        "status",
        "learned",
        "pong 2",
    ]


@pytest.mark.parametrize(
    "moves", ["move PA\nmove A1\nmove PA\nmove A3", "move A1\nmove A3", "move PASS\nmove a1//1\nmove a3"]
)
def test_passes_may_be_said_or_left_out(moves: str) -> None:
    session = session_of()
    heard(f"set game {PASSING}\n{moves}\n", session)
    assert session.position.is_over
    assert session.position.black_margin == -12


def test_solved_positions_are_exact() -> None:
    session = session_of(analyzer=lambda game: SolverAnalyzer(FirstMove(game), 4))
    found = heard(f"set game {PASSING}\nmove PA\nhint 9\nanalyze\n", session)
    assert [line for line in found if line.startswith(("search", "analysis"))] == [
        "search A1PAA3 12.00 0 100% solved",
        "search A3A1 4.00 0 100% solved",
        "analysis 1 12.00",
        "analysis 0 -12.00",
    ]
    wiped_out = "(;GM[Othello]TY[4]BO[4 *O-------------- *];)"
    assert heard(f"set game {wiped_out}\nmove C1\nanalyze\n", session) == [
        "status analyzing", "analysis 1 -16.00", "analysis 0 1.10", "status",
    ]  # fmt: skip


def test_after_the_end_there_is_nothing_to_judge() -> None:
    text = f"set game {PASSING}\nmove A1\nmove A3\nhint 3\ngo\nmove PA\ngo\n"
    assert heard(text) == ["status thinking", "status"] + ["status thinking", "=== PA", "status"] * 2


def test_every_position_of_the_game_is_analyzed_the_last_one_first() -> None:
    found = heard(f"set game {PASSING}\nmove A1\nmove A3\nanalyze\n")
    assert found == [
        "status analyzing",
        "analysis 4 -12.00",
        "analysis 3 1.10",
        "analysis 2 1.10",
        "analysis 1 1.10",
        "analysis 0 1.10",
        "status",
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("set game (;GM[Go];)", ["status error: expected GM[Othello] and no anti-game, got GM[Go]TY[8]"]),
        ("set game", ["status error: expected a game like (;GM[Othello]...;), got ''"]),
        (f"set game {GgfGame(Position.start('reversi8'))}", ["status error: expected a smaller board, got reversi8"]),
        ("move A1", None),
        ("move", None),
        ("move PA", None),
        ("move X9/1/1", None),
        ("set depth", []),
        ("set depth x", []),
        ("set", []),
        ("set nothing 3", []),
        ("Go", []),
        ("", []),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(line: str, says: list[str] | None) -> None:
    session = session_of()
    found = heard(line + "\n", session)
    assert found == says if says is not None else found[0].startswith("status error: expected ")
    assert session.positions == [Position.start("reversi4")]


def test_depth_is_the_budget_unless_the_command_line_has_one() -> None:
    def limits(session: EngineSession) -> list[Limit]:
        heard("go\nset depth 10\ngo\nset depth    99\ngo\n", session)
        return session.analyzer.limits  # type: ignore[attr-defined, no-any-return]

    assert limits(session_of()) == [Limit(), Limit(1024), Limit(65536)]
    assert limits(session_of(limit=Limit(seconds=2))) == [Limit(seconds=2)] * 3
    assert [simulations_of(depth) for depth in (0, 1, 16, 60)] == [1, 2, 65536, 65536]


def timed(tags: str, moves: str = "") -> str:
    """Return a game on 4x4 with the tags of its times."""
    return f"(;GM[Othello]{tags}TY[4]BO[4 -----O*--*O----- *]{moves};)"


@pytest.mark.parametrize(
    ("game", "left_s", "empties"),
    [
        (timed("TI[05:00]"), 300, 12),
        (timed("TI[05:00//02:00]"), 300, 12),
        (timed("TI[1:00:00]"), 3600, 12),
        (timed("TI[1.00:00:00]"), 86400, 12),
        (timed("TB[00:30]TW[05:00]TI[99:00]"), 30, 12),
        (timed("TI[05:00]", "B[B1//20]W[A1/1/200]"), 280, 10),
        (timed("TI[05:00]", "B[B1]W[A1]"), 300, 10),
        (timed("TI[00:10//01:00]", "B[B1//40]W[A1]"), 30, 10),
        (timed("TI[00:10//00:05]", "B[B1//40]W[A1]"), 0, 10),
    ],
)
def test_go_takes_its_share_of_the_time_that_the_game_leaves(game: str, left_s: float, empties: int) -> None:
    session = session_of()
    heard(f"set game {game}\ngo\n", session)
    (limit,) = session.analyzer.limits  # type: ignore[attr-defined]
    assert limit == Limit(seconds=pytest.approx(max(0.0, left_s / (empties // 2 + 2) - MARGIN_S)))


def test_an_increment_is_added_to_the_share_and_to_the_time() -> None:
    session = session_of()
    heard(f"set game {timed('TI[00:16/00:03]', 'B[B1//8]W[A1//1]')}\ngo\n", session)
    (limit,) = session.analyzer.limits  # type: ignore[attr-defined]
    assert limit.seconds == pytest.approx((16 - 8 + 3) / 7 + 3 - MARGIN_S)


@pytest.mark.parametrize("tags", ["", "TI[]", "TI[0]", "TI[00:00]", "TI[soon]", "TI[1:2:3:4]", "TI[5:00/1/1/1]"])
def test_a_game_without_times_has_no_clock(tags: str) -> None:
    session = session_of()
    heard(f"set game {timed('TI[00:01]')}\nset game {timed(tags)}\ngo\n", session)
    assert session.analyzer.limits == [Limit()]  # type: ignore[attr-defined]


def test_the_command_line_and_the_depth_limit_a_timed_move_too() -> None:
    for limit, depth, expected in (
        (Limit(seconds=1), "", Limit(seconds=1)),
        (Limit(simulations=5), "", Limit(5, 37.5 - MARGIN_S)),
        (Limit(), "set depth 3\n", Limit(8, 37.5 - MARGIN_S)),
    ):
        session = session_of(limit=limit)
        heard(f"{depth}set game {timed('TI[05:00]')}\ngo\n", session)
        assert session.analyzer.limits == [expected]  # type: ignore[attr-defined]


def test_the_times_of_moves_are_counted_as_they_are_played() -> None:
    session = session_of()
    heard(f"set game {timed('TI[01:00]')}\ngo\nmove B1\nmove A1//59\ngo\nmove A2/1/10\nmove A3\ngo\n", session)
    shares = [limit.seconds for limit in session.analyzer.limits]  # type: ignore[attr-defined]
    left = (60.0, 60 - 0.25, 60 - 0.25 - 10)  # the first move takes what `go` took
    expected = [each / (empties // 2 + 2) - MARGIN_S for each, empties in zip(left, (12, 10, 8), strict=True)]
    assert shares == pytest.approx(expected)


@pytest.mark.parametrize("word", ["PA", "pass", "ps", "--", "@@@@", "tt"])
def test_every_word_for_a_pass_is_one(word: str) -> None:
    session = session_of()
    assert heard(f"set game {PASSING}\nmove {word}\n", session) == []
    assert not session.position.black_to_move


@pytest.mark.parametrize("word", ["PA", "F9", "\uff41\uff11"])
def test_a_wrong_move_is_quoted_as_it_was_sent(word: str) -> None:
    (said,) = heard(f"move {word}/1/2\n")
    assert f"got {word!r}" in said


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("go", ["search B1A1 1.10 0 2 10 simulations", "nodestats 20 0.25", "=== B1/1.10/0.25"]),
        ("hint 1", ["search B1A1 1.10 0 2 10 simulations", "nodestats 20 0.25"]),
        ("analyze", ["analysis 0 1.10"]),
    ],
)
@pytest.mark.parametrize("ends", ["ping 7", "quit"])
def test_a_ping_stops_the_thinking(command: str, answer: list[str], ends: str) -> None:
    session = session_of(analyzer=ThinksUntilStopped)
    reading, writing = os.pipe()
    said: list[str] = []
    serving = threading.Thread(target=NBoard(session, InputLines(lambda: os.read(reading, 1000)), said.append).serve)
    serving.start()
    os.write(writing, f"{command}\n".encode())
    assert session.analyzer.begun.wait(100)  # type: ignore[attr-defined]
    os.write(writing, f"{ends}\nquit\n".encode())
    serving.join(100)
    os.close(writing)
    assert session.analyzer.stopped  # type: ignore[attr-defined]
    found = [line.strip() for line in said]
    assert found[1:-1] == [*answer, "status"][: len(found) - 2]
    assert found[-1] == ("pong 7" if ends == "ping 7" else "status")


def test_a_quit_that_was_waiting_before_does_not_stop_the_thinking() -> None:
    """As in `printf 'go\\nquit\\n' | reversi nboard`, where every search would get no simulation."""
    session = model_session(0, Limit(simulations=100))
    lines = lines_of("go\nhint 1\nanalyze\nquit\n")
    while not lines.holds(lambda line: line == "quit"):
        time.sleep(0.001)
    said: list[str] = []
    NBoard(session, lines, said.append).serve()
    searched = [int(line.split()[1]) for line in said if line.startswith("nodestats")]
    assert len(searched) == 2
    assert min(searched) >= 100
    assert sum(line.startswith("analysis ") for line in said) == 1


def test_values_in_discs_rise_with_the_value_and_are_odd() -> None:
    for game in (GAMES["reversi4"], GAMES["reversi6"], GAMES["reversi8"]):
        values = np.linspace(-1, 1, 401)
        discs = [discs_of(game, float(value)) for value in values]
        assert all(np.diff(discs)[4:-4] > 0)
        np.testing.assert_allclose(discs, [-each for each in reversed(discs)], atol=1e-9)
        assert discs[200] == 0
        assert discs[400] == discs_of(game, 0.99) < game.squares, "a won game says nothing of the margin"
    # four discs ahead on 8x8 win with 1 / (1 + 1/e) = 0.731
    assert discs_of(GAMES["reversi8"], 2 / (1 + np.exp(-1)) - 1) == pytest.approx(4)


@pytest.mark.parametrize("solve", [0, 14])
@pytest.mark.parametrize("limit", [Limit(), Limit(seconds=1e-4)], ids=["simulations", "no time"])
def test_a_model_judges_every_position_of_a_game(solve: int, limit: Limit) -> None:
    rng, position = np.random.default_rng(1), Position.start("reversi6")
    moves: list[str] = []
    while not position.is_over:
        action = int(rng.choice(position.legal_actions()))
        moves.append(name_of(position.game, action))
        position = position.play(action)
    text = "".join(f"go\nhint 3\nmove {move}\nping 1\n" for move in moves)
    said = heard(text + "analyze\n", model_session(solve, limit))
    assert [line for line in said if "error" in line] == []
    assert sum(line.startswith("=== ") for line in said) == len(moves)
    assert sum(line.startswith("analysis ") for line in said) == len(moves) + 1


@pytest.mark.parametrize("limit", [Limit(simulations=0), Limit(seconds=0.0)], ids=["no simulations", "no time"])
def test_without_a_visit_only_the_best_move_has_a_value_that_of_the_position(limit: Limit) -> None:
    game = GgfGame(Position.start("reversi6"))
    said = heard(f"set game {game}\nhint 9\ngo\nanalyze\n", model_session(0, limit))
    hint, go = (line for line in said if line.startswith("search "))
    assert hint == go
    assert re.fullmatch(r"search \w+ -?\d+\.\d\d 0 1 0 simulations", hint)
    (answer,) = (line for line in said if line.startswith("==="))
    assert answer.split("/")[:2] == [f"=== {hint.split()[1]}", hint.split()[2]]
    assert f"analysis 0 {hint.split()[2]}" in said


def test_a_certain_result_is_no_margin() -> None:
    game = GgfGame(Position.parse("X--X--XXXX-OXOXXXOXXOX-OX-XXX---X--- O"))
    said = heard(f"set game {game}\nhint 1\n", model_session(0, Limit(simulations=3000)))
    (line,) = [line for line in said if line.startswith("search ")]
    assert re.fullmatch(r"search \w+ 11\.91 0 100%W \d+ simulations", line)


def test_a_player_that_does_not_say_what_it_thinks_is_not_quoted() -> None:
    session = session_of(analyzer=lambda game: PlayerAnalyzer(game, GreedyPlayer(game, np.random.default_rng(1))))
    said = heard("set depth 12\nhint 2\ngo\n", session)
    assert heard("move B1\nanalyze\n", session) == ["status analyzing", "status"]
    assert said[0] == "set myname reversi-zero-greedy-depth-12", "clients wait for it"
    assert [line.split()[0] for line in said[1:]] == [
        "status",
        "nodestats",
        "status",
        "status",
        "nodestats",
        "===",
        "status",
    ]


def test_nothing_is_said_of_another_game_than_was_set() -> None:
    session = session_of()
    text = f"set game {GgfGame(Position.start('reversi8'))}\ngo\nhint 1\nmove F5\nping 7\n"
    said = heard(text + f"set game {GgfGame(Position.start('reversi4'))}\ngo\n", session)
    refused = "status error: expected a smaller board, got reversi8"
    assert said[:5] == [refused] * 4 + ["pong 7"]
    assert said[-2].startswith("=== ")


def test_garbage_is_answered_or_ignored_and_never_an_exception() -> None:
    rng = np.random.default_rng(0)
    words = ["nboard", "set", "depth", "game", "move", "hint", "go", "ping", "learn", "analyze", "contempt", "B1", "PA"]
    words += ["9" * 400, "-1", "(;GM[Othello]", PASSING, "/", "nan", "\u00e9", "\x00", "  ", "²"]
    for _ in range(300):
        if rng.random() < 0.3:
            text = rng.integers(0, 256, int(rng.integers(0, 200))).astype(np.uint8).tobytes()
        else:
            lines = (" ".join(rng.choice(words, int(rng.integers(1, 5)))) for _ in range(20))
            text = "\n".join(lines).encode()
        assert "pong 7" in heard(text + b"\nping 7\n"), "it should still be there"


def test_a_ping_between_two_positions_ends_an_analysis() -> None:
    session, said = session_of(), list[str]()
    session.play(session.position.legal_actions()[0])
    board = NBoard(session, lines_of(""), said.append)
    board._lines.holds = lambda ends: True  # type: ignore[method-assign]
    board._analyze("")
    assert said == ["status analyzing\n", "status\n"]
