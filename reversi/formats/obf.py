"""OBF, Edax's text format of endgame problems such as the FFO positions: a board, the side to move, and scored moves.

    --XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12; H7:+6; % a comment

64 characters row by row (36 and 16 on smaller boards), the side to move, then `move:score` pairs, best first, or the
score of the position alone.  The scores are for the side to move; in the FFO files empty squares count for the winner.
Edax ends a list of moves with `--:-127`, no move with no score.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reversi.errors import NotationError
from reversi.games.notation import parse_action, plain
from reversi.games.position import SHOWN, Position
from reversi.games.rules import Game

_SCORED = re.compile(r"(?:([^:]*?)\s*:)?\s*([+-]?\d{1,3})(?:\.0*)?")

_COMMENT = re.compile("[#%].*", re.DOTALL)

_FIELDS = re.compile(r"[;\uff1b]")

_NO_MOVE = "--"


@dataclass(frozen=True)
class Problem:
    """One line: a position and the scores of its moves."""

    position: Position

    scores: dict[int, int]
    """Scores of actions for the side to move, in the order of the line; not necessarily of all legal ones."""

    own_score: int | None = None
    """The score of the position, if the line gives it without a move."""

    @property
    def score(self) -> int | None:
        """The score of the position, which is its best move's; None if the line gives none."""
        return max(self.scores.values(), default=self.own_score)

    @property
    def best(self) -> set[int]:
        """The actions with the best score."""
        return {action for action, score in self.scores.items() if score == self.score}


def parse_problem(text: str, game: Game | None = None) -> Problem:
    """Read one line, for any Reversi board if `game` is None; a position alone is a problem without scores.

    Raises NotationError for an invalid position, an invalid scored move or an illegal move.
    """
    board, *fields = _FIELDS.split(_COMMENT.sub("", text))
    position = Position.parse(board, game)
    legal, scores, own_score = position.legal_actions(), dict[int, int](), None
    for field in filter(None, map(str.strip, fields)):
        match = _SCORED.fullmatch(plain(field))
        if match is None:
            raise NotationError(f"expected a move and its score such as g8:+18, got {field[:SHOWN]!r}")
        word, score = None if match[1] is None else field[: match.end(1)], int(match[2])
        action = None if word is None else parse_action(position.game, word)
        if action not in (*legal, None) and match[1] != _NO_MOVE:
            raise NotationError(f"expected one of {', '.join(position.legal_moves()) or 'no move'}, got {word!r}")
        if abs(score) > position.game.squares:  # no score, but a mark of the writer
            continue
        if action in legal:
            scores[action] = score
        else:
            own_score = score
    return Problem(position, scores, own_score)


def is_scored(text: str) -> bool:
    """Return whether what follows a position is scores, not moves."""
    fields = [plain(field.strip()) for field in _FIELDS.split(_COMMENT.sub("", text)) if field.strip()]
    return bool(fields) and all(_SCORED.fullmatch(field) or ":" in field for field in fields)
