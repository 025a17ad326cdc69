"""No program outlives its player, however that ends."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reversi.errors import EngineError
from reversi.games.rules import GAMES
from reversi.players.engines.process import EngineProcess
from tests.runs.engines.commands import program, spec

ROOT = Path(__file__).parents[3]


def lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def ended(pid: int, seconds: float = 100.0) -> bool:
    deadline = time.monotonic() + seconds
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not lives(pid)


def started(script: str) -> EngineProcess:
    return EngineProcess([sys.executable, "-I", "-S", "-c", script])


def test_lines_come_one_by_one_and_the_end_is_told() -> None:
    process = started("print('one\\n\\n two \\nthree', flush=True); input(); import sys; sys.exit('gone')")
    deadline = time.monotonic() + 100
    assert [process.receive(deadline) for _ in range(4)] == ["one", "", "two", "three"]
    process.send("go on")
    with pytest.raises(EngineError, match="it ended with exit code 1 and complained 'gone'"):
        process.receive(deadline)
    process.stop()


def test_a_program_ends_when_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reversi.players.engines.process.PATIENCE_S", 1000.0)
    said = tmp_path / "said"
    process = started(f"open({str(said)!r}, 'w').write(input())")
    process.stop()
    assert not lives(process.pid)
    assert said.read_text() == "quit"
    process.stop()


def test_one_that_does_not_listen_is_made_to() -> None:
    player = program(GAMES["reversi4"], "gtp", "--fault", "stubborn")
    pid = _pid(player)
    begin = time.monotonic()
    player.close()
    assert 2.0 <= time.monotonic() - begin < 100
    assert not lives(pid)


def test_a_flood_does_not_keep_a_program_alive() -> None:
    process = started("while True: print('x' * 1000)")
    process.receive(time.monotonic() + 100)
    process.stop()
    assert not lives(process.pid)


def test_its_own_children_end_with_it() -> None:
    process = EngineProcess(["sh", "-c", "sleep 1000 & echo $!; wait"])
    child = int(process.receive(time.monotonic() + 100))
    assert lives(child)
    process.stop()
    assert ended(child)
    assert not lives(process.pid)


def test_a_player_that_is_forgotten_takes_its_program_along() -> None:
    player = program(GAMES["reversi4"], "gtp")
    pid = _pid(player)
    assert lives(pid)
    del player
    gc.collect()
    assert not lives(pid)


def test_a_failed_start_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(EngineError):
        program(GAMES["reversi4"], "gtp", "--fault", "size", "--log", log)
    assert ended(int(log.read_text().split()[0]))


SCRIPT = """
import sys
from reversi.games.rules import GAMES
from reversi.players import make_any_player
player = make_any_player(sys.argv[1], GAMES["reversi6"], seed=1)
print(player._engine._process.pid, flush=True)
raise RuntimeError("an error that nobody catches")
"""


def test_an_error_that_ends_us_ends_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, spec("gtp")], cwd=ROOT, text=True, capture_output=True, check=False, timeout=60
    )
    assert "an error that nobody catches" in done.stderr
    assert ended(int(done.stdout))


def test_ctrl_c_in_a_match_ends_the_program_and_leaves_no_traceback(tmp_path: Path) -> None:
    log = tmp_path / "log"
    player = spec("gtp", "--fault", "hang", "--log", log)
    command = [
        sys.executable,
        "-m",
        "scripts.cli",
        "match",
        "--a",
        player,
        "--b",
        "random",
        "--size",
        "4",
        "--games",
        "2",
    ]
    match = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 100
    while not (log.exists() and "genmove" in log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    match.send_signal(signal.SIGINT)
    out, complaint = match.communicate(timeout=100)
    assert match.returncode == 130
    assert "Traceback" not in complaint
    assert out == ""
    assert ended(int(log.read_text().split()[0]))


def _pid(player: object) -> int:
    return int(player._engine._process.pid)  # type: ignore[attr-defined]


assert os.name == "posix", "processes are looked at through /proc"
