"""What a shell is offered when it asks as argcomplete's function does: the line in the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def offered(line: str, folder: Path) -> list[str]:
    """Return what completes `line` in a shell in `folder`."""
    asked = {
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'><=;|&(:",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "PYTHONPATH": str(ROOT),
    }
    program = ["bash", "-c", '"$0" -m scripts.cli 8>&1 9>/dev/null 1>/dev/null', sys.executable]
    done = subprocess.run(program, env={**os.environ, **asked}, cwd=folder, capture_output=True, check=True, timeout=60)
    return [word.strip() for word in done.stdout.decode().splitlines()]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("reversi ", {"train", "play", "signature"}),
        ("reversi pl", {"play"}),
        ("reversi play --op", {"--opponent"}),
        ("reversi play --opponent ", {"gated", "shipped", "greedy", "mcts:"}),
        ("reversi play --color ", {"black", "white"}),
        ("reversi status ", {"night"}),
        ("reversi train ", {"experiment=", "run.minutes=", "network="}),
        ("reversi train experiment=reversi8_p", {"reversi8_patterns"}),
        ("reversi train resume=", {"night"}),
    ],
)
def test_a_shell_is_offered_what_fits(line: str, some: set[str], tmp_path: Path) -> None:
    (tmp_path / "runs" / "night").mkdir(parents=True)
    (tmp_path / "runs" / "night" / "config.yaml").write_text("run: {}\n")
    words = offered(line, tmp_path)
    assert some <= set(words)
    assert all(word.startswith(line.rpartition(" ")[2].rpartition("=")[2]) for word in words)
