"""The cache of machine code: its folder is that of the sources, and changes with every one of them."""

from __future__ import annotations

import os
from pathlib import Path

import numba
import pytest

import reversi.kernel
from reversi.kernel import _sources_hash

KERNEL = """\
from actors.config import LEAST_EMPTIES
from reversi.games import (
    lanes,
)

@kernel
def double(number: int) -> int:
    return 2 * number
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "reversi" / "games").mkdir(parents=True)
    (tmp_path / "actors").mkdir()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "reversi" / "games" / "rules.py").write_text(KERNEL)
    (tmp_path / "actors" / "config.py").write_text("LEAST_EMPTIES = 6\nimport reversi.far\n")
    (tmp_path / "reversi" / "games" / "lanes.py").write_text("")
    (tmp_path / "reversi" / "far.py").write_text("")
    (tmp_path / "reversi" / "console.py").write_text("from reversi.games import rules\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("reversi/games/rules.py", KERNEL.replace("2", "3")),
        ("actors/config.py", "LEAST_EMPTIES = 7\n"),  # a file without a kernel: others compile its constants in
        ("reversi/games/lanes.py", "A = 1\n"),
        ("reversi/far.py", "A = 1\n"),  # imported by what a kernel's file imports
        ("learner/new.py", "@inlined_kernel\ndef new() -> None: ...\n"),
    ],
)
def test_an_edit_of_what_kernels_use_takes_another_folder(sources: Path, file: str, text: str) -> None:
    before = _sources_hash(sources)
    (sources / file).parent.mkdir(exist_ok=True)
    (sources / file).write_text(text)
    assert _sources_hash(sources) != before


def test_a_file_that_moves_takes_another_folder(sources: Path) -> None:
    before = _sources_hash(sources)
    (sources / "reversi" / "games" / "rules.py").rename(sources / "reversi" / "rules.py")
    assert _sources_hash(sources) != before


def test_what_no_kernel_can_use_keeps_the_folder(sources: Path) -> None:
    before = _sources_hash(sources)
    (sources / "scripts" / "cli.py").write_text("")
    (sources / "reversi" / "console.py").write_text("from reversi.games import rules  # edited\n")
    (sources / "reversi" / "README.md").write_text("")
    assert _sources_hash(sources) == before


def test_numba_uses_the_folder_of_these_sources() -> None:
    root = Path(reversi.kernel.__file__).parents[1]
    assert Path(numba.config.CACHE_DIR).name == _sources_hash(root)


def test_processes_that_start_together_share_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def mkdir_second(path: Path, *mode: int, **how: bool) -> None:
        os.makedirs(path, exist_ok=True)  # by another process, a moment before
        made(path, *mode, **how)

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(Path, "mkdir", mkdir_second)
    reversi.kernel._use_cache_of_these_sources()
    assert Path(numba.config.CACHE_DIR).parent == tmp_path / "reversi-zero-kernels"
