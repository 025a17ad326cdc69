"""What takes an interpreter of its own: what is imported, what comes from the kernel cache, signals and the GIL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reversi.games.rules import GAMES
from reversi.kernels.threads import Threads
from reversi.model.config import ResNetConfig, TableConfig
from reversi.players.alphabeta import alphabeta
from scripts import cli
from tests.configs import resnet
from tests.reversi.model.samples import LINES, SMALL, weights

ROOT = Path(__file__).parents[3]


def printed(program: str, *arguments: object, **environment: str) -> str:
    """Return what a program prints in a new interpreter, which must end with exit code 0."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = (
        "import reversi, sys; print([name for name in ('numpy', 'numba', 'torch', 'fsspec') if name in sys.modules]);"
        "[getattr(reversi, name) for name in reversi.__all__]; print('torch' in sys.modules)"
    )
    assert printed(program) == "[]\nFalse\n"


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "torch", "ray", "openvino", "onnx", "hydra", "omegaconf", "wandb", "rich", "fsspec"]
    modules = ", ".join(cli.module_of(name) for name in cli.COMMANDS if name != "train")
    assert printed(f"import sys, scripts.cli, {modules}; print([n for n in {heavy} if n in sys.modules])") == "[]\n"


EVALUATES = """
import sys, pathlib, numpy as np
from reversi.model.weights import Weights
from reversi.model.evaluate import open_evaluator
evaluator = open_evaluator(Weights.load(pathlib.Path(sys.argv[1])), batch=8)
evaluator(np.ones(3, np.uint64), np.full(3, 2, np.uint64))
print(evaluator.name, evaluator.version, sorted({'torch', 'openvino'} & set(sys.modules)))
"""


@pytest.mark.parametrize("config", [SMALL, LINES], ids=str)
def test_openvino_needs_no_torch(tmp_path: Path, config: ResNetConfig) -> None:
    weights("reversi6", version=9, config=config).save(tmp_path / "model")
    assert printed(EVALUATES, tmp_path / "model") == "openvino 9 ['openvino']\n"


def test_a_table_needs_neither_torch_nor_openvino(tmp_path: Path) -> None:
    weights("tictactoe", 9, config=TableConfig()).save(tmp_path / "model")
    assert printed(EVALUATES, tmp_path / "model") == "table 9 []\n"


EXPORTS = """
import sys, pathlib
from reversi.model.weights import Weights
from reversi.model.export import to_onnx
data = to_onnx(Weights.load(pathlib.Path(sys.argv[1])))
print(len(data) > 1_000_000, {'torch', 'openvino'} & set(sys.modules))
"""


def test_export_needs_no_torch(tmp_path: Path) -> None:
    weights("reversi6", 9, config=LINES).save(tmp_path / "model")
    assert printed(EXPORTS, tmp_path / "model") == "True set()\n"


def test_kernels_come_from_the_disk_cache_in_a_new_process() -> None:
    """Kernels built on intrinsics and on each other must not be compiled again by every actor."""
    program = (
        "import numpy as np; from reversi.games import perft, planes, rules\n"
        "masks = np.zeros(1, np.uint64)\n"
        "perft.perft(2, np.uint64(1), np.uint64(2), 1)\n"
        "planes.write_planes(2, masks, masks, np.zeros((1, 4, 8, 8), np.float32))\n"
        "rules.legal_masks(2, masks, masks, masks)\n"
        "print(*(sum(k.stats.cache_misses.values()) for k in (perft.perft, planes.write_planes, rules.legal_masks)))"
    )
    assert [printed(program) for _ in range(2)][1] == "0 0 0\n"


def test_the_recursive_kernel_comes_from_the_disk_cache_in_a_new_process() -> None:
    """Called with a literal number it would be cached, and end the next process (`reversi/solver/last.py`)."""
    program = (
        "import numpy as np; from reversi.games.rules import game_named; from reversi.players import alphabeta\n"
        "from reversi.kernels.threads import Threads\n"
        "game = game_named('reversi6')\n"
        "own, opp = np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)\n"
        "result = alphabeta.alphabeta(game, own, opp, 4, seed=1, threads=Threads(1))\n"
        "print(sum(alphabeta.choose_actions.stats.cache_misses.values()), result.score[0])"
    )
    game = GAMES["reversi6"]
    own, opp = np.array([game.start_own], np.uint64), np.array([game.start_opp], np.uint64)
    score = alphabeta(game, own, opp, 4, seed=1, threads=Threads(1)).score[0]
    assert [printed(program) for _ in range(2)][1] == f"0 {score}\n"


def test_kernels_of_a_program_are_loaded_by_the_next_one(tmp_path: Path) -> None:
    program = (
        "from reversi.games import passes, rules\n"
        "rules.play(2, rules.game_named('reversi8').start_own, rules.game_named('reversi8').start_opp, 19)\n"
        "print(sum(rules.play.stats.cache_hits.values()), sum(rules.play.stats.cache_misses.values()))\n"
    )
    assert [printed(program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)] == ["0 1\n", "1 0\n"]


SIGNALS = """
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
    assert printed(SIGNALS) == "3\n"


DROPPED = """
import dataclasses
from reversi.games.rules import game_named
from reversi.model.evaluate import open_evaluator
from tests.reversi.model.samples import SMALL, positions, weights
game = game_named("reversi8")
version = weights(game, config=dataclasses.replace(SMALL, channels=64, blocks=6))
own, opp = positions(game, 256)
for _ in range(3):
    evaluator = open_evaluator(version, backend="openvino", precision="float32", batch=256, slots=2)
    evaluator.submit(0, own, opp)
    evaluator.submit(1, own, opp)
    del evaluator
print("goes on")
"""


def test_batches_that_nobody_collects_are_not_written_into_freed_memory() -> None:
    assert printed(DROPPED) == "goes on\n"


TWO_BATCHES = """
import ctypes, sys, time, pathlib, numpy as np
from reversi.model.weights import Weights
from reversi.model.evaluate import open_evaluator
from reversi.games.rules import game_named
game = game_named("reversi6")
own, opp = np.full(64, game.start_own, np.uint64), np.full(64, game.start_opp, np.uint64)
evaluator = open_evaluator(Weights.load(pathlib.Path(sys.argv[1])), backend="openvino", batch=64, slots=2)
def both(held_s):
    start = time.perf_counter()
    evaluator.submit(0, own, opp)
    evaluator.submit(1, own, opp)
    ctypes.PyDLL(None).usleep(int(held_s * 1e6))  # this call keeps the GIL
    held = time.perf_counter()
    evaluator.collect(0), evaluator.collect(1)
    end = time.perf_counter()
    return end - start, end - held
computing_s = min(both(0)[0] for _ in range(20))
print(any(both(held_s)[1] < computing_s / 2 for held_s in (0.2, 0.2, 0.2, 1, 1, 5, 5)))
"""
"""Whether both batches are done when the GIL is free again; where others use the cores, that takes longer."""


def test_openvino_follows_one_batch_with_the_next_without_python(tmp_path: Path) -> None:
    weights("reversi6", config=resnet(blocks=4, channels=64)).save(tmp_path / "model")
    assert printed(TWO_BATCHES, tmp_path / "model") == "True\n"
