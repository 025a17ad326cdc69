from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.analysis.analyzer import Analysis, Analyzer, Limit, MoveAnalysis, PlayerAnalyzer
from reversi.analysis.solver import SolverAnalyzer
from reversi.errors import EngineError
from reversi.formats.ggf import parse_ggf
from reversi.frontends.board import Style, draw
from reversi.frontends.console import HELP, Console
from reversi.games.bitboard import Masks
from reversi.games.notation import parse_action
from reversi.games.position import Position
from reversi.games.rules import Game, game_named, legal_actions_mask
from reversi.players import Player
from reversi.players.engines.player import EnginePlayer

GAME = game_named("reversi4")
START = Position.start(GAME)
BLACK_MUST_PASS = "-XOXOOOO-XOOXOOO X"
"""Black passes, White plays a1 or a3, Black passes again, White plays the other: 14 to 2."""


class First:
    """Plays the first legal action, in the order of the squares."""

    name = "first"

    def choose(self, own: Masks, opp: Masks, /) -> NDArray[np.int32]:
        legal = np.zeros((len(own), GAME.actions), np.uint8)
        legal_actions_mask(GAME.id, own, opp, legal)
        return legal.argmax(axis=1).astype(np.int32)


def played(
    lines: list[str],
    *,
    black: bool = True,
    start: str | None = None,
    style: Style = "letters",
    opponent: Player | None = None,
    moves: Sequence[str] = (),
    analyzer: Callable[[], Analyzer | None] = lambda: None,
) -> tuple[Console, str]:
    """Return a console after a person typed `lines` and then closed the input, and what it said."""
    said: list[str] = []
    typed: Iterator[str] = iter(lines)

    def ask(prompt: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    console = Console(
        Position.start(GAME) if start is None else Position.parse(start, GAME),
        opponent or First(),
        person_is_black=black,
        ask=ask,
        say=said.append,
        style=style,
        moves=moves,
        analyzer=analyzer,
    )
    console.play()
    return console, "\n".join(said)


def test_the_opponent_answers_a_move() -> None:
    console, said = played(["b1"])
    assert console.moves == "b1a1"
    assert "first plays a1." in said
    assert said.endswith("Goodbye.\nThe game: b1a1")


def test_black_begins_also_if_the_person_is_white() -> None:
    console, said = played([], black=False)
    assert console.moves == "b1"
    assert said.startswith("You are White (O) against first.")


def test_moves_are_read_in_any_case() -> None:
    assert played(["  B1 "])[0].moves == "b1a1"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("a1", "a1 is not legal here; you may play b1, a2, d3, c4"),
        ("pass", "pass is not legal here"),
        ("e5", "expected a move such as b1, or `help`; got 'e5'"),
        ("hint", "first would play b1."),
        ("undo", "There is nothing to undo."),
        ("moves", "no moves yet"),
        ("help", "  b1         play there: column letter, row number"),
    ],
)
def test_what_is_no_move_changes_nothing(line: str, answer: str) -> None:
    console, said = played([line])
    assert answer in said
    assert console.position == Position.start(GAME)
    assert console.history == []


def test_the_example_is_a_legal_move_of_the_persons_first_turn() -> None:
    said = played(["b1", "hello"], moves=["b1", "a1"])[1]
    assert said.count("Type a move such as a2, or help.") == 1
    assert "Type a move such as a1, or help." in played([], black=False)[1]


def test_lines_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    line = tuple(map(action, ("b1", "a1", "a2", "a3", "c4")))
    said = played(["hint", "a1"], analyzer=lambda: Judge(MoveAnalysis(line[0], 0.5, 9, line)))[1]
    assert "\n  b1   +1.1 discs, 9 visits   b1 a1 ...\n" in said
    assert "\na1 is not legal here; you may play b1,\na2, d3, c4\n" in said
    assert max(map(len, HELP.format(move="b1").splitlines())) < 80


def test_an_empty_line_asks_again() -> None:
    assert played(["", "  ", "b1"])[0].moves == "b1a1"


def test_undo_takes_back_the_reply_too() -> None:
    console, _ = played(["b1", "undo"])
    assert (console.position, console.history) == (Position.start(GAME), [])
    console, _ = played(["b1", "undo", "d3"])
    assert console.moves.startswith("d3")


def test_undo_goes_back_past_passes() -> None:
    console, said = played(["a1", "undo"], black=False, start="-XOXOO-O-XOOXOOO O")
    assert str(console.position) == "-XOXOO-O-XOOXOOO O"
    assert "first" in said


def test_a_pass_of_the_person_is_announced() -> None:
    console, said = played([], start=BLACK_MUST_PASS)
    assert said.count("You have no move and pass.") == 2
    assert [move for _, move in console.history] == ["pass", "a1", "pass", "a3"]
    between = draw(Position.parse(BLACK_MUST_PASS).play("pass").play("a1"), "letters", "a1").splitlines()[:-1]
    standing = "Black must pass: Black (X) 3, White (O) 12"
    assert "\n".join(["first plays a1.\n", *between, standing, "You have no move and pass."]) in said
    assert "\nWhite wins 14-2. You lose.\n" in said


