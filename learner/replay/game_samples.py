"""Samples that are whole games, one a row: what TD(lambda) sweeps backwards.

A move takes three bytes: its square and kind in one, the value of the ply in two.  Passes follow from the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learner.replay.columns import PerAction, PerSample, SampleColumns, SampleKind
from reversi.games.rules import game_named, pass_of, square_of_action, squares_of
from reversi.kernels.kernel import kernel
from reversi.patterns.tables import DISC
from reversi.record import OPENING, Records

SQUARE_BITS = 6
"""A move is its square and, above these bits, the kind of its ply."""


@dataclass(frozen=True, kw_only=True)
class GameSamples(SampleColumns):
    """B games; `own` and `opp` are the sides that move first and second at their start."""

    moves: PerAction[np.uint8]  # square + 64 * kind of each move, in order
    values: PerAction[np.int16]  # value of the move's ply in 1/64 disc, for the mover
    count: PerSample[np.uint8]  # moves
    learned: PerSample[np.uint8]  # positions that are learned from: moves that are not OPENING
    exact_from: PerSample[np.uint8]  # first move from which on the values are exact; `count` if none is

    @property
    def positions(self) -> int:
        """Positions that are learned from."""
        return int(self.learned.sum(dtype=np.int64))


def games_of(records: Records) -> GameSamples:
    """Return a sample for every game of `records`, which must have passed `check`."""
    samples = GameSamples.empty(len(records), records.policy.shape[1])
    pack_games(game_named(records.game).id, records.arrays(), records.value.astype(np.float32), samples.arrays())
    return samples


GAMES = SampleKind("games", GameSamples, games_of, whole_games=True)
"""The kind of samples that td learns from."""


@kernel
def pack_games(game_id: int, records: Records, value: np.ndarray, out: GameSamples) -> None:
    """Write a row for each game.

    records  every game checked, so that a game has at most as many moves as the board has squares
    value    float32[P]  of the plies
    """
    plies, actions, ply_kind, exact_from = records.plies, records.actions, records.ply_kind, records.exact_from
    passes, units = pass_of(game_id), np.float32(DISC * squares_of(game_id))
    p = 0
    for g in range(plies.shape[0]):
        out.own[g], out.opp[g] = records.start_own[g], records.start_opp[g]
        out.moves[g], out.values[g] = 0, 0
        count = learned = exact = 0
        for ply in range(plies[g]):
            if actions[p] != passes:
                out.moves[g, count] = square_of_action(game_id, actions[p]) + (ply_kind[p] << SQUARE_BITS)
                out.values[g, count] = np.int16(np.round(value[p] * units))
                learned += ply_kind[p] != OPENING
                count += 1
                exact += ply < exact_from[g]
            p += 1
        out.count[g], out.learned[g], out.exact_from[g] = count, learned, exact
