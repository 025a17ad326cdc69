"""The games of a match as GGF, one a line."""

from __future__ import annotations

from evaluator.match import RESIGNED, Match
from reversi.formats.ggf import GgfGame, GgfMove, GgfResult
from reversi.games.position import Position


def ggf_of(match: Match) -> str:
    """Return the finished games of a match of Reversi in their order, each from the start of the game."""
    lines = []
    for game in match.finished_games():
        moves = tuple(GgfMove(action) for action in game.actions)
        names = [match.player_a.name, match.player_b.name]
        black, white = names if game.a_is_black else names[::-1]
        given_up = GgfResult(game.black_margin, "r" if game.forfeit == RESIGNED else "l") if game.forfeit else None
        lines.append(f"{GgfGame(Position.start(match.game), moves, {'PB': black, 'PW': white}, given_up)}\n")
    return "".join(lines)
