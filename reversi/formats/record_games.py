"""Records as GGF: moves, results and versions; policies and values, which GGF has no place for, stay behind."""

from __future__ import annotations

import numpy as np

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.record import Records


def ggf_of_records(records: Records) -> str:
    """Return one line a game; both players are the version that played.  Raises ValueError for tic-tac-toe."""
    game, lines = GAMES[records.game], []
    for number, actions in enumerate(np.split(records.actions, np.cumsum(records.plies)[:-1])):
        own, opp = int(records.start_own[number]), int(records.start_opp[number])
        start = Position(game, own, opp, bool(records.black_first[number]))
        name = f"v{records.version[number]}"
        lines.append(f"{GgfGame(start, tuple(map(GgfMove, actions.tolist())), {'PB': name, 'PW': name})}\n")
    return "".join(lines)
