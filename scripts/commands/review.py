"""Review games: what every move lost, the best move in its place, what both players gave away, and the result.

FILE is a file of games, which may be compressed and whose content tells its format: WTHOR, GGF, SGF, PGN, CSV with a
column of transcripts, lines of transcripts or this program's records; a game written out, as f5d6c3, GGF or SGF; or -
for any of these from standard input.  Of a file with games of several boards those of the model's are
reviewed, or without --model and --size those of the first game's.

A move is judged by the discs that it lost: exactly where at most --solve squares are empty and the solver finishes,
before by the margins that a search expects, which are shown with a decimal and the standard error that the model's
card says (+-).  Marked are ??, 12 discs or more, or a proven win made a loss, ?, 6 discs or more, or half of a proven
result, and ?!, 3 discs or more; a loss within its error has no mark.  The same game gets the same marks every time, and
those of `reversi serve`, unless --seconds limits the search.

Every game is printed as soon as it is reviewed.  Ctrl-C ends the review with what is known of the game that it is at.
A game with an illegal move is reviewed up to that move, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from reversi import json
from reversi.analysis.of_model import search_analyzer
from reversi.analysis.review import SIMULATIONS, deciding_move, marks_of, review, sums_of
from scripts.arguments.analysis import add_analysis, analyse_with, model_to_analyse
from scripts.arguments.common import add_json, game_of_size, positive
from scripts.arguments.engine import reviewer, solve_of
from scripts.arguments.game_files import FiledGame, numbered, read_filed_games

if TYPE_CHECKING:
    from reversi.analysis.analyzer import Analysis
    from reversi.analysis.review import ReviewedMove, Sums
    from reversi.games.position import Position
    from reversi.games.rules import Game
    from reversi.model.margin_errors import MarginErrors
    from reversi.model.weights import Weights

EXAMPLES = """
reversi review c2b2b3b4
reversi review games.ggf --seconds 1
reversi review WTH_1999.wtb --game 12 --model shipped
reversi review games.txt --json
"""

SIDES = ("black", "white")


@dataclass(frozen=True)
class GameReview:
    """The review of one game."""

    number: int
    """In its file, from 1."""
    of: int
    """The number of the last game in the file."""
    title: str
    positions: Sequence[Position]
    """From the start to the last."""
    moves: Sequence[ReviewedMove]
    fault: str | None
    """Why the game cannot be read further; None if it can be read to its end."""

    @property
    def sums(self) -> dict[str, Sums]:
        """What each side gave away."""
        return {side: sums_of(self.moves, black=side == "black") for side in SIDES}

    @property
    def decided(self) -> int | None:
        """The index of the move that decided the game."""
        return deciding_move(self.moves, self.positions[-1]) if self.fault is None else None

    def to_json(self) -> str:
        """Return the review as a line of JSON."""
        last = self.positions[-1]
        values = {"game": self.number, "title": self.title, "board": last.game.name}
        values |= {"moves": [move.as_json(ply) for ply, move in enumerate(self.moves, start=1)]}
        values |= {side: sums.as_json() for side, sums in self.sums.items()}
        values |= {"decided": None if self.decided is None else self.decided + 1}
        values |= {"black_discs": last.black.bit_count(), "white_discs": last.white.bit_count()}
        values |= {"margin": last.black_margin, "over": last.is_over, "error": self.fault}
        return json.dumps(values)

    def __str__(self) -> str:
        head = f"Game {self.number} of {self.of}: {self.title}".rstrip(": ")
        rows: list[tuple[str, ...]] = [("ply", "side", "move", "lost", "", "better", "with best play")]
        rows += [_row(ply, move) for ply, move in enumerate(self.moves, start=1)]
        return "\n".join([head, *_aligned(rows, "><<><<<"), "", *self._given_away(), *self._decided(), self._result()])

    def _given_away(self) -> Iterator[str]:
        """Yield the table of both sides' marks and discs, and what the marks mean."""
        game = self.positions[0].game
        marks, discs = marks_of(game), game.counts_discs
        rows: list[tuple[str, ...]] = [("", *(mark.sign for mark in marks), *(["discs"] if discs else []), "")]
        for side, sums in self.sums.items():
            counts = [str(sums.marks[mark.sign]) for mark in marks]
            if discs:
                counts.append("-" if sums.discs is None else _discs(sums.discs, exact=sums.exact == sums.judged))
            rows.append((side.capitalize(), *counts, _known(sums)))
        yield from _aligned(rows, "<" + ">" * (len(marks) + discs) + "<")
        yield "; ".join(f"{mark.sign} {mark.meaning(game)}" for mark in marks)

    def _decided(self) -> Iterator[str]:
        """Yield the move that decided the game, if one did."""
        from reversi.games.notation import action_name

        if (at := self.decided) is not None:
            move = self.moves[at]
            assert move.loss is not None
            better = "" if move.loss.best is None else f", better {action_name(move.position.game, move.loss.best)}"
            side = "Black" if move.position.black_to_move else "White"
            yield f"Decided by ply {at + 1}, {side} {action_name(move.position.game, move.action)}{better}"

    def _result(self) -> str:
        last = self.positions[-1]
        black, white = last.black.bit_count(), last.white.bit_count()
        discs = f"Black {black}, White {white}, " if last.game.counts_discs else ""
        if not last.is_over:
            return f"Not over: {discs}{'Black' if last.black_to_move else 'White'} to move"
        margin, empty = last.black_margin, last.empties
        winner = "a draw" if margin == 0 else "Black wins" if margin > 0 else "White wins"
        if not last.game.counts_discs:
            return f"Result: {winner}"
        if empty and margin:  # WTHOR and FFO count the empty squares for the winner
            black, white = black + empty * (margin > 0), white + empty * (margin < 0)
            winner += f" ({black} - {white} with the {empty} empty squares)"
        return f"Final score: {discs}{winner}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the games, the model, the search and the output format."""
    parser.add_argument("file", metavar="FILE", help="a file of games, a game written out, or - for standard input")
    parser.add_argument("--game", type=positive, metavar="N", help="review only game N of the file")
    parser.add_argument("--column", metavar="NAME", help="header of the column of transcripts in a CSV file")
    add_analysis(parser, SIMULATIONS)
    add_json(parser, "one JSON object per game")


