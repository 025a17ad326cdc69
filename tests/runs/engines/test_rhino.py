"""A program of other people, where it is installed: Debian's gtp-rhino, of the package grhino."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from evaluator.match import Match
from evaluator.openings import random_openings
from reversi.games.rules import GAMES
from reversi.players import AlphaBetaPlayer
from reversi.players.engines.engine import EngineLimits
from reversi.players.engines.player import engine_player

RHINO = shutil.which("gtp-rhino", path="/usr/games:/usr/local/bin:/usr/bin")


@pytest.mark.skipif(RHINO is None, reason="gtp-rhino is not installed")
def test_gtp_rhino_plays_to_the_end_without_a_forfeit() -> None:
    game = GAMES["reversi8"]
    rhino = engine_player(f"gtp:{RHINO}", game, EngineLimits(restarts=0))
    try:
        match = Match(game, AlphaBetaPlayer(game, 3, seed=1), rhino, random_openings(game, 2, 6, seed=1), games=4)
        while not match.round(seconds=60.0):
            pass
    finally:
        rhino.close()
    result = match.result()
    assert result.forfeits == (0, 0)
    assert result.wins + result.draws + result.losses == 4
    assert np.all([len(match.history(number)) > 30 for number in range(4)])
