"""A run as it is started anywhere: in a folder with our names, a home that stays empty, nobody asked outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reversi.model.registry import Registry
from tests.faults.drill.nodes import ROOT
from tests.scripts.launch.tiny_job import TINY

HOOK = """
import os, sys

def note(event, values):
    if event == "socket.connect" and isinstance(values[1], tuple):
        name = values[1][0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        name = values[0]
    else:
        return
    with open(os.environ["LOOKED_UP"], "a") as file:
        file.write(f"{name}\\n")

sys.addaudithook(note)
"""
HERE = {"127.0.0.1", "localhost", "0.0.0.0", "::1", "None", os.uname().nodename}


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder that is short enough for sockets."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_living_one_uses_is_not(temporary: Path) -> None:
    """Of those processes that have sockets: of a run on Ray, of an embedded Redis."""

    def start(more: str) -> subprocess.Popen[str]:
        code = f"from reversi.temporary import PrivateFolder; p = PrivateFolder(); print(p.path, flush=True); {more}"
        environment = os.environ | {"TMPDIR": str(temporary)}
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-c", code], env=environment, stdin=pipe, stdout=pipe, text=True)

    with start("input()") as alive, start("import os; os.kill(os.getpid(), 9)") as killed:
        assert alive.stdout is not None
        used, left = Path(alive.stdout.readline().strip()), Path(killed.communicate()[0].strip())
        assert (killed.returncode, used.is_dir(), left.is_dir()) == (-9, True, True)
        with start("") as last:
            last.communicate()
        assert (used.is_dir(), left.exists()) == (True, False)
        alive.communicate("\n")
    assert not used.exists()


def test_a_run_uses_our_code_asks_nobody_and_leaves_the_home_as_it_was(tmp_path: Path, temporary: Path) -> None:
    """With every tracker, on Ray: workers, dashboard and trackers are processes that inherit the hook."""
    hook, home, place = tmp_path / "hook", tmp_path / "home", tmp_path / "place"
    for folder in (hook, home, place / "learner", place / "reversi"):
        folder.mkdir(parents=True)
    (hook / "sitecustomize.py").write_text(HOOK)
    for name in ("learner", "reversi"):
        (place / name / "__init__.py").write_text("raise SystemExit('of the user')")
    given = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "XDG", "http"))}
    cache = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    environment = given | {
        "HOME": str(home),
        "NUMBA_CACHE_DIR": cache,
        "LOOKED_UP": str(tmp_path / "looked-up"),
        "TMPDIR": str(temporary),
        "PYTHONPATH": f"{hook}:{ROOT}",
    }
    job = [*TINY, "tracking=[jsonl,tensorboard,wandb]", "run.name=here", "run.games=200"]
    job += ["run.summary_games=0", "registry.url=models"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "scripts.cli", "train", *job],  # -P: as the command `reversi`
        cwd=place,
        env=environment,
        text=True,
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((place / "runs" / "here" / "ended.json").read_text())["how"] == "finished"
    assert Registry(str(place / "models")).models(), "a relative path is one of the folder that the run was started in"
    looked_up = set((tmp_path / "looked-up").read_text().split())
    assert looked_up <= HERE | {""}, looked_up - HERE
    assert [str(path) for path in home.rglob("*")] == []
    left = [path.name for path in temporary.rglob("*") if "torchinductor" not in path.name]
    assert left == [f"reversi-{os.geteuid()}"], "Ray's own folder would be beside it"
    assert sorted(path.name for path in place.iterdir()) == ["learner", "models", "reversi", "runs"]