def run(args: argparse.Namespace) -> int:
    """Review the games one after the other; the exit code is 1 if one of them has an illegal move."""
    game, games = game_of_size(args), None
    if game is None and args.model is None:
        games = read_filed_games(args.file, None, args.column)
        game = games[0].games.game
    game, choice = model_to_analyse(args, game)
    if games is None:
        games = read_filed_games(args.file, game, args.column)
    games = [filed for filed in games if filed.games.game == game]
    chosen = games if args.game is None else [numbered(games, args.game)]
    analyse = _analyse_with(args, game, choice.weights)
    broken = 0
    for filed in chosen:
        positions = filed.games.positions(filed.index)
        reviewed = partial(_reviewed, filed, games[-1].number, positions, choice.margin_errors)
        analyses: dict[int, Analysis] = {}
        try:
            for ply, analysis in _analyses(positions, analyse):
                analyses[ply] = analysis
        except KeyboardInterrupt:
            if analyses:
                _print(reviewed(analyses), as_json=args.json)
            raise
        game_review = reviewed(analyses)
        _print(game_review, as_json=args.json)
        broken += game_review.fault is not None
    return 1 if broken else 0


def _analyse_with(args: argparse.Namespace, game: Game, weights: Weights) -> Callable[[Position], Analysis]:
    """Return what analyzes a position: without --seconds just what does so for the page, so that marks are the same."""
    if args.seconds is not None:
        by_time, _ = analyse_with(args, game, weights, SIMULATIONS)
        return lambda position: by_time([position])[0]
    judge = reviewer(search_analyzer(weights, game, threads=args.threads), solve_of(args), None, args.simulations)
    return lambda position: judge.analyse(position, lambda: False)


def _analyses(positions: Sequence[Position], analyse: Callable[[Position], Analysis]) -> Iterator[tuple[int, Analysis]]:
    """Yield the ply and the analysis of every unfinished position, from the last one back."""
    for ply in reversed(range(len(positions))):
        if not positions[ply].is_over:
            yield ply, analyse(positions[ply])


def _reviewed(
    filed: FiledGame,
    last: int,
    positions: Sequence[Position],
    errors: MarginErrors | None,
    analyses: Mapping[int, Analysis],
) -> GameReview:
    games, index = filed.games, filed.index
    actions = games.actions[index, : games.plies[index]].tolist()
    fault = games.problem(index) if games.is_broken(index) else None
    moves = review(positions, actions, analyses, errors)
    return GameReview(filed.number, last, games.title(index), positions, moves, fault)


def _print(game_review: GameReview, *, as_json: bool) -> None:
    """Print a review; a fault of the game is a line on standard error too."""
    if as_json:
        print(game_review.to_json(), flush=True)
    elif game_review.moves or game_review.fault is None:
        print(game_review, end="\n\n" if game_review.number < game_review.of else "\n", flush=True)
    if game_review.fault is not None:
        print(f"error: {game_review.fault}", file=sys.stderr, flush=True)


def _row(ply: int, move: ReviewedMove) -> tuple[str, ...]:
    from reversi.games.notation import action_name

    position, loss = move.position, move.loss
    side, name = "Black" if position.black_to_move else "White", action_name(position.game, move.action)
    best = "" if move.analysis is None else move.analysis.judged_best.judgement(position.game)
    if loss is None:
        return str(ply), side, name, "-", "", "", best
    lost = f"{50 * loss.result:.0f} %" if loss.discs is None else _discs(loss.discs, exact=loss.exact)
    lost += "" if loss.error is None else f" \N{PLUS-MINUS SIGN}{loss.error:.1f}"
    better = "" if loss.best is None else action_name(position.game, loss.best)
    return str(ply), side, name, lost, loss.mark.sign if loss.mark else "", better, best


def _discs(discs: float, *, exact: bool) -> str:
    """Return discs as a whole number if they are exact, else with a decimal."""
    return f"{discs:.0f}" if exact else f"{discs:.1f}"


def _known(sums: Sums) -> str:
    """Return of how many moves the discs and the marks are known, unless of all."""
    parts = []
    if sums.exact not in (0, sums.moves):
        parts.append(f"exact of {sums.exact} of {sums.moves} moves")
    if sums.judged < sums.moves:
        parts.append(f"{sums.judged} of {sums.moves} moves judged")
    return f"({'; '.join(parts)})" if parts else ""


def _aligned(rows: Sequence[tuple[str, ...]], alignment: str) -> Iterator[str]:
    """Yield the rows with their columns aligned, `<` or `>` each."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{side}{width}}" for cell, side, width in zip(row, alignment, widths, strict=True))
        yield "  ".join(cells).rstrip()
