"""What `make` would do: the targets that the documents name, and that every test is run once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def recipe(*arguments: str) -> str:
    """Return the commands that `make` would run."""
    return subprocess.run(["make", "-n", *arguments], cwd=ROOT, text=True, capture_output=True, check=True).stdout


def test_the_two_commands_of_the_readme_are_targets() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target, command in (("train", "reversi train"), ("test", "pytest")):
        assert f"    make {target} " in readme
        assert command in recipe(target)


def test_every_test_is_run_once_by_make_test_or_make_test_all() -> None:
    without, processes = (line for line in recipe("test-all", "ARGS=").splitlines() if "pytest" in line)
    assert "pytest" in recipe("test", "ARGS=")
    left_out = re.findall(r"--ignore[ =](tests/\w+)", without)
    once, again = processes.split("||")
    assert re.findall(r"\btests/\w+", once) == left_out == ["tests/runs", "tests/faults"]
    assert "--last-failed" in again
    assert all(list((ROOT / folder).rglob("test_*.py")) for folder in left_out)


def test_the_arguments_go_to_pytest() -> None:
    assert "pytest tests/test_conf.py" in recipe("test", "ARGS=tests/test_conf.py")
