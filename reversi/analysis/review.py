"""The review of a game: what every move gave away, its mark, both sides' sums, and the move that decided the game.

A move is judged by discs: exactly where the solver reaches, else by the margins that a search expects, whose standard
error the model's card may say: a loss within it is no mistake.  A review always searches to the same depth, so that a
game has the same marks every time; what was searched deeper meanwhile, as for hints, does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # command lines read this module before they need any of these
    from reversi.analysis.analyzer import Analysis, Analyzer, Limit, MoveAnalysis
    from reversi.games.position import Position
    from reversi.games.rules import Game
    from reversi.model.margin_errors import MarginErrors

SIMULATIONS = 256
"""Simulations per position in the review of a game."""

TABLE_SIMULATIONS = 4096
"""The same with a network of patterns, where alpha-beta searches 16 positions for each, some 10 ms in all."""

SOLVED_NODES = 50_000_000
"""Positions that the solver may search for one position of a review, a second of one thread.  Not a time limit: a
review does not depend on the machine."""


@dataclass(frozen=True)
class Mark:
    """A class of mistakes; a mistake is one that loses at least so much."""

    sign: str
    """Follows the move, as in `c4??`."""
    discs: int
    """Least loss of the margin."""
    result: float | None = None
    """Least loss of a proven result, 0 to 2; in a game that does not count discs, also of an expected one, which counts
    as the nearest of none, a half and all of it."""
    result_words: str = ""

    def meaning(self, game: Game) -> str:
        """Return what the mark says of a move: `a win made a loss, or 12 discs`."""
        discs = [f"{self.discs} discs"] if game.counts_discs else []
        return ", or ".join([self.result_words] * (self.result is not None) + discs)


MARKS = (
    Mark("??", 12, 1.5, "win to loss"),
    Mark("?", 6, 0.5, "half of the result"),
    Mark("?!", 3),
)
"""The marks; a loss has the first one that it reaches."""


def marks_of(game: Game) -> tuple[Mark, ...]:
    """Return the marks that moves of a game can have: in tic-tac-toe there are no discs to lose."""
    return tuple(mark for mark in MARKS if mark.result is not None or game.counts_discs)


@dataclass(frozen=True)
class Loss:
    """What a move gave away."""

    discs: float | None
    """Of the margin; None where that is not known, as after results that are proven without it, and in a game that does
    not count discs."""
    result: float
    """Of the expected result, 0 to 2."""
    best: int | None
    """The action that keeps both; None if the move played does."""
    exact: bool = False
    """Whether the discs are those of perfect play."""
    proven: bool = False
    """Whether the result is."""
    error: float | None = None
    """Standard error of the discs; None where they are exact or it is not known."""

    @property
    def is_clear(self) -> bool:
        """Whether the discs, if they are known, are more than their error."""
        return self.discs is None or self.discs > (self.error or 0.0)

    @property
    def mark(self) -> Mark | None:
        """The mark of the loss, None for a small one."""
        return next((mark for mark in MARKS if self._reaches(mark)), None)

    def _reaches(self, mark: Mark) -> bool:
        if self.discs is not None and self.discs >= mark.discs and self.is_clear:
            return True
        counts = self.proven or self.discs is None
        return counts and mark.result is not None and self.result >= mark.result


@dataclass(frozen=True)
class ReviewedMove:
    """A move of a game and what is known of it."""

    position: Position
    """Before the move."""
    action: int
    analysis: Analysis | None
    """Of that position; None if it was not analysed."""
    loss: Loss | None
    """None where it is not known."""
    error: float | None = None
    """Standard error of the margin; None where that is exact or it is not known."""

    @property
    def margin(self) -> float | None:
        """The margin of the position's best move for the side to move; None if it is not known."""
        return None if self.analysis is None else self.analysis.judged_best.margin(self.position.game)

    def as_json(self, ply: int) -> dict[str, Any]:
        """Return the move, which is that ply of its game, from 1 on, for JSON."""
        from reversi.games.notation import action_name

        position, loss = self.position, self.loss
        best = None if self.analysis is None else self.analysis.judged_best
        margin = self.margin if position.game.counts_discs else None
        return {
            "ply": ply,
            "side": "black" if position.black_to_move else "white",
            "position": str(position),
            "move": action_name(position.game, self.action),
            "lost_discs": None if loss is None or loss.discs is None else round(loss.discs, 2),
            "lost_result": None if loss is None else round(loss.result, 4),
            "exact": loss is not None and loss.exact,
            "discs_error": self.error,
            "mark": None if loss is None or loss.mark is None else loss.mark.sign,
            "better": None if loss is None or loss.best is None else action_name(position.game, loss.best),
            "value": None if best is None or best.value is None else round(best.value, 4),
            "score": None if best is None else best.score,
            "discs": None if margin is None else round(margin, 2),
        }


@dataclass(frozen=True)
class Sums:
    """What a player gave away in a game."""

    moves: int
    """Passes included."""
    judged: int
    """Moves whose loss is known."""
    exact: int
    """Moves whose loss is known exactly, in discs."""
    discs: float | None
    """The sum of what is known; None of nothing."""
    marks: dict[str, int]
    """Moves that have a mark, by its sign."""

    def as_json(self) -> dict[str, Any]:
        """Return the sums for JSON."""
        return asdict(self) | {"discs": None if self.discs is None else round(self.discs, 2)}


@dataclass(frozen=True)
class Reviewer:
    """Analyses the positions of games to one depth."""

    analyzer: Analyzer
    limit: Limit
    errors: MarginErrors | None = None
    """How far the margins lie from the truth, None where that is not known."""

    def analyse(self, position: Position, stop: Callable[[], bool]) -> Analysis:
        """Return the analysis of an unfinished position; if `stop` turns true, it is not that of a review."""
        return self.analyzer.analyse(position, self.limit, stop)


