"""Players that are `program.py`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from reversi.games.rules import Game
from reversi.players.engines.engine import EngineLimits
from reversi.players.engines.player import EnginePlayer, engine_player

PROGRAM = Path(__file__).with_name("program.py")

QUICK = EngineLimits(start_s=10.0, move_s=10.0, restarts=50)


def spec(protocol: str, *options: object) -> str:
    """The player's name: `gtp:python program.py gtp --fault crash`, quoted where it must be."""
    command = [sys.executable, "-I", "-S", str(PROGRAM), protocol, *map(str, options)]
    return f"{protocol}:{shlex.join(command)}"


def program(game: Game, protocol: str, *options: object, limits: EngineLimits = QUICK) -> EnginePlayer:
    return engine_player(spec(protocol, *options), game, limits)
