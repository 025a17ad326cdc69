"""Analyses over GTP: `lz-analyze`, `kata-analyze`, GoGui's menu; how they end, and what the engine does meanwhile."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable

import pytest

from reversi.analysis.analyzer import Analysis, Limit, MoveAnalysis
from reversi.analysis.margin import discs_of
from reversi.frontends.engine_session import EngineSession
from reversi.frontends.gtp import Gtp
from reversi.frontends.gtp_analysis import STEPS, AnalyzeRequest
from reversi.frontends.gtp_words import GtpError
from reversi.frontends.input_lines import InputLines
from reversi.games.position import Position
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped, lines_of, model_session, session_of

BLACK_MUST_PASS = "-XOXOOOO-XOOXOOO X"
LATE = "-XXOOX-XXOO--XXXOXXXOOOXXOOOO-XOOOO- X"
"""6x6, six empty squares."""
EARLY_PASS = "OOOX-XOOXXX-OXOX--OOXX--OXOX--OOOO-- X"
"""6x6, Black must pass."""


def heard(text: str, session: EngineSession | None = None) -> str:
    said: list[str] = []
    Gtp(session or session_of(), lines_of(text), said.append).serve()
    return "".join(said)


def standing_at(text: str, session: EngineSession | None = None) -> EngineSession:
    session = session or session_of()
    session.begin(Position.parse(text))
    return session


class Conversation:
    """A program that is talked to while it thinks."""

    def __init__(self, session: EngineSession) -> None:
        reading, self._writing = os.pipe()
        self.said: list[str] = []
        self._more = threading.Condition()
        gtp = Gtp(session, InputLines(lambda: os.read(reading, 1000)), self._hear)
        self._serving = threading.Thread(target=gtp.serve, daemon=True)
        self._serving.start()

    def _hear(self, text: str) -> None:
        with self._more:
            self.said.append(text)
            self._more.notify_all()

    def type(self, text: str) -> None:
        os.write(self._writing, text.encode())

    def wait_for(self, heard: Callable[[list[str]], bool]) -> None:
        with self._more:
            assert self._more.wait_for(lambda: heard(self.said), 10), self.said

    def end(self) -> str:
        os.close(self._writing)
        self._serving.join(100)
        assert not self._serving.is_alive()
        return "".join(self.said)


def test_an_analysis_word_for_word() -> None:
    """The stub gives the values 1/2, 1/4, 0, -1/4."""
    assert heard("7 lz-analyze\nkata-analyze b 50 maxmoves 2\nreversi-evaluation\nreversi-variation black\n") == (
        "=7\n"
        "info move b1 visits 10 winrate 7500 order 0 pv b1 a1 "
        "info move a2 visits 9 winrate 6250 order 1 pv a2 a1 "
        "info move d3 visits 8 winrate 5000 order 2 pv d3 d2 "
        "info move c4 visits 7 winrate 3750 order 3 pv c4 d2\n\n"
        "=\n"
        "info move b1 visits 10 winrate 0.750000 order 0 pv b1 a1 "
        "info move a2 visits 9 winrate 0.625000 order 1 pv a2 a1\n\n"
        "= LABEL b1 +1.1 a2 +0.5 d3 +0.0 c4 -0.5\n"
        "COLOR green b1\n"
        "TEXT +1.1 discs, 10 visits: b1 a1\n\n"
        "= +1.1 discs, 10 visits: b1 a1\n\n"
    )


def test_solved_moves_have_exact_scores() -> None:
    session = standing_at(LATE, model_session(14, Limit()))
    answer = heard("kata-analyze 10\nlz-analyze 10\nreversi-evaluation\nreversi-variation\n", session)
    kata, lz, graphics, line = answer.removesuffix("\n\n").split("\n\n")
    found = re.findall(r"move (\S+) visits 1 winrate (\S+) scoreMean (\S+) scoreLead (\S+) order (\d+)", kata)
    scores = [int(score) for *_, score, _ in found]
    assert len(found) == len(session.position.legal_moves()) > 1
    assert scores == sorted(scores, reverse=True)
    assert [float(rate) for _, rate, *_ in found] == [(1 + (score > 0) - (score < 0)) / 2 for score in scores]
    assert [mean for *_, mean, _, _ in found] == [str(score) for score in scores]
    assert "score" not in lz
    best = found[0][0]
    assert f"{best} ={scores[0]:+d}" in graphics
    assert f"COLOR green {best}" in graphics
    assert line.startswith(f"= {scores[0]:+d} discs, exact: {best} ")


def test_lines_get_deeper_until_the_next_line_of_input() -> None:
    conversation = Conversation(model_session(0, Limit()))
    conversation.type("3 kata-analyze black 0\n")
    conversation.wait_for(lambda said: len(said) > 4)
    conversation.type("\n4 name\n")
    conversation.wait_for(lambda said: said[-1].startswith("=4"))
    head, *lines = conversation.said[:-2]
    assert head == "=3\n"
    visits = [sum(map(int, re.findall(r"visits (\d+)", line))) for line in lines]
    assert visits[:4] == list(STEPS[:4])
    assert visits == sorted(visits)
    assert conversation.end().endswith("\n\n=4 reversi-zero\n\n")


@pytest.mark.parametrize("line", ["\n", "1 name\n", "# a comment\n", "quit\n"])
def test_anything_that_arrives_ends_even_the_first_analysis(line: str) -> None:
    session = session_of(analyzer=ThinksUntilStopped)
    conversation = Conversation(session)
    conversation.type("lz-analyze 10\n")
    assert session.analyzer.begun.wait(100)  # type: ignore[attr-defined]
    assert conversation.said == ["=\n"]
    conversation.type(line)
    conversation.wait_for(lambda said: "\n" in said)
    assert conversation.end().startswith("=\ninfo move b1 ")
    assert session.analyzer.stopped  # type: ignore[attr-defined]


def test_the_end_of_the_input_ends_an_analysis() -> None:
    conversation = Conversation(model_session(0, Limit()))
    conversation.type("lz-analyze 0\n")
    conversation.wait_for(lambda said: len(said) > 3)
    assert conversation.end().endswith("\n\n")


def test_a_finished_analysis_waits_for_the_next_line() -> None:
    conversation = Conversation(standing_at(LATE, model_session(14, Limit())))
    conversation.type("lz-analyze 6000\n")
    conversation.wait_for(lambda said: len(said) == 2)
    assert conversation.said[1].startswith("info move ")
    conversation.type("name\n")
    conversation.wait_for(lambda said: len(said) == 4)
    assert conversation.said[2:] == ["\n", "= reversi-zero\n\n"]
    conversation.end()


def test_a_move_has_its_prior_in_both_notations() -> None:
    session = model_session(0, Limit())
    answer = heard("lz-analyze\nkata-analyze\n", session)
    whole, shares = (re.findall(rf"prior ({number}) order", answer) for number in (r"\d+", r"[01]\.\d{6}"))
    assert len(whole) == len(shares) == 4
    assert sum(map(float, shares)) == pytest.approx(1.0, abs=1e-5)
    assert [int(each) for each in whole] == [round(10_000 * float(share)) for share in shares]


def test_without_a_visit_only_the_best_move_has_a_value_that_of_the_position() -> None:
    session = model_session(0, Limit(simulations=0))
    graphics, line = heard("reversi-evaluation\nreversi-variation\n", session).removesuffix("\n\n").split("\n\n")
    best, value = re.fullmatch(r"= COLOR green (\w+)\nTEXT (\S+) discs, 0 visits: \1", graphics, re.A).groups()  # type: ignore[union-attr]
    assert line == f"= {value} discs, 0 visits: {best}"
    analysis = session.analyse(lambda: False)
    assert f"{discs_of(session.position.game, analysis.value):+.1f}" == value  # type: ignore[arg-type]
    lines = AnalyzeRequest(kata=True).line(session.position.game, analysis)
    assert lines.count("info") == 1
    assert f"info move {best} visits 1 winrate {(1 + analysis.value) / 2:.6f} " in lines  # type: ignore[operator]


def test_the_best_move_is_first_even_if_others_have_all_the_visits() -> None:
    moves = (MoveAnalysis(1), MoveAnalysis(4, -1.0, 3, (4,), certain=True), MoveAnalysis(11))
    game = session_of().position.game
    lines = AnalyzeRequest(kata=False).line(game, Analysis(moves, 4, 0.1, -0.5))
    assert re.findall(r"move (\w+) visits (\d+) winrate (\d+) order (\d)", lines) == [
        ("b1", "1", "2500", "0"),
        ("a2", "3", "0", "1"),
    ]


def test_the_interval_is_the_shortest_time_between_lines() -> None:
    conversation = Conversation(model_session(0, Limit()))
    conversation.type("lz-analyze 10000\n")
    threading.Event().wait(0.3)
    assert conversation.said == ["=\n"]
    conversation.type("\n")
    conversation.wait_for(lambda said: said[-1] == "\n")
    assert len(conversation.said) == 3
    assert sum(map(int, re.findall(r"visits (\d+)", conversation.said[1]))) > STEPS[0]
    conversation.end()


def test_an_analysis_of_the_other_side_implies_its_pass_and_changes_nothing() -> None:
    session = standing_at(BLACK_MUST_PASS)
    answer = heard("lz-analyze white\nreversi-variation white\nlz-analyze\n", session)
    assert re.findall(r"info move (\S+)", answer) == ["a1", "a3", "pass"]
    assert str(session.position) == BLACK_MUST_PASS
    model = standing_at(EARLY_PASS, model_session(0, Limit()))
    assert "info move pass visits " in heard("lz-analyze\n", model)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("lz-analyze white", "illegal move: it is black's turn"),
        ("reversi-evaluation white", "illegal move: it is black's turn"),
        ("reversi-variation red", "syntax error: expected black or white"),
        ("kata-analyze b 50 avoid b d3 1", "syntax error: expected a colour, centiseconds, interval, minmoves, "),
        ("lz-analyze fast", "syntax error: expected a colour, centiseconds, interval, "),
        ("lz-analyze -1", "syntax error: expected a whole number after interval, got '-1'"),
        ("lz-analyze 1e9", "syntax error: expected a whole number after interval, got '1e9'"),
        ("lz-analyze maxmoves", "syntax error: expected a whole number after maxmoves, got ''"),
        ("lz-analyze ownership maybe", "syntax error: expected"),
    ],
)
def test_what_cannot_be_analysed_is_an_error(line: str, says: str) -> None:
    found = heard(f"9 {line}\n")
    assert found.startswith(f"?9 {says}")
    assert found.count("\n") == 2


def test_a_player_without_values_and_a_finished_game_are_not_analysed() -> None:
    class OnlyMoves(FirstMove):
        uses_limit = False

    for line in ("lz-analyze", "reversi-evaluation"):
        assert heard(line, session_of(analyzer=OnlyMoves)) == "? cannot analyze: first only chooses moves\n\n"
        assert heard(line, standing_at("X" * 16 + " O")) == "? cannot analyze: the game is over\n\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("lz-analyze", AnalyzeRequest(kata=False)),
        ("kata-analyze W", AnalyzeRequest(kata=True, black=False)),
        ("kata-analyze 50", AnalyzeRequest(kata=True, interval_s=0.5)),
        (
            "kata-analyze black 50 maxmoves 3 minmoves 2 ownership true rootInfo true",
            AnalyzeRequest(kata=True, black=True, interval_s=0.5, most=3),
        ),
        ("lz-analyze b interval 7", AnalyzeRequest(kata=False, black=True, interval_s=0.07)),
    ],
)
def test_arguments_are_those_of_katago(words: str, expected: AnalyzeRequest) -> None:
    assert AnalyzeRequest.parse(words.split()) == expected


def test_a_number_is_needed_after_a_key() -> None:
    with pytest.raises(GtpError, match="expected a whole number after interval"):
        AnalyzeRequest.parse(["lz-analyze", "interval"])


def test_moves_that_a_symmetry_exchanges_have_one_value_and_share_the_visits() -> None:
    for command in ("kata", "lz"):
        answer = heard(f"{command}-analyze\n", model_session(8, Limit()))
        found = re.findall(r"info move (\w+) visits (\d+) winrate (\S+) prior (\S+)", answer)
        assert {move for move, *_ in found} == {"c2", "b3", "d5", "e4"}
        assert {tuple(each) for _, *each in found} == {(str(STEPS[0] // 4), found[0][2], found[0][3])}
