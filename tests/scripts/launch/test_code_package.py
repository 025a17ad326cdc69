"""What is sent of a folder, as it arrives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reversi.errors import ConfigError
from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.launch import code_package as packaging
from scripts.launch.code_package import NEEDED, code_package, files_to_send

TREE = (
    *(*NEEDED, "reversi/runs.py", "learner/replay/memory.py", "pyproject.toml"),
    *(".git/HEAD", ".venv/bin/python", "runs/night/config.yaml", "docs/cluster.md", "tests/test_conf.py"),
    *("reversi/__pycache__/runs.pyc", "reversi_zero.egg-info/PKG-INFO", "data/big.bin"),
    *("notes/keep.txt", "notes/a.tmp"),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def usual() -> tuple[str, ...]:
    cluster = job_of(compose(["cluster=ray"])).cluster
    assert cluster.kind == "ray"
    return cluster.excludes


def sent(folder: Path, *excludes: str) -> set[str]:
    return {str(path) for path in files_to_send(folder, excludes)}


CODE = {*NEEDED, "reversi/runs.py", "learner/replay/memory.py", "pyproject.toml"}
OTHERS = {"data/big.bin", "notes/keep.txt", "notes/a.tmp"}


def test_the_code_is_sent_and_what_surrounds_it_is_not(tree: Path) -> None:
    assert sent(tree, *usual()) == CODE | OTHERS
    assert sent(tree) == set(TREE)


@pytest.mark.parametrize(
    ("file", "patterns", "missing"),
    [
        (".gitignore", ".*\n*.tmp\n/data/\n", {"data/big.bin", "notes/a.tmp"}),
        (".gitignore", "# none\n\nnotes/*\n!notes/keep.txt\n", {"notes/a.tmp"}),
        (".rayignore", "big.bin", {"data/big.bin"}),
        ("notes/.gitignore", ".*\n/a.tmp", {"notes/a.tmp"}),
        ("notes/.gitignore", "*", {"notes/keep.txt", "notes/a.tmp"}),
    ],
)
def test_files_of_patterns_are_heeded_for_what_is_in_their_folders(
    tree: Path, file: str, patterns: str, missing: set[str]
) -> None:
    (tree / file).write_text(patterns)
    assert sent(tree, *usual()) == (CODE | OTHERS) - missing


def test_an_edited_file_arrives_edited_and_nothing_stays_here(tree: Path) -> None:
    for text in ("one", "two"):
        (tree / "reversi/runs.py").write_text(text)
        with code_package(str(tree), usual(), None) as package:
            assert package is not None
            assert (package / "reversi/runs.py").read_text() == text
        assert not package.exists()
    with code_package(None, usual(), None) as nothing:
        assert nothing is None


def test_what_is_no_file_is_left_out(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    (tree / "gone").symlink_to("nowhere")
    (tree / "around").symlink_to(tree)
    (tree / "link.py").symlink_to(tree / "reversi/runs.py")
    assert sent(tree, *usual()) == CODE | OTHERS | {"link.py"}


@pytest.mark.parametrize("pattern", [".", "./", "*", "/", "**", "scripts/"])
def test_an_empty_package_is_refused_whatever_the_pattern(tree: Path, pattern: str) -> None:
    try:
        with code_package(str(tree), (pattern,), None) as package:
            assert package is not None
            assert all((package / name).is_file() for name in NEEDED)
    except ConfigError as error:
        assert "is not sent (cluster.excludes, .gitignore)" in str(error)  # noqa: PT017 - either of the two


def test_more_than_ray_takes_is_refused_with_the_largest_file(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaging, "MOST_BYTES", 1 << 20)
    (tree / "data/big.bin").write_bytes(bytes(3 << 20))
    with (
        pytest.raises(ConfigError, match=r"at most 1 MB to send, got 3 MB, of which 'data/big\.bin' has 3; exclude"),
        code_package(str(tree), usual(), None),
    ):
        pass
