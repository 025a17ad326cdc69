"""Analyze positions from a file or standard input, one per line: the best move, the value for the side to move, policy
and visits.

A position is N*N characters of X (black), O (white) and - (empty), row 1 first, then a space and the side to move, or
the moves that lead to it, such as c2d2.  Blank lines and text after a # are ignored.  Every other line is answered by
one line, in order; one that cannot be parsed is answered by `{"error": ...}`, and the exit code is then 1.  Positions
that are there at the same time are searched in parallel: a thousand take seconds.  Those of a pipe are answered as they
arrive, with values that depend on their company in the third digit.  With 0 simulations the network answers without
search.  A finished game has no move and its exact value.  With 12 or fewer empty squares the exact solver answers: the
best moves share the policy equally, and there are no visits.  The same holds for a move that captures every disc of the
opponent, which is known to win.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reversi.errors import NotationError
from scripts.arguments.common import add_json, add_model, add_registry, add_simulations, add_size, add_threads
from scripts.arguments.positions import Line, add_file, print_answers, read_problems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reversi.games.position import Position
    from reversi.players import SearchPlayer

EXAMPLES = """
reversi analyze --model gated --simulations 64 --json positions.txt
echo "--------------OX----XO-------------- X" | reversi analyze --simulations 800
"""


@dataclass(frozen=True)
class PositionAnalysis:
    """The answer for one position."""

    position: Position
    move: str | None
    """The move that the search would play, without search the one with the highest prior; None if the game is over."""
    value: float
    """Expected result for the side to move, -1 (lost) to 1 (won)."""
    policy: dict[str, float]
    """Share of the visits of every legal move; without search the priors."""
    visits: dict[str, int]
    """Simulations through every legal move."""

    def to_json(self) -> str:
        """Return the answer as a line of JSON."""
        values = {name: getattr(self, name) for name in ("move", "value", "policy", "visits")}
        return json.dumps({"position": str(self.position), "game": self.position.game.name, **values})

    def __str__(self) -> str:
        moves = sorted(self.policy, key=lambda move: -self.policy[move])
        shares = "  ".join(f"{move} {100 * self.policy[move]:.1f} %" for move in moves)
        return f"{self.position}  {self.move or 'game over'}  {self.value:+.3f}  {shares}".rstrip()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the positions, the model, the search and the output format."""
    add_file(parser)
    add_model(parser)
    add_simulations(parser, "per position, 0 for the network without search")
    add_size(parser, "the model's")
    add_registry(parser)
    add_threads(parser)
    add_json(parser, "one JSON object per position")


def run(args: argparse.Namespace) -> int:
    """Read a batch of positions, analyze them together, print the answers; and so on."""
    from reversi.games.rules import game_named, reversi_of_size
    from reversi.model.registry import load_model
    from reversi.players import model_player, playing_config

    weights = load_model(args.model or "gated", args.registry)
    game = game_named(weights.game)
    if args.size is not None:
        weights.check_game(reversi_of_size(args.size))
    config = playing_config(args.simulations)
    player = model_player(f"model {weights.version}", game, weights, config, threads=args.threads)
    answers: deque[PositionAnalysis] = deque()

    def lines() -> Iterator[Line]:
        for batch in read_problems(game, args.file, player.batch):
            problems = [line.problem for line in batch]
            answers.extend(_judge(player, [each.position for each in problems if not isinstance(each, NotationError)]))
            yield from batch

    found = iter(answers.popleft, None)
    return 0 if print_answers(lines(), found, as_json=args.json, expected=f"positions of {game.name}") else 1


def _judge(player: SearchPlayer, positions: list[Position]) -> Iterator[PositionAnalysis]:
    """Yield the analysis of each position; they are searched together."""
    import numpy as np

    if not positions:
        return
    own = np.array([position.own for position in positions], np.uint64)
    opp = np.array([position.opp for position in positions], np.uint64)
    result = player.judge(own, opp)
    for b, position in enumerate(positions):
        yield _analysis(position, int(result.action[b]), float(result.value[b]), result.policy[b], result.visits[b])


def _analysis(
    position: Position, action: int, value: float, policy: NDArray[np.float32], visits: NDArray[np.int32]
) -> PositionAnalysis:
    actions = dict(zip(position.legal_moves(), position.legal_actions(), strict=True))
    return PositionAnalysis(
        position=position,
        move=next((move for move in actions if actions[move] == action), None),
        value=round(value, 6),
        policy={move: round(float(policy[index]), 6) for move, index in actions.items()},
        visits={move: int(visits[index]) for move, index in actions.items()},
    )
