"""Passes as other programs and their files say them: some write every pass, some leave them to be understood."""

from __future__ import annotations

from reversi.errors import IllegalMoveError
from reversi.games.notation import action_name
from reversi.games.position import Position


def plies_of(position: Position, action: int, black: bool | None = None) -> list[int]:
    """Return the plies that `action` stands for: itself, after a pass where one is implied.

    black  who plays it, if that was said: a pass is implied where it is the other side's turn and that has no move.
           Where nothing was said, a pass is implied before a square when the side to move has none.

    A pass once the game is over stands for nothing: [].  Raises IllegalMoveError for what the rules refuse.
    """
    skip = position.game.pass_action
    legal = position.legal_actions()
    if not legal and action == skip:
        return []
    others_turn = action != skip if black is None else black != position.black_to_move
    if legal == [skip] and others_turn:
        position.play(skip).play(action)
        return [skip, action]
    if black is not None and others_turn:
        side, move = ("black" if position.black_to_move else "white"), action_name(position.game, action)
        expected = f"a move of {side}, one of {', '.join(position.legal_moves())}" if legal else "no move any more"
        raise IllegalMoveError(f"expected {expected}; got {move!r} of the other side")
    position.play(action)
    return [action]