def test_a_pass_of_the_opponent_is_announced() -> None:
    console, said = played(["a3", "a1"], black=False, start=BLACK_MUST_PASS)
    assert "first has no move and passes." in said
    assert console.position.is_over
    assert "\nWhite wins 10-6. You win.\n" in said


@pytest.mark.parametrize(("line", "answer"), [("resign", "You resign; first wins."), ("quit", "Goodbye.")])
def test_a_person_may_leave(line: str, answer: str) -> None:
    console, said = played([line])
    assert answer in said
    assert not console.position.is_over


@pytest.mark.parametrize(
    ("style", "black", "white"),
    [("letters", "X", "O"), ("colours", " ● ", " ● ")],
)
def test_sentences_name_the_sides_in_words(style: Style, black: str, white: str) -> None:
    said = re.sub(r"\x1b\[[0-9;]*m", "", played(["b1"], style=style)[1])
    assert said.startswith(f"You are Black ({black}) against first.")
    assert f"\nWhite to move: Black ({black}) 4, White ({white}) 1\n" in said
    draw_of_8 = played([], style=style, start="XXXXXXXXOOOOOOOO X")[1]
    assert draw_of_8.endswith("\nDraw 8-8.")


class Program:
    """An engine that plays random legal moves, and does something else at its move number `gives_up_at`."""

    def __init__(self, seed: int = 0, gives_up_at: int = 0, fails: bool = False) -> None:
        self._rng, self._left, self._fails = np.random.default_rng(seed), gives_up_at, fails

    def choose(self, history: Sequence[int], /) -> int | None:
        self._left -= 1
        if self._left == 0 and self._fails:
            raise EngineError("it broke")
        if self._left == 0:
            return None
        position = Position.start(GAME)
        for action in history:
            position = position.play(action)
        return int(self._rng.choice(position.legal_actions()))

    def stop(self) -> None:
        pass


def engine(program: Program) -> EnginePlayer:
    return EnginePlayer("gtp:it", GAME, lambda: program, restarts=0)


@pytest.mark.parametrize("black", [True, False])
def test_an_engine_that_has_to_pass_plays_on(black: bool) -> None:
    """It is not asked on a pass; half of these games on 4x4 have one."""
    anywhere = [f"{column}{row}" for column in "abcd" for row in "1234"] * 16
    passes = 0
    for seed in range(30):
        console, said = played(anywhere, black=black, opponent=engine(Program(seed)))
        assert console.position.is_over
        passes += said.count("gtp:it has no move and passes.")
    assert passes > 10


def test_an_engine_that_resigns_has_lost() -> None:
    console, said = played(["b1"], opponent=engine(Program(gives_up_at=1)))
    assert said.endswith("gtp:it resigns; you win.\nThe game: b1")
    assert not console.position.is_over


def test_an_engine_that_fails_ends_the_game_and_its_moves_are_said() -> None:
    said: list[str] = []
    failing = engine(Program(gives_up_at=1, fails=True))
    console = Console(START, failing, person_is_black=True, ask=lambda _: "b1", say=said.append, style="letters")
    with pytest.raises(EngineError, match="gtp:it: it broke"):
        console.play()
    assert said[-1] == "The game: b1"


def test_an_engine_without_a_hint_does_not_end_the_game() -> None:
    said = played(["hint", "b1"], opponent=engine(Program(gives_up_at=1)))[1]
    assert "gtp:it has no hint: it resigned.\n" in said
    assert "gtp:it plays " in said


def test_ctrl_c_says_the_moves_too() -> None:
    said: list[str] = []
    typed = iter(["b1"])

    def ask(prompt: str) -> str:
        for line in typed:
            return line
        raise KeyboardInterrupt

    console = Console(START, First(), person_is_black=True, ask=ask, say=said.append, style="letters")
    with pytest.raises(KeyboardInterrupt):
        console.play()
    assert said[-2:] == ["\nGoodbye.", "The game: b1a1"]


class Judge:
    """Gives the moves that it was made with."""

    name, uses_limit, game = "judge", True, GAME

    def __init__(self, *moves: MoveAnalysis) -> None:
        self.moves, self.asked = moves, list[Position]()

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        self.asked.append(position)
        return Analysis(self.moves, 100, 0.1)


def action(move: str) -> int:
    return parse_action(GAME, move)


def test_a_hint_has_values_or_scores_and_lines_best_first() -> None:
    judge = Judge(
        MoveAnalysis(action("b1"), 1.0, 0, (action("b1"), action("a1")), 4, True),
        MoveAnalysis(action("a2"), 1.0, 7, (action("a2"),), certain=True),
        MoveAnalysis(action("d3"), -0.1254, 1, (action("d3"),)),
        MoveAnalysis(action("c4"), None, 0, (action("c4"),)),
    )
    console, said = played(["hint", "HINT  4", "hint 1"], analyzer=lambda: judge)
    three = [
        "  b1   +4 discs, exact        b1 a1",
        "  a2   win, proven            a2",
        "  d3   -0.3 discs, 1 visit    d3",
    ]
    four = [*three, "  c4   not searched           c4"]
    assert [line for line in said.splitlines() if line.startswith("  ") and "  a b" not in line] == [
        *three, *four, three[0],
    ]  # fmt: skip
    assert "Values by" not in said, "the best move's score is exact"
    assert judge.asked == [START] * 3
    assert console.history == []


