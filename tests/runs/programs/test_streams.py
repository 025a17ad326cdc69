"""Commands that answer line by line, and what Ctrl-C leaves of their answer."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.position import Position
from tests.scripts.commands.reviewed_game import ending

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "scripts.cli", "solve", "--json"]

PASS = "X" * 34 + "O- O"
LAST = "X" * 34 + "O- X"
HARD = str(Position.start("reversi8"))


def test_a_line_is_answered_before_the_next_one_arrives() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(COMMAND, cwd=ROOT, text=True, bufsize=1, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for line, answer in ((LAST, ("score", 36)), ("nonsense", ("line", 2)), (PASS, ("score", -36))):
            program.stdin.write(line + "\n")
            assert answer in json.loads(program.stdout.readline()).items()
        _, complaint = program.communicate(timeout=100)
    assert (program.returncode, complaint) == (1, "error: 1 of 3 lines could not be parsed as positions\n")


def test_ctrl_c_stops_the_solvers_while_more_lines_may_come() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "--threads", "1"], cwd=ROOT, text=True, bufsize=1, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(f"{LAST}\n{HARD}\n{HARD}\n")
        assert json.loads(program.stdout.readline())["score"] == 36
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        program.wait(100)
        assert program.stderr is not None
        assert (program.returncode, program.stderr.read()) == (130, "\n")


START = "--------------OX----XO-------------- X"


def test_a_position_is_answered_before_the_next_one_arrives(registry: Path) -> None:
    command = [sys.executable, "-m", "scripts.cli", "analyze", "--registry", registry, "--simulations", "4", "--json"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, bufsize=1, **pipes) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for line in (START, "c2", START):
            program.stdin.write(line + "\n")
            assert "value" in json.loads(program.stdout.readline())
        assert program.communicate(timeout=100) == ("", "")


def whole_game() -> GgfGame:
    """Return a game of 6x6 of random moves."""
    start, rng = Position.start("reversi6"), random.Random(1)
    position, moves = start, list[GgfMove]()
    while not position.is_over:
        moves.append(GgfMove(rng.choice(position.legal_actions())))
        position = position.play(moves[-1].action)
    return GgfGame(start, tuple(moves))


def test_ctrl_c_prints_what_is_done(registry: Path, tmp_path: Path) -> None:
    path = tmp_path / "games.ggf"
    path.write_text(f"{ending(6, 1)[0]}\n{whole_game()}\n{whole_game()}\n")
    command = [sys.executable, "-m", "scripts.cli", "review", str(path), "--registry", str(registry), "--seconds", "4"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("Final score"):
            assert process.poll() is None
        try:
            process.wait(6)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (130, "\n")
    assert "Game 2 of 3" in out
    assert "Game 3 of 3" not in out
    rows = [line.split() for line in out.splitlines() if re.match(" *[0-9]+  (Black|White)", line)]
    assert rows[0][3] == "-", "the end is reviewed first"
    assert rows[-1][3] == "0", "the last move is forced"
