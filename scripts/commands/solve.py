"""Solve positions from a file or standard input, one per line, exactly: the score when both sides play perfectly.

A position is N*N characters of X (black), O (white) and - (empty), row 1 first, then a space and the side to move, or
the moves that lead to it: GGF, SGF, or a transcript such as c2d2, on the largest board on which it is legal.  The score
is own minus opponent's discs at the end, for the side to move; squares that stay empty count for nobody, or for the
winner as in WTHOR files and the FFO positions.  Blank lines and text after a # or % are ignored.  Every other line is
answered by one line, in order and as it arrives, with perfect play of both sides to the end; one that cannot be parsed
is answered by `{"error": ...}`, and the exit code is then 1.  A position that hits a limit is not solved and has no
score.

A line in OBF (a position, then `; g8:+18; h1:+12; ...` or only `; +18;`) is checked: the answer has the expected score
and whether score and best move agree; the exit code is 1 if any of them does not.

Up to 20 empty squares take about a second on 8x8, every two more five to ten times as long.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from queue import Queue
from typing import TYPE_CHECKING, Any

from reversi import json
from reversi.errors import NotationError, ReversiError
from scripts.arguments.common import MOST_NODES, add_json, add_size, add_threads, positive_up_to, seconds
from scripts.arguments.positions import Line, add_file, print_answers, read_problems

if TYPE_CHECKING:
    from reversi.formats.obf import Problem
    from reversi.games.position import Position
    from reversi.solver.solver import Solution, Solver

EXAMPLES = """
reversi solve --size 6 --json positions.txt
echo "XXXXXXXXXXXOXOOOOOXXOXOOXOXOOO--O--- O" | reversi solve
reversi solve --empties winner --best < fforum-1-19.obf
"""

TABLE_BITS = 22
"""Size of each thread's table: 96 MB once a large position has filled it."""

MOST_READ = 1000
"""Most lines that are read ahead of the answers, so that an endless input does not fill the memory."""

STOP_AGAIN_S = 0.02
"""After Ctrl-C the solvers are told to stop this often: one that was just starting misses the first call."""


