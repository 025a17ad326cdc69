"""`python -m scripts.compile_kernels`: compile every kernel of commands and training jobs, as `make install` does.

numba keeps the machine code on disk, so that every command, run and test then answers at once.
"""

from __future__ import annotations

import io
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from scripts import cli
from scripts.config.compose import choices_by_group, compose
from scripts.config.job import job_of
from scripts.launch.warm import warm

GAME = (
    "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1f7e2g3h4f1e1f2g1b1f8g8b3h3b2h5b7a3a4a1a2c1h2h1g2b8a8g7h8"
    "h7h6"
)
POSITION = "XXXXXXXXXXXOXOOOOOXXOXOOXOXOOO--O--- O"

RUN = (
    "run.dir={folder} cluster=serial tracking=jsonl run.minutes=null run.games=1 run.summary_games=0 "
    "replay.min_positions=1 learner.batch=32 gate.games=2 gate.wins=1"
)
"""The least of runs."""

COMMANDS = (
    f"train experiment=reversi6_laptop run.name=trees {RUN} learner.precision=float32",
    f"train experiment=reversi6_laptop run.name=halves {RUN} learner.precision=bf16",
    f"train experiment=tictactoe_qlearning run.name=table {RUN}",
    f"train experiment=dqn6 run.name=values {RUN}",
    f"train experiment=wthor run.name=games {RUN} actors.paths=[{{folder}}/games.txt] network.filters=[8] "
    "network.width=1 gate.opening_choice=1 gate.truth_positions=0",
    f"train experiment=reversi8_patterns run.name=patterns {RUN} actors.round_games=20 gate.truth_positions=4 "
    "gate.opening_choice=1 gate.simulations=2",
    "match --registry {folder}/patterns/registry --a alphabeta:latest:2 --b mcts:latest:0.01s --size 8 --games 2",
    "signature",
    "perft 3",
    "match --a uct:2 --b alphabeta:2 --size 6 --games 2",
    "match --a flat-mc:1 --b greedy --size 6 --games 2",
    "label --size 6 --empties 6-8 --positions 1 -o {folder}/labels",
    "solve",
    "analyze --simulations 4 --registry {folder}/trees/registry --model latest",
    "review --registry {folder}/games/registry --model latest --simulations 4 {folder}/games.txt",
)


def compile_all() -> None:
    """Prepare every experiment and call every command, on the least of work."""
    for name in choices_by_group()["experiment"]:
        warm(job_of(compose([f"experiment={name}"])))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "games.txt").write_text(f"{GAME}\n")
        for line in COMMANDS:
            sys.stdin = io.TextIOWrapper(io.BytesIO(POSITION.encode()))
            assert cli.main(shlex.split(line.format(folder=folder))) == 0, line


if __name__ == "__main__":
    messages = io.StringIO()
    try:
        with redirect_stdout(messages), redirect_stderr(messages):
            compile_all()
    except BaseException:
        print(messages.getvalue(), file=sys.stderr)
        raise
