"""Names of actions (`d3`, `pass`) and transcripts of games (`f5d6c3`)."""

from __future__ import annotations

import re

import numpy as np

from reversi.errors import IllegalMoveError, NotationError
from reversi.games.bitboard import ONE, ZERO
from reversi.games.rules import UNFINISHED, Game, legal_moves, outcome, play, square_of_action
from reversi.kernels.kernel import kernel

PASS = "pass"

_COLUMNS = "abcdefgh"
_MOVE = re.compile(r"pass|[a-h][1-8]", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:[\s,-]|[0-9]+\.+)*")
"""What may be between moves: blanks, commas, hyphens, and numbers of moves with their points."""


def action_name(game: Game, action: int) -> str:
    """Return `d3` (column letter, row number from the top) or `pass`."""
    assert 0 <= action <= game.pass_action, f"action {action} of {game.name}"
    if action == game.pass_action:
        return PASS
    row, col = divmod(action, game.size)
    return f"{_COLUMNS[col]}{row + 1}"


def parse_action(game: Game, text: str) -> int:
    """Return the action named `text`, in upper or lower case; NotationError if the board has no such square."""
    name = text.strip().lower()
    if name == PASS:
        return game.pass_action
    if len(name) == 2 and name[0] in _COLUMNS[: game.size] and name[1] in "12345678"[: game.size]:
        return (ord(name[1]) - ord("1")) * game.size + _COLUMNS.index(name[0])
    corner = action_name(game, game.squares - 1)
    raise NotationError(f"expected a square from a1 to {corner} or {PASS}, got {text!r}")


def parse_transcript(game: Game, text: str) -> list[int]:
    """Return the actions of a transcript from the game's start, with omitted passes filled in.

    Moves may be in upper or lower case, separated by blanks, commas or hyphens, and numbered, as in `1. f5 d6 2. c3`;
    passes may be written.  A pass is filled in only before a move, so a transcript that stops before a forced pass ends
    there.  Raises NotationError for text that is not a move, IllegalMoveError for an illegal move; both name the ply.
    """
    actions, fault = read_transcript(game, text)
    if fault is not None:
        raise fault
    return actions


def read_transcript(game: Game, text: str) -> tuple[list[int], NotationError | IllegalMoveError | None]:
    """Return the actions of a transcript up to its first fault, and the fault, which `parse_transcript` raises."""
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    actions: list[int] = []
    text = text.strip()
    at = _after_separators(text, 0)
    while at < len(text) or (text and not actions):
        match = _MOVE.match(text, at)
        if match is None:
            offending = text[at : at + 8] or text[:8]
            return actions, NotationError(f"expected a move like d3 at ply {len(actions) + 1}, got {offending!r}")
        try:
            action = parse_action(game, match[0])
        except NotationError as error:
            return actions, error
        if action != game.pass_action and _must_pass(game.id, own, opp):
            own, opp = opp, own
            actions.append(game.pass_action)
        if not _is_legal(game.id, own, opp, action):
            return actions, IllegalMoveError(f"expected a legal move at ply {len(actions) + 1}, got {match[0]!r}")
        own, opp = map(np.uint64, play(game.id, own, opp, action))
        actions.append(action)
        at = _after_separators(text, match.end())
    return actions, None


def _after_separators(text: str, at: int) -> int:
    """Return the index of the first character from `at` on that does not only separate moves."""
    match = _BETWEEN.match(text, at)
    assert match is not None
    return match.end()


@kernel
def _is_legal(game_id: int, own: np.uint64, opp: np.uint64, action: int) -> bool:
    """Return whether `action` (0 to N*N) is legal; none is once the game is over."""
    square = square_of_action(game_id, action)
    if square == 64:
        return _must_pass(game_id, own, opp)
    return bool((legal_moves(game_id, own, opp) >> np.uint64(square)) & ONE)


@kernel
def _must_pass(game_id: int, own: np.uint64, opp: np.uint64) -> bool:
    return bool(legal_moves(game_id, own, opp) == ZERO and outcome(game_id, own, opp) == UNFINISHED)