@dataclass(frozen=True)
class Answer:
    """The answer for one position."""

    problem: Problem
    solution: Solution
    line: tuple[int, ...]
    """Perfect play from the position to the end, as far as the limits allow; without a score ()."""
    wdl: bool
    """Whether the score is only 1, 0 or -1."""

    @property
    def expected(self) -> int | None:
        """The score of the best move that the line gives; None if it gives none."""
        score = self.problem.score
        return score if score is None or not self.wdl else (score > 0) - (score < 0)

    @property
    def agrees(self) -> bool | None:
        """Whether score and best moves agree with the line; None if it gives no scores, or not enough was solved.

        A line may give the scores of some moves only: its best moves agree if they have that score (so far as we scored
        them), and ours if it gives it no lower one.
        """
        solution, best = self.solution, self.problem.best
        if self.expected is None or solution.score is None:
            return None
        if solution.score != self.expected or self.wdl:
            return solution.score == self.expected
        if solution.best not in best and not best <= solution.moves.keys():
            return None
        as_good = all(solution.moves.get(move, solution.score) == solution.score for move in best)
        return as_good and (solution.best in best or solution.best not in self.problem.scores)

    def to_json(self) -> str:
        """Return the answer as a line of JSON."""
        solution = self.solution
        values: dict[str, Any] = {
            "position": str(self.problem.position),
            "game": self.problem.position.game.name,
            "score": solution.score,
            "best": None if solution.best is None else self._name(solution.best),
            "moves": {self._name(action): score for action, score in sorted(solution.moves.items())},
            "line": [self._name(action) for action in self.line],
            "nodes": solution.nodes,
            "seconds": round(solution.seconds, 6),
            "solved": solution.solved,
        }
        if self.expected is not None:
            values |= {"expected": self.expected, "agrees": self.agrees}
        return json.dumps(values)

    def __str__(self) -> str:
        solution = self.solution
        score = "not solved" if solution.score is None else f"{solution.score:+d}"
        ranked = sorted(solution.moves, key=lambda action: -solution.moves[action])
        moves = "  ".join(f"{self._name(action)} {solution.moves[action]:+d}" for action in ranked)
        line = f"line: {' '.join(map(self._name, self.line))}" if self.line else ""
        effort = f"({solution.nodes:,} positions, {solution.seconds:.3f} s)"
        check = {None: "", True: "as expected", False: f"NOT as expected: {self._known()}"}[self.agrees]
        return "  ".join(part for part in (str(self.problem.position), score, moves, line, effort, check) if part)

    def _known(self) -> str:
        best = ", ".join(self._name(action) for action in sorted(self.problem.best))
        return "" if self.expected is None else f"{self.expected:+d}" + (f" by {best}" if best else "")

    def _name(self, action: int) -> str:
        from reversi.games.notation import action_name

        return action_name(self.problem.position.game, action)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the positions, the board, what to score, the limits and the output format."""
    add_file(parser)
    add_size(parser, "each line's own")
    parser.add_argument(
        "--empties", choices=("nobody", "winner"), default="nobody", help="who scores empty squares (default nobody)"
    )
    parser.add_argument("--best", action="store_true", help="score only the best move, several times faster")
    parser.add_argument("--wdl", action="store_true", help="score only win (1), draw (0) or loss (-1), faster still")
    parser.add_argument(
        "--nodes",
        type=positive_up_to(MOST_NODES),
        metavar="N",
        help="limit on the positions searched, per position to solve, exceeded by up to 41,000, since "
        "the last few empty squares are searched to their end",
    )
    parser.add_argument("--seconds", type=seconds, metavar="T", help="time limit per position to solve in seconds")
    add_threads(parser, "positions solved at the same time, one CPU thread each")
    add_json(parser, "one JSON object per position")


def run(args: argparse.Namespace) -> int:
    """Solve the positions in parallel as they arrive; print each answer as soon as those before it are printed."""
    agreed: list[bool] = []
    with closing(_Solving(args)) as solving:

        def answers() -> Iterator[Answer]:
            for answer in solving.answers():
                if answer.agrees is not None:
                    agreed.append(answer.agrees)
                yield answer

        all_parsed = print_answers(solving.lines(), answers(), as_json=args.json, expected="positions")
    if agreed:
        print(f"{sum(agreed)} of {len(agreed)} answers agree with the expected scores", file=sys.stderr)
    return 0 if all_parsed and all(agreed) else 1


class _Solving:
    """Solves the lines of the input as they arrive; each thread has its own solvers."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Begin to read, in a thread, since answers are printed while it waits for the next line."""
        self._args = args
        self._solvers: dict[tuple[int, str], Solver] = {}
        self._pool = ThreadPoolExecutor(args.threads, "solve")
        self._read: Queue[Line | ReversiError | None] = Queue(MOST_READ)
        self._waiting: deque[Future[Answer]] = deque()
        threading.Thread(target=self._pump, name="positions", daemon=True).start()

    def lines(self) -> Iterator[Line]:
        """Yield every line; those that could be parsed are being solved."""
        while (line := self._read.get()) is not None:
            if isinstance(line, ReversiError):
                raise line
            yield line

    def answers(self) -> Iterator[Answer]:
        """Yield the answer to each problem of `lines`, after that has been read."""
        while True:
            yield self._waiting[0].result()
            self._waiting.popleft()

    def close(self) -> None:
        """Stop solving, as after Ctrl-C."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        while wait([each for each in list(self._waiting) if each.running()], timeout=STOP_AGAIN_S).not_done:
            for solver in list(self._solvers.values()):
                solver.stop()

    def _pump(self) -> None:
        from reversi.games.rules import reversi_of_size

        try:
            game = None if self._args.size is None else reversi_of_size(self._args.size)
            for line in chain.from_iterable(read_problems(game, self._args.file)):
                if not isinstance(line.problem, NotationError):
                    self._waiting.append(self._pool.submit(self._solve, line.problem))
                self._read.put(line)
            self._read.put(None)
        except ReversiError as error:
            self._read.put(error)
        except RuntimeError:  # the pool was shut down
            return

    def _solve(self, problem: Problem) -> Answer:
        args, position = self._args, problem.position
        solver = _solver_of_thread(self._solvers, position, args.empties == "winner")
        ask: Callable[..., Solution] = solver.solve if args.best else solver.solve_moves
        solution = ask(position.own, position.opp, wdl=args.wdl, nodes=args.nodes, seconds=args.seconds)
        if (
            not args.wdl
            and solution.score is not None
            and solution.best not in problem.best
            and solution.score == problem.score
        ):
            solution = _with_moves(solver, position, solution, problem.best, args)
        return Answer(problem, solution, _line(solver, position, solution, args), args.wdl)


def _line(solver: Solver, position: Position, solution: Solution, args: argparse.Namespace) -> tuple[int, ...]:
    """Return perfect play from a position that has just been solved, within what is left of the limits."""
    if solution.score is None or solution.best is None:
        return ()
    after, score = position.play(solution.best), -solution.score
    nodes, left_s = _left(solution, args)
    return solution.best, *solver.line(after.own, after.opp, score, wdl=args.wdl, nodes=nodes, seconds=left_s)


def _with_moves(
    solver: Solver, position: Position, solution: Solution, moves: set[int], args: argparse.Namespace
) -> Solution:
    """Return the solution with the scores of `moves` too, so far as the limits allow: they may be as good as ours."""
    for move in sorted(moves - solution.moves.keys()):
        nodes, left_s = _left(solution, args)
        if nodes == 0 or left_s == 0:
            break
        after = position.play(move)
        reply = solver.solve(after.own, after.opp, nodes=nodes, seconds=left_s)
        scored = {} if reply.score is None else {move: -reply.score}
        searched, spent_s = solution.nodes + reply.nodes, solution.seconds + reply.seconds
        solution = replace(solution, moves={**solution.moves, **scored}, nodes=searched, seconds=spent_s)
    return solution


def _left(solution: Solution, args: argparse.Namespace) -> tuple[int | None, float | None]:
    """Return what a solution has left of the limits on positions and seconds, None for each that is not set."""
    nodes = None if args.nodes is None else max(0, args.nodes - solution.nodes)
    return nodes, None if args.seconds is None else max(0.0, args.seconds - solution.seconds)


def _solver_of_thread(solvers: dict[tuple[int, str], Solver], position: Position, winner: bool) -> Solver:
    """Return the calling thread's solver of the position's game."""
    from reversi.solver.solver import Solver

    key = threading.get_ident(), position.game.name
    if key not in solvers:
        solvers[key] = Solver(position.game, winner_takes_empties=winner, table_bits=TABLE_BITS)
    return solvers[key]
