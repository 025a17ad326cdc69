"""OBF, the text format of endgame problems such as the FFO positions: a board, the side to move, and scored moves.

    --XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12; H7:+6;

64 characters row by row (36 and 16 on smaller boards), the side to move, then `move:score` pairs, best first.  The
scores are for the side to move; in the FFO files empty squares count for the winner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reversi.errors import NotationError
from reversi.games.notation import parse_action
from reversi.games.position import SHOWN, Position
from reversi.games.rules import Game

_SCORED = re.compile(r"([a-h][1-8]|pa|ps|pass|--):([+-]?\d{1,2})", re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
    """One line: a position and the scores of its moves."""

    position: Position

    scores: dict[int, int]
    """Scores of actions for the side to move, in the order of the line; not necessarily of all legal ones."""

    @property
    def score(self) -> int | None:
        """The score of the position, which is its best move's; None if no move is scored."""
        return max(self.scores.values(), default=None)

    @property
    def best(self) -> set[int]:
        """The actions with the best score."""
        return {action for action, score in self.scores.items() if score == self.score}


def parse_problem(text: str, game: Game | None = None) -> Problem:
    """Read one line, for any Reversi board if `game` is None; a position alone is a problem without scores.

    Raises NotationError for an invalid position, an invalid scored move or an illegal move.
    """
    board, *pairs = (part.strip() for part in text.strip().rstrip(";").split(";"))
    position = Position.parse(board, game)
    scores: dict[int, int] = {}
    for pair in pairs:
        match = _SCORED.fullmatch(pair)
        if match is None:
            raise NotationError(f"expected a move and its score such as g8:+18, got {pair[:SHOWN]!r}")
        game, name = position.game, match[1].lower()
        action = parse_action(game, name) if name[0] in "abcdefgh" else game.pass_action
        if action not in position.legal_actions():
            raise NotationError(f"expected one of {', '.join(position.legal_moves()) or 'no move'}, got {match[1]!r}")
        scores[action] = int(match[2])
    return Problem(position, scores)
