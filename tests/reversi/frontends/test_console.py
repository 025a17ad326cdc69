from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.engines.player import EnginePlayer
from reversi.errors import EngineError
from reversi.frontends.console import Console
from reversi.games.bitboard import Masks
from reversi.games.position import Position
from reversi.games.rules import game_named, legal_actions_mask
from reversi.players import Player

GAME = game_named("reversi4")
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
    unicode: bool = False,
    opponent: Player | None = None,
) -> tuple[Console, str]:
    """Return a console after a person typed `lines` and then closed the input, and what it said."""
    said: list[str] = []
    typed: Iterator[str] = iter(lines)

    def ask(prompt: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    console = Console(GAME, opponent or First(), person_is_black=black, ask=ask, say=said.append, unicode=unicode)
    if start is not None:
        console.position = Position.parse(start, GAME)
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
        ("e5", "expected a square from a1 to d4 or pass, got 'e5'"),
        ("hello", "`help` lists what you can type"),
        ("hint", "first would play b1."),
        ("undo", "There is nothing to undo."),
        ("moves", "no moves yet"),
        ("help", "  undo     take your last move back"),
    ],
)
def test_what_is_no_move_changes_nothing(line: str, answer: str) -> None:
    console, said = played([line])
    assert answer in said
    assert console.position == Position.start(GAME)
    assert console.history == []


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
    assert "first wins by 12." in said


def test_a_pass_of_the_opponent_is_announced() -> None:
    console, said = played(["a3", "a1"], black=False, start=BLACK_MUST_PASS)
    assert "first has no move and passes." in said
    assert console.position.is_over
    assert "You win by " in said


@pytest.mark.parametrize(("line", "answer"), [("resign", "You resign; first wins."), ("quit", "Goodbye.")])
def test_a_person_may_leave(line: str, answer: str) -> None:
    console, said = played([line])
    assert answer in said
    assert not console.position.is_over


def test_discs_are_drawn_where_the_terminal_has_them() -> None:
    assert "2 * ○ ● ·" in played([], unicode=True)[1]
    assert "2 * O X -" in played([])[1]


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
    console = Console(GAME, failing, person_is_black=True, ask=lambda _: "b1", say=said.append, unicode=False)
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

    console = Console(GAME, First(), person_is_black=True, ask=ask, say=said.append, unicode=False)
    with pytest.raises(KeyboardInterrupt):
        console.play()
    assert said[-2:] == ["\nGoodbye.", "The game: b1a1"]
