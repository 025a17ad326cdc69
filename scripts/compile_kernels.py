"""`python -m scripts.compile_kernels`: compile every kernel of commands and training jobs, as `make install` does.

numba keeps the machine code on disk, so that every command, run and test then answers at once.
"""

from __future__ import annotations

import io
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout

from scripts import cli
from scripts.config.compose import choices_by_group, compose

POSITION = "-XOXOO-O-XOOXOOO O"
"""A position of 4x4 that the solver and its search have to look into."""

LEAST = (
    "cluster=serial tracking=jsonl run.minutes=null run.games=1 run.summary_games=0 actors.count=1 "
    "replay.min_positions=1 learner.batch=2 learner.threads=1 gate.games=2 gate.wins=1"
)
COMMANDS = (
    "signature",
    "perft 3",
    "match --a uct:2 --b alphabeta:2 --size 6 --games 2",
    "match --a flat-mc:1 --b greedy --size 6 --games 2",
    "prove random --size 4",
    "solve --json",
    "train experiment=reversi6_laptop {least}",
    "train experiment=tictactoe_qlearning {least}",
)


def compile_all() -> None:
    """Call every command on the least of work."""
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(COMMANDS):
            sys.stdin = io.TextIOWrapper(io.BytesIO(POSITION.encode()))
            least = f"{LEAST} run.dir={folder} run.name=run{number}"
            with redirect_stdout(io.StringIO()):
                code = cli.main(shlex.split(line.format(least=least, folder=folder)))
            assert code == 0, line


if __name__ == "__main__":
    compile_all()
