"""Games as the page sends and receives them: JSON objects, checked by the rules."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reversi import json
from reversi.analysis.analyzer import Analysis
from reversi.analysis.review import deciding_move, error_of, review, sums_of
from reversi.errors import IllegalMoveError, NotationError, UsageError
from reversi.formats.ggf import GgfGame, GgfMove
from reversi.formats.text import REVERSI, GameText, parse_game
from reversi.games.notation import PASS, action_name, parse_action
from reversi.games.position import Position
from reversi.games.rules import TICTACTOE, Game

if TYPE_CHECKING:  # knows nothing of models
    from reversi.model.margin_errors import MarginErrors

MOST_TEXT = 1 << 14
"""Longest text of a game that is read, in characters."""


class OtherBoardError(UsageError):
    """A game that is for another board than the page's."""

    def __init__(self, game: Game, expected: Game) -> None:
        names = [f"{each.size}x{each.size}" for each in (game, expected)]
        super().__init__(f"this is a game of {names[0]}; this page plays {names[1]}")
        self.game = game


@dataclass(frozen=True)
class WebGame:
    """A game: its start and every ply, passes included."""

    positions: tuple[Position, ...]
    """From the start to the current one."""
    moves: tuple[str, ...]
    """The names of the plies between them."""

    @classmethod
    def of(cls, start: Position, moves: list[str] | tuple[str, ...]) -> WebGame:
        """Play `moves` from `start`; raises NotationError and IllegalMoveError as `Position.play` does."""
        positions = [start]
        for move in moves:
            positions.append(positions[-1].play(move))
        return cls(tuple(positions), tuple(action_name(start.game, parse_action(start.game, move)) for move in moves))

    @classmethod
    def from_json(cls, request: Mapping[str, Any], game: Game) -> WebGame:
        """Read `{"start": POSITION or null, "moves": [MOVE, ...]}` or `{"text": ...}`, whose text `from_text` reads.

        Raises NotationError and IllegalMoveError; OtherBoardError for a game that another board fits.
        """
        try:
            return cls._from_json(request, game)
        except (NotationError, IllegalMoveError):
            for other in (each for each in REVERSI if each is not game):
                with suppress(NotationError, IllegalMoveError):
                    cls._from_json(request, other)
                    raise OtherBoardError(other, game) from None
            raise

    @classmethod
    def _from_json(cls, request: Mapping[str, Any], game: Game) -> WebGame:
        if (text := request.get("text")) is not None:
            if not isinstance(text, str):
                raise NotationError(f"expected the text of a game, got {type(text).__name__}")
            return cls.from_text(text, game)
        start, moves = request.get("start"), request.get("moves", [])
        if not (start is None or isinstance(start, str)):
            raise NotationError(f"expected a position or null as the start, got {type(start).__name__}")
        if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
            raise NotationError("expected a list of moves like d3")
        if len(moves) > game.max_plies:
            raise NotationError(f"expected at most {game.max_plies} moves, got {len(moves)}")
        return cls.of(Position.start(game) if start is None else Position.parse(start, game), moves)

    @classmethod
    def from_text(cls, text: str, game: Game) -> WebGame:
        """Read text as `parse_game` does; none at all is a game that has just begun.

        Raises NotationError, also for a game on another board, and IllegalMoveError.
        """
        text = text.strip()
        if len(text) > MOST_TEXT:
            raise NotationError(f"expected at most {MOST_TEXT} characters, got {len(text)}")
        parsed = parse_game(text, [game]) if text else GameText(Position.start(game))
        return cls.of(parsed.start, parsed.moves)

    @property
    def actions(self) -> list[int]:
        """The plies as actions."""
        return [parse_action(self.position.game, move) for move in self.moves]

    @property
    def position(self) -> Position:
        """The current position."""
        return self.positions[-1]

    def as_json(self) -> dict[str, Any]:
        """Return the game with every position, for the page."""
        return {
            "start": None if self.positions[0] == Position.start(self.position.game) else str(self.positions[0]),
            "moves": list(self.moves),
            "positions": [_position_json(position) for position in self.positions],
            "transcript": "".join(move for move in self.moves if move != PASS),
            "ggf": self._ggf(),
        }

    def _ggf(self) -> str | None:
        """Return the game in GGF, which also holds its start; None for a game that is not Reversi."""
        game = self.position.game
        if game.id == TICTACTOE:
            return None
        return str(GgfGame(self.positions[0], tuple(GgfMove(action) for action in self.actions)))


def _position_json(position: Position) -> dict[str, Any]:
    board, side = str(position).split(" ")
    return {
        "board": board,
        "side": side,
        "legal": position.legal_moves(),
        "black": position.black.bit_count(),
        "white": position.white.bit_count(),
        "margin": position.black_margin,
        "over": position.is_over,
    }


def analysis_json(game: Game, analysis: Analysis) -> dict[str, Any]:
    """Return an analysis for the page: its moves, best first, with values for the side to move."""
    margins = [move.margin(game) if game.counts_discs else None for move in analysis.moves]
    return {
        "moves": [
            move.as_json(game) | {"margin": None if margin is None else round(margin, 2)}
            for move, margin in zip(analysis.moves, margins, strict=True)
        ],
        "nodes": analysis.nodes,
        "seconds": round(analysis.seconds, 3),
        "proven": analysis.proven,
    }


def reviewed_json(
    game: WebGame, analyses: Mapping[int, Analysis], ply: int, errors: MarginErrors | None
) -> dict[str, Any]:
    """Return what a review has found of a position, with the standard error of its margin, and of the move played
    there, None after the last one."""
    analysis, error = analyses[ply], error_of(game.positions[ply], analyses[ply], errors)
    found = {"analysis": analysis_json(game.position.game, analysis), "discs_error": error, "move": None}
    if ply < len(game.moves):
        (move,) = review(game.positions[ply : ply + 2], game.actions[ply : ply + 1], _from(analyses, ply), errors)
        found["move"] = move.as_json(ply + 1)
    return found


def review_json(game: WebGame, analyses: Mapping[int, Analysis], errors: MarginErrors | None) -> dict[str, Any]:
    """Return what a review says of the whole game: both sides' sums, and the ply of the move that decided it."""
    moves = review(game.positions, game.actions, analyses, errors)
    decided = deciding_move(moves, game.position)
    sums = {side: sums_of(moves, black=side == "X").as_json() for side in "XO"}
    return {"sums": sums, "decided": None if decided is None else decided + 1}


def _from(analyses: Mapping[int, Analysis], ply: int) -> dict[int, Analysis]:
    """Return the analyses of a ply and of the next as those of plies 0 and 1."""
    return {each: analyses[ply + each] for each in (0, 1) if ply + each in analyses}


def parse_object(text: str) -> dict[str, Any]:
    """Parse a JSON object, or raise NotationError."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotationError(f"expected a JSON object: {error}") from None
    if not isinstance(read, dict):
        raise NotationError(f"expected a JSON object, got {type(read).__name__}")
    return read
