from __future__ import annotations

import pytest

from reversi.errors import IllegalMoveError, IncompatibleModelError
from reversi.games.notation import parse_action
from reversi.games.position import Position
from reversi.games.rules import GAMES
from tests.reversi.frontends.stubs import session_of

GAME = GAMES["reversi4"]
BLACK_MUST_PASS = "-XOXOOOO-XOOXOOO X"


def never() -> bool:
    return False


def act(move: str) -> int:
    return parse_action(GAME, move)


def test_moves_are_taken_back_one_by_one() -> None:
    session = session_of()
    session.play(act("b1"), True)
    session.play(act("a1"), False)
    assert len(session.positions) == 3
    assert session.undo()
    assert session.position == Position.start(GAME).play("b1")
    assert session.undo()
    assert not session.undo()
    assert session.position == Position.start(GAME)


def test_an_implied_pass_is_taken_back_with_its_move() -> None:
    session = session_of()
    session.begin(Position.parse(BLACK_MUST_PASS))
    session.play(act("a1"), False)
    assert len(session.positions) == 3
    session.undo()
    assert str(session.position) == BLACK_MUST_PASS


def test_a_pass_after_the_end_can_be_taken_back_and_changes_nothing() -> None:
    session = session_of()
    over = Position.parse("XXXXXXXXOOOOOOOO X")
    session.begin(over)
    session.play(GAME.pass_action, True)
    assert session.positions == [over]
    assert session.undo()
    assert not session.undo()


def test_what_is_refused_changes_nothing() -> None:
    session = session_of()
    with pytest.raises(IllegalMoveError):
        session.play(act("a1"))
    with pytest.raises(IncompatibleModelError):
        session.begin(Position.start("reversi8"))
    assert session.positions == [Position.start(GAME)]


def test_forced_moves_are_not_thought_about() -> None:
    session = session_of()
    session.begin(Position.parse(BLACK_MUST_PASS))
    assert session.choose(never).best.action == GAME.pass_action
    session.begin(Position.parse("XXXXXXXXOOOOOOOO X"))
    assert session.choose(never).best.action == GAME.pass_action
    assert session.analyzer.limits == []  # type: ignore[attr-defined]
    session.begin(Position.start(GAME))
    assert session.choose(never).best.action == act("b1")
    assert len(session.analyzer.limits) == 1  # type: ignore[attr-defined]


def test_a_board_keeps_its_mind() -> None:
    session = session_of()
    first = session.analyzer
    session.begin(Position.start("reversi6"))
    assert session.analyzer.game is GAMES["reversi6"]
    session.begin(Position.start("reversi4"))
    assert session.analyzer is first
