"""A signal finds a process with evaluators alive, whichever of them have come and gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal
import numpy as np
from reversi.games.rules import game_named
from reversi.model.evaluate import open_evaluator
from reversi.model.network import DualNetwork, fold
from tests.configs import resnet
heard = []
signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
game = game_named("reversi4")
weights = fold(DualNetwork(resnet(blocks=1, channels=8), game.size), game, 0)
own, opp = np.full(4, game.start_own, np.uint64), np.full(4, game.start_opp, np.uint64)
kept = open_evaluator(weights, precision="bf16", batch=4)
for _ in range(3):
    first, second = (open_evaluator(weights, precision="bf16", batch=4) for _ in range(2))
    first(own, opp), second(own, opp)
    del first, second
    os.kill(os.getpid(), signal.SIGUSR1)
    kept(own, opp)
print(len(heard))
"""


def test_signals_are_heard_after_evaluators_were_dropped() -> None:
    root = str(Path(__file__).parents[3])
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
