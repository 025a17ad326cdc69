"""Passes in the moves of other programs and files: some write every pass, some omit forced ones."""

from __future__ import annotations

from reversi.errors import IllegalMoveError
from reversi.games.notation import action_name
from reversi.games.position import Position


def plies_of(position: Position, action: int, black: bool | None = None, written: str | None = None) -> list[int]:
    """Return the plies that `action` represents: the action itself, after a pass if one is implied.

    black    the side that plays it, if known: a pass is implied if it is the other side's turn and that side has no
             move.  If unknown (None), a pass is implied before a move on a square if the side to move has none.
    written  the text of the action, which errors quote; None takes its name

    A pass after the end of the game is []: it is ignored.  Raises IllegalMoveError for an illegal action.
    """
    skip, text = position.game.pass_action, action_name(position.game, action) if written is None else written
    legal = position.legal_actions()
    if not legal and action == skip:
        return []
    others_turn = action != skip if black is None else black != position.black_to_move
    if legal == [skip] and others_turn:
        after = position.play(skip)
        if action not in after.legal_actions():
            raise after.refusal(text)
        return [skip, action]
    if black is not None and others_turn:
        side = "black" if position.black_to_move else "white"
        expected = f"a move of {side}, one of {', '.join(position.legal_moves())}" if legal else "no move any more"
        raise IllegalMoveError(f"expected {expected}; got {text!r} of the other side")
    if action not in legal:
        raise position.refusal(text)
    return [action]