def test_values_say_whose_they_are() -> None:
    judge = Judge(MoveAnalysis(action("d3"), 0.5, 1, (action("d3"),)))
    assert "Values by judge:\n  d3   +" in played(["hint"], analyzer=lambda: judge)[1]


def test_exact_scores_near_the_end_are_those_of_the_solver() -> None:
    def exact() -> Analyzer:
        return SolverAnalyzer(PlayerAnalyzer(GAME, First()), 12, winner_takes_empties=False)

    _, said = played(["hint"], black=False, start="-XOXOO-O-XOOXOOO O", analyzer=exact)
    hints = [line.split() for line in said.splitlines() if line.endswith(("a1", "a3", "c2")) and "exact" in line]
    assert hints
    assert all(hint[2:4] == ["discs,", "exact"] for hint in hints)
    assert [int(hint[1]) for hint in hints] == sorted((int(hint[1]) for hint in hints), reverse=True)


def test_without_values_a_hint_is_what_the_opponent_would_play() -> None:
    assert "first would play b1." in played(["hint 3"], analyzer=lambda: PlayerAnalyzer(GAME, First()))[1]


@pytest.mark.parametrize("number", ["0", "x", "-1", "1000", "2 3", "²"])
def test_a_hint_needs_a_number_from_1(number: str) -> None:
    assert f"expected a number of moves from 1, as in `hint 5`; got {number!r}" in played([f"hint {number}"])[1]


def test_a_game_goes_on_after_its_moves_and_they_can_be_taken_back() -> None:
    console, said = played(["undo", "undo"], moves=["b1", "a1", "a2", "a3"])
    assert "The game so far: b1a1a2a3" in said
    assert "There is nothing to undo." not in said
    assert console.history == []
    console, _ = played(["c4"], moves=["b1", "a1", "a2", "a3"])
    assert console.moves.startswith("b1a1a2a3c4")


def test_a_game_from_a_position_says_where_it_began() -> None:
    said = played([], start=BLACK_MUST_PASS, black=False)[1]
    assert said.endswith(f"The game from {BLACK_MUST_PASS!r}: ")
    assert "You have no move" not in said


def test_a_game_is_saved_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "My Game.ggf"
    _, said = played(["b1", f"save {file}", "save", f"save {tmp_path}"])
    assert f"Saved to {file}." in said
    assert "expected a file, as in `save game.ggf`" in said
    assert f"{tmp_path}: Is a directory" in said
    saved = parse_ggf(file.read_text())
    assert [move.action for move in saved.moves] == [action("b1"), action("a1")]
    assert (saved.tags["PB"], saved.tags["PW"], saved.result) == ("you", "first", None)
    played([f"save {file}"], start=BLACK_MUST_PASS, black=False)
    assert str(parse_ggf(file.read_text()).start) == BLACK_MUST_PASS


@pytest.mark.parametrize(("black", "result"), [(True, "RE[-16.000:r]"), (False, "RE[+16.000:r]")])
def test_a_record_says_who_resigned(black: bool, result: str) -> None:
    assert result in str(played(["resign"], black=black)[0].record())
    other = played(["b1"] if black else [], black=black, opponent=engine(Program(gives_up_at=1)))[0]
    assert result.translate(str.maketrans("+-", "-+")) in str(other.record())


@pytest.mark.parametrize(("black", "result"), [(True, "You win."), (False, "You lose.")])
def test_tic_tac_toe_is_won_by_no_discs(black: bool, result: str) -> None:
    said: list[str] = []
    over = Position.parse("XXXOO---- O", game_named("tictactoe"))
    Console(over, First(), person_is_black=black, ask=lambda _: "", say=said.append, style="letters").play()
    assert said[-1].endswith(f"\nBlack wins. {result}")


def test_what_is_no_move_of_tic_tac_toe_is_told_one() -> None:
    start, lines, said = Position.start(game_named("tictactoe")), iter(["d3", "pass", "quit"]), list[str]()
    Console(start, First(), person_is_black=True, ask=lambda _: next(lines), say=said.append, style="letters").play()
    assert "Type a move such as a1, or help." in said
    assert "expected a move such as a1, or `help`; got 'd3'" in said
    assert "pass is not legal here; you may play a1, b1, c1, a2, b2, c2, a3, b3, c3" in said


def test_tic_tac_toe_is_not_saved(tmp_path: Path) -> None:
    game: Game = game_named("tictactoe")
    said: list[str] = []
    lines = iter([f"save {tmp_path / 'no.ggf'}", "quit"])
    start = Position.start(game)
    Console(start, First(), person_is_black=True, ask=lambda _: next(lines), say=said.append, style="letters").play()
    assert "expected a game of Reversi to save in GGF, this is tictactoe" in said
    assert not (tmp_path / "no.ggf").exists()
