"""The review of a game: what every move gave away, as far as the analyses of its positions say, and its mark.

The page (`web/static/review.js`) compares analyses as `loss_of` does, since it keeps the best one of each position; the
marks, their words and bounds are those of `MARKS` there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # command lines read this module before they need any of these
    from reversi.analysis.analyzer import Analysis, MoveAnalysis
    from reversi.games.position import Position
    from reversi.games.rules import Game

SIMULATIONS = 256
"""Simulations per position in the review of a game."""

MANY_DISCS = 10
"""Discs lost that get a mark, whatever the result."""


@dataclass(frozen=True)
class Mark:
    """A class of mistakes; a mistake is one that loses at least so much."""

    sign: str
    """Follows the move, as in `c4??`."""
    meaning: str
    result: float | None = None
    """Least loss of the expected result, 0 to 2; an estimate counts as the nearest of none, a half and all of it."""
    discs: int | None = None
    """Least loss of the exact margin."""


MARKS = (
    Mark("??", "win to loss", result=1.5),
    Mark("?", "half of the result", result=0.5),
    Mark("?!", f"{MANY_DISCS} discs or more", discs=MANY_DISCS),
)
"""The marks; a loss has the first one that it reaches."""


def marks_of(game: Game) -> tuple[Mark, ...]:
    """Return the marks that moves of a game can have: in tic-tac-toe there are no discs to lose."""
    return tuple(mark for mark in MARKS if mark.result is not None or game.counts_discs)


@dataclass(frozen=True)
class Loss:
    """What a move gave away."""

    result: float
    """Of the expected result, 0 to 2."""
    discs: int | None
    """Of the exact margin; None where that is not known."""
    best: int | None
    """The action that keeps both; None if the move played does."""

    @property
    def mark(self) -> Mark | None:
        """The mark of the loss, None for a small one."""
        return next((mark for mark in MARKS if self._reaches(mark)), None)

    def _reaches(self, mark: Mark) -> bool:
        if mark.result is not None:
            return self.result >= mark.result
        return mark.discs is not None and self.discs is not None and self.discs >= mark.discs


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


@dataclass(frozen=True)
class Sums:
    """What a player gave away in a game."""

    moves: int
    """Passes included."""
    judged: int
    """Moves whose loss is known."""
    exact: int
    """Moves whose loss is known in discs."""
    discs: int
    """The sum of those."""
    marks: dict[str, int]
    """Moves that have a mark, by its sign."""


def review(
    positions: Sequence[Position], actions: Sequence[int], analyses: Mapping[int, Analysis]
) -> list[ReviewedMove]:
    """Return every move of a game.

    positions  from the start to the last, one more than `actions`
    analyses   by ply; those of finished positions and others may be missing
    """
    return [
        ReviewedMove(position, action, analyses.get(ply), loss_of(position, action, *map(analyses.get, (ply, ply + 1))))
        for ply, (position, action) in enumerate(zip(positions[:-1], actions, strict=True))
    ]


def loss_of(position: Position, action: int, before: Analysis | None, after: Analysis | None) -> Loss | None:
    """Return what a move gave away, None where that is not known.

    before, after  the analyses of the position and of the one that the move leads to, if there are any
    """
    if before is None:
        return None
    best = before.judged_best
    played = next((move for move in before.moves if move.action == action), None)
    if best.score is not None and played is not None and played.score is not None:
        discs = best.score - played.score
        return Loss(_sign(best.score) - _sign(played.score), discs, best.action if discs > 0 else None)
    could = _value(best)
    if best.certain and played is not None and played.certain and could is not None and played.value is not None:
        return Loss(could - played.value, None, best.action if could > played.value else None)
    got = _value_of(position.play(action), after)
    if could is None or got is None:
        return None
    if best.action == action:
        return Loss(0.0, None, None)  # what comes after corrects the estimate
    return Loss(max(0.0, could + got), None, best.action)  # `got` is the opponent's


def sums_of(moves: Sequence[ReviewedMove], *, black: bool) -> Sums:
    """Return what one side gave away."""
    mine = [move.loss for move in moves if move.position.black_to_move == black]
    losses = [loss for loss in mine if loss is not None]
    discs = [loss.discs for loss in losses if loss.discs is not None]
    signs = [loss.mark.sign for loss in losses if loss.mark is not None]
    return Sums(len(mine), len(losses), len(discs), sum(discs), {mark.sign: signs.count(mark.sign) for mark in MARKS})


def _value_of(position: Position, analysis: Analysis | None) -> float | None:
    """Return the expected result for the side to move, None if it is not known."""
    if position.is_over:
        return _sign(position.margin)
    return None if analysis is None else _value(analysis.judged_best)


def _value(move: MoveAnalysis) -> float | None:
    return move.value if move.score is None else _sign(move.score)


def _sign(margin: int) -> float:
    return float((margin > 0) - (margin < 0))
