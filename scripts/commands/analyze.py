"""Analyze positions from a file or standard input, one per line: every move, best first, with its value for the side to
move, the simulations that tried it, and the moves expected after it.

A position is N*N characters of X (black), O (white) and - (empty), row 1 first, then a space and the side to move, or
the moves that lead to it, as c2d2, GGF or SGF.  Blank lines and text after a # or % are ignored.  With --json every
other line is answered by one line, in order; one that cannot be parsed is answered by `{"error": ...}`, and the exit
code is then 1.

Every move has its exact score where at most --solve squares are empty and the solver finishes.  Elsewhere a search
values the moves: it ends at --simulations, or when the result of every move is proven.  With 0 simulations the network
answers without search, and without solver unless --solve is given.

Positions that are there at the same time are searched in parallel, and share a limit on the positions that the solver
searches, some 2 s of one thread for every 256: a thousand take seconds.  Those of a pipe are answered as they arrive,
with values that depend on their company in the third digit.  With --seconds each is analyzed on its own.
"""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reversi import json
from reversi.errors import NotationError
from scripts.arguments.analysis import add_analysis, analyse_with, model_to_analyse
from scripts.arguments.common import add_json
from scripts.arguments.positions import Line, add_file, print_answers, read_problems

if TYPE_CHECKING:
    from reversi.analysis.analyzer import Analysis, MoveAnalysis
    from reversi.games.position import Position

EXAMPLES = """
reversi analyze --registry runs/long/registry positions.txt
echo f5d6c3 | reversi analyze --size 8 --json
echo c2d2 | reversi analyze --size 6 --simulations 800
echo "X--O--XXOO--XXXO--OOXO--OO-OX-O--O-- X" | reversi analyze --size 6
"""

SIMULATIONS = 64
"""Simulations per position if neither --simulations nor --seconds is given."""

RESULTS = {1.0: "won", 0.0: "drawn", -1.0: "lost"}
"""A result in words."""


@dataclass(frozen=True)
class PositionAnalysis:
    """The answer for one position."""

    position: Position
    analysis: Analysis | None
    """None if the game is over."""

    def to_json(self) -> str:
        """Return the answer as a line of JSON."""
        game, margin = self.position.game, self.position.margin
        values: dict[str, Any] = {"position": str(self.position), "game": game.name}
        if self.analysis is None:
            values |= {"move": None, "value": _sign(margin), "policy": {}, "visits": {}}
            values |= {"score": margin, "certain": True, "line": [], "moves": []}
            return json.dumps(values)
        moves = [move.as_json(game) for move in self.analysis.moves]
        policy = {each["move"]: round(share, 6) for each, share in zip(moves, self._policy(), strict=True)}
        legal, best = self.position.legal_moves(), moves[0]
        visits = {each["move"]: each["visits"] for each in moves}
        values |= {"move": best["move"], "value": round(self._value, 6)}
        values |= {"policy": {move: policy[move] for move in legal}, "visits": {move: visits[move] for move in legal}}
        values |= {"score": best["score"], "certain": self.analysis.proven, "line": best["line"]}
        return json.dumps(values | {"moves": moves})

    def __str__(self) -> str:
        game, margin = self.position.game, self.position.margin
        if self.analysis is None:
            result = f"{margin:+d} discs" if game.counts_discs else RESULTS[_sign(margin)]
            return f"{self.position}\ngame over, {result}\n"
        return "\n".join([str(self.position), *(move.summary(game) for move in self.analysis.moves), ""])

    @property
    def _value(self) -> float:
        assert self.analysis is not None
        assert self.analysis.value is not None, "a search or a solver knows a value"
        return self.analysis.value

    def _policy(self) -> list[float]:
        """Return each move's share: equal ones for the best moves if the result is proven, else of the visits of those
        that are not proven lost, or of their priors without a visit."""
        assert self.analysis is not None
        moves, best = self.analysis.moves, self.analysis.best
        if self.analysis.proven:
            weights = [float(move.certain and (move.score, move.value) == (best.score, best.value)) for move in moves]
        else:
            open_ = [not (move.certain and move.value == -1) for move in moves]
            weights = [visits * counts for visits, counts in zip(_visits(moves), open_, strict=True)]
            if not any(weights):
                weights = [(move.prior or 0.0) * counts for move, counts in zip(moves, open_, strict=True)]
        return [weight / sum(weights) for weight in weights]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the positions, the model, the search and the output format."""
    add_file(parser)
    add_analysis(parser, SIMULATIONS)
    add_json(parser, "one JSON object per position")


def run(args: argparse.Namespace) -> int:
    """Read a batch of positions, analyze them together, print the answers; and so on."""
    game, choice = model_to_analyse(args)
    analyse, most = analyse_with(args, game, choice.weights, SIMULATIONS)
    answers: deque[PositionAnalysis] = deque()

    def lines() -> Iterator[Line]:
        for batch in read_problems(game, args.file, most):
            problems = [line.problem for line in batch]
            positions = [each.position for each in problems if not isinstance(each, NotationError)]
            analyses = iter(analyse([position for position in positions if not position.is_over]))
            answers.extend(PositionAnalysis(each, None if each.is_over else next(analyses)) for each in positions)
            yield from batch

    analyses = iter(answers.popleft, None)
    return 0 if print_answers(lines(), analyses, as_json=args.json, expected=f"positions of {game.name}") else 1


def _visits(moves: Sequence[MoveAnalysis]) -> list[float]:
    """Return the visits of each move; of those that a symmetry exchanges, their mean."""
    alike = [move.action if move.same_as is None else move.same_as for move in moves]
    visits = Counter[int]()
    for action, move in zip(alike, moves, strict=True):
        visits[action] += move.visits
    return [visits[action] / alike.count(action) for action in alike]


def _sign(margin: int) -> float:
    return float((margin > 0) - (margin < 0))