def review(
    positions: Sequence[Position],
    actions: Sequence[int],
    analyses: Mapping[int, Analysis],
    errors: MarginErrors | None = None,
) -> list[ReviewedMove]:
    """Return every move of a game.

    positions  from the start to the last, one more than `actions`
    analyses   by ply; those of finished positions and others may be missing
    errors     of the margins of the analyses
    """
    moves = []
    for ply, (position, action) in enumerate(zip(positions[:-1], actions, strict=True)):
        before, after = analyses.get(ply), analyses.get(ply + 1)
        error, loss = error_of(position, before, errors), loss_of(position, action, before, after)
        if loss is not None and loss.discs:
            loss = replace(loss, error=error)
        moves.append(ReviewedMove(position, action, before, loss, error))
    return moves


def error_of(position: Position, analysis: Analysis | None, errors: MarginErrors | None) -> float | None:
    """Return the standard error of the margin of a position, None where that is exact or nothing is known of it."""
    if errors is None or analysis is None or analysis.judged_best.certain:
        return None
    return errors.at(position.empties)


def loss_of(position: Position, action: int, before: Analysis | None, after: Analysis | None) -> Loss | None:
    """Return what a move gave away, None where that is not known, without the error of its discs.

    before, after  the analyses of the position and of the one that the move leads to, if there are any; where the first
                   says what every move is worth, as alpha-beta does, the second is not needed
    """
    if before is None:
        return None
    best = before.judged_best
    played = next((move for move in before.moves if move.action == action), None)
    if played is not None and best.score is not None and played.score is not None:
        lost = best.score - played.score
        result = _sign(best.score) - _sign(played.score)
        return Loss(lost, result, best.action if lost > 0 else None, exact=True, proven=True)
    could, got = _value(best), None if played is None else _value(played)
    if played is not None and could is not None and got is not None and best.certain and played.certain:
        return Loss(None, could - got, best.action if could > got else None, proven=True)
    if best.action == action:
        if could is None or (before.moves[0].discs is None and _value_of(position.play(action), after) is None):
            return None
        return Loss(_counted(position.game, 0.0), 0.0, None)  # what comes after corrects the estimate
    if played is not None and best.discs is not None and played.discs is not None and could is not None:
        discs = best.discs - played.discs
        return Loss(discs, max(0.0, could - (got or 0.0)), best.action if discs > 0 else None)
    return _estimated(position, position.play(action), best, after)


def _estimated(position: Position, next_: Position, best: MoveAnalysis, after: Analysis | None) -> Loss | None:
    """Return what a move gave away by the values of a position and of the one after it."""
    could, theirs = _value(best), _value_of(next_, after)
    if could is None or theirs is None:
        return None
    discs = None
    if position.game.counts_discs and not best.certain:
        ours, left = best.margin(position.game), _margin_of(next_, after)
        discs = None if ours is None or left is None else max(0.0, ours + left)
    return Loss(discs, max(0.0, could + theirs), best.action)


def sums_of(moves: Sequence[ReviewedMove], *, black: bool) -> Sums:
    """Return what one side gave away."""
    mine = [move.loss for move in moves if move.position.black_to_move == black]
    losses = [loss for loss in mine if loss is not None]
    discs = [loss.discs for loss in losses if loss.discs is not None]
    signs = [loss.mark.sign for loss in losses if loss.mark is not None]
    exact = sum(loss.exact for loss in losses)
    marks = {mark.sign: signs.count(mark.sign) for mark in MARKS}
    return Sums(len(mine), len(losses), exact, sum(discs) if discs else None, marks)


def deciding_move(moves: Sequence[ReviewedMove], last: Position) -> int | None:
    """Return the index of the move that decided a finished game: the loser's last one after which the game, which could
    still be held before, was lost, or, of one that was lost from the start, the costliest that has a mark.

    None if nobody lost or no such move is known.
    """
    if not last.is_over or last.margin == 0:
        return None
    black_lost = last.black_margin < 0
    losses = {at: move.loss for at, move in enumerate(moves) if move.position.black_to_move == black_lost and move.loss}
    turned = [at for at, loss in losses.items() if _was_turned(moves[at], loss)]
    if turned:
        return turned[-1]
    marked = [at for at, loss in losses.items() if loss.mark]
    return max(marked, key=lambda at: losses[at].discs or losses[at].result, default=None)


def _was_turned(move: ReviewedMove, loss: Loss) -> bool:
    """Return whether a move made a loss of what was none."""
    held = move.margin
    if not loss.is_clear:
        return False
    if loss.discs is None or held is None:
        assert move.analysis is not None
        value = _value(move.analysis.judged_best)
        return value is not None and value >= 0 > value - loss.result
    return held >= 0 > held - loss.discs


def _counted(game: Game, discs: float) -> float | None:
    return discs if game.counts_discs else None


def _margin_of(position: Position, analysis: Analysis | None) -> float | None:
    """Return the margin for the side to move, None if it is not known or follows from a proven result alone."""
    if position.is_over:
        return float(position.margin)
    if analysis is None or (analysis.judged_best.certain and analysis.judged_best.score is None):
        return None
    return analysis.judged_best.margin(position.game)


def _value_of(position: Position, analysis: Analysis | None) -> float | None:
    """Return the expected result for the side to move, None if it is not known."""
    if position.is_over:
        return _sign(position.margin)
    return None if analysis is None else _value(analysis.judged_best)


def _value(move: MoveAnalysis) -> float | None:
    return move.value if move.score is None else _sign(move.score)


def _sign(margin: float) -> float:
    return float((margin > 0) - (margin < 0))
