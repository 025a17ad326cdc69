"""Proof by enumeration: a player against every possible reply, in a game small enough to be enumerated completely.

The player answers each position once; the other side tries every legal action.  A position reached by several lines of
play is asked about once and counted with all its lines, which reduces tic-tac-toe's thousands of games to a few hundred
positions.  A player with randomness is judged by its one answer.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.errors import IllegalMoveError, UsageError
from reversi.games.bitboard import Masks
from reversi.games.notation import action_name
from reversi.games.rules import UNFINISHED, Game, game_named, legal_actions_mask, outcomes, play_batch
from reversi.players import Player

MOST_POSITIONS = 200_000
"""Largest number of distinct positions after the same number of plies; a game with more counts as too large."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Every game of a player that takes one side: lines of play by their result for it."""

    wins: int
    """Lines that it wins."""
    draws: int
    """Lines that are drawn."""
    losses: int
    """Lines that it loses."""
    losing_line: tuple[int, ...] | None
    """The actions of a shortest lost line, passes included; None if there is none."""

    @property
    def lines(self) -> int:
        """All lines of play."""
        return self.wins + self.draws + self.losses


@dataclass(frozen=True)
class _Level:
    """The distinct unfinished positions after some number of plies."""

    own: Masks  # uint64[P]
    opp: Masks  # uint64[P]
    lines: NDArray[np.int64]  # [P]  lines of play that lead there
    parent: NDArray[np.int64]  # [P]  row in the previous level, on one of these lines
    action: NDArray[np.int64]  # [P]  action played there


def prove(game: Game | str, player: Player, *, moves_first: bool, first_random: bool) -> Proof:
    """Play every game of `player` against every reply, as the first or the second to move.

    first_random  try every first move of the game, even if it is the player's

    Raises UsageError if the game is too large, IllegalMoveError if the player makes an illegal move.
    """
    game, nowhere = game_named(game), np.zeros(1, np.int64)
    own, opp = np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)
    levels = [_Level(own, opp, nowhere + 1, nowhere, nowhere)]
    ends = np.zeros(3, np.int64)  # lines lost, drawn and won
    losing_line = None
    while len(levels[-1].own):
        ply, level = len(levels) - 1, levels[-1]
        mine = (ply % 2 == 0) == moves_first
        legal = _answers(game, player, level) if mine and not (first_random and ply == 0) else _legal(game, level)
        parent, action = legal.nonzero()
        own, opp = level.own[parent], level.opp[parent]
        play_batch(game.id, own, opp, action.astype(np.int32))
        margin = np.empty(len(own), np.int16)
        outcomes(game.id, own, opp, margin)
        ended = margin != UNFINISHED
        result = np.sign(-margin if mine else margin)  # for the player: the margin is that of the side to move now
        np.add.at(ends, 1 + result[ended], level.lines[parent[ended]])
        lost = np.flatnonzero(ended & (result < 0))
        if losing_line is None and len(lost):
            losing_line = (*_line(levels, int(parent[lost[0]])), int(action[lost[0]]))
        on = ~ended
        levels.append(_merged(_Level(own[on], opp[on], level.lines[parent[on]], parent[on], action[on])))
        if len(levels[-1].own) > MOST_POSITIONS:
            raise UsageError(f"expected a game that can be played out whole, such as tictactoe, got {game.name}")
    return Proof(wins=int(ends[2]), draws=int(ends[1]), losses=int(ends[0]), losing_line=losing_line)


def prove_both_sides(game: Game, player: Player, first_random: bool) -> dict[str, Proof]:
    """Return all games of `player`, moving `first` and moving `second`."""
    sides: dict[str, Any] = {"first": True, "second": False}
    return {side: prove(game, player, moves_first=first, first_random=first_random) for side, first in sides.items()}


def as_json(game: Game, proof: dict[str, Proof]) -> dict[str, Any]:
    """Return what `prove` found as JSON values, moves by their names."""
    sides: dict[str, Any] = {}
    for side, games in proof.items():
        line = games.losing_line and [action_name(game, action) for action in games.losing_line]
        sides[side] = dataclasses.asdict(games) | {"losing_line": line}
    return sides


def report(game: Game, proof: dict[str, Proof]) -> list[str]:
    """Return a line for each side: how its games end, and a lost one if there is any."""
    lines = []
    for side, games in proof.items():
        text = f"moving {side:<6}  {games.wins} won, {games.draws} drawn, {games.losses} lost"
        if games.losing_line is not None:
            text += ", such as " + " ".join(action_name(game, action) for action in games.losing_line)
        lines.append(text)
    return lines


def _legal(game: Game, level: _Level) -> NDArray[np.bool_]:
    """Return bool[P, A], the legal actions."""
    legal = np.zeros((len(level.own), game.actions), np.bool_)
    legal_actions_mask(game.id, level.own, level.opp, legal)
    return legal


def _answers(game: Game, player: Player, level: _Level) -> NDArray[np.bool_]:
    """Return bool[P, A], the player's action in each position; it is not asked where only one action is legal."""
    legal = _legal(game, level)
    free = np.flatnonzero(legal.sum(axis=1) > 1)
    if len(free):
        chosen = player.choose(level.own[free], level.opp[free])
        wrong = np.flatnonzero(~legal[free, chosen])
        if len(wrong):
            name = action_name(game, int(chosen[wrong[0]]))
            raise IllegalMoveError(f"expected a legal move of {player.name}, got {name!r}")
        legal[free] = False
        legal[free, chosen] = True
    return legal


def _merged(level: _Level) -> _Level:
    """Return each position once, with all its lines and one path to it."""
    pairs = np.stack([level.own, level.opp], axis=1)
    different, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    lines = np.zeros(len(different), np.int64)
    np.add.at(lines, which.reshape(-1), level.lines)
    own, opp = np.ascontiguousarray(different[:, 0]), np.ascontiguousarray(different[:, 1])
    return _Level(own, opp, lines, level.parent[first], level.action[first])


def _line(levels: list[_Level], row: int) -> list[int]:
    """Return actions that lead from the start to position `row` of the last level."""
    actions = []
    for level in reversed(levels[1:]):
        actions.append(int(level.action[row]))
        row = int(level.parent[row])
    return actions[::-1]
