"""The hash of the sources changes with all that can end up in machine code, and with nothing else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

import actors.config  # one of the files that have been imported
import reversi.kernels.kernel
from reversi.kernels.sources import PACKAGES, Sources, _Definitions, _imports

ROOT = Path(reversi.kernels.kernel.__file__).parents[2]

KERNEL = '''\
"""A kernel."""
from typing import Any, NamedTuple

import numpy as np

import reversi.games.planes
from actors.config import LEAST_EMPTIES, Config
from reversi.games import (
    bitboard,
)
from reversi.kernels.kernel import kernel

TABLE = np.zeros(4)
for index in range(4):
    TABLE[index] = weight(index)


def weight(index: int) -> int:
    return 3 * index


class Shape(NamedTuple):
    """What a kernel is given."""

    width: int
    height: int


class Host:
    """What calls it."""

    def count(self, config: Config) -> int:
        return double(config.games, None)


@kernel
def double(number: int, shape: Any) -> int:
    """Return twice `number`."""
    return 2 * number + LEAST_EMPTIES + bitboard.ONE + reversi.games.planes.PLANES
'''
CONFIG = '''\
"""The configuration."""
from reversi.far import SQUARES as FIELDS, unrelated

LEAST_EMPTIES = FIELDS // 6
"""The least."""

MOST_EMPTIES = 30


class Config:
    games = 3
'''
FILES = {
    "reversi/games/rules.py": KERNEL,
    "reversi/games/bitboard.py": "ONE = 1\n\n\ndef two() -> int:\n    from reversi.late import TWO\n\n    return TWO\n",
    "reversi/games/planes.py": "PLANES = 3\n",
    "reversi/games/__init__.py": '"""Games."""\n',
    "reversi/kernels/kernel.py": "import numba\n\n\ndef kernel(function):\n    return numba.njit(function)\n",
    "reversi/far.py": "SQUARES = 36\nunrelated = 1\n",
    "reversi/late.py": "TWO = 2\n",
    "reversi/console.py": "from reversi.games import rules\n",
    "actors/config.py": CONFIG,
    "scripts/cli.py": "",
}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("reversi/games/rules.py", "2 * number", "3 * number"),
        ("reversi/games/rules.py", "3 * index", "4 * index"),  # fills a table, in a loop at the top
        ("reversi/games/rules.py", "TABLE[index] =", "TABLE[index] +="),
        ("reversi/games/rules.py", "    width: int\n    height: int", "    height: int\n    width: int"),
        ("reversi/games/rules.py", "import numpy as np", "import jax.numpy as np"),
        ("actors/config.py", "// 6", "// 4"),  # a file without a kernel: others compile its constants in
        ("actors/config.py", "SQUARES as FIELDS", "unrelated as FIELDS"),
        ("reversi/far.py", "36", "64"),  # imported, under another name, by what a kernel's file imports
        ("reversi/games/bitboard.py", "ONE = 1", "ONE = 3"),  # a name of an imported module
        ("reversi/games/planes.py", "3", "4"),
        ("reversi/late.py", "2", "4"),  # imported within a function
        ("reversi/kernels/kernel.py", "(function)\n", "(function, fastmath=True)\n"),
    ],
)
def test_an_edit_of_what_kernels_use_changes_the_hash(sources: Path, file: str, old: str, new: str) -> None:
    before = Sources(sources).hash
    edited = FILES[file].replace(old, new)
    assert edited != FILES[file]
    (sources / file).write_text(edited)
    assert Sources(sources).hash != before


def test_a_new_kernel_changes_the_hash(sources: Path) -> None:
    before = Sources(sources).hash
    (sources / "learner").mkdir()
    (sources / "learner" / "new.py").write_text(
        "from reversi.kernels.kernel import inlined_kernel\n\n\n@inlined_kernel\ndef new() -> None: ...\n"
    )
    assert Sources(sources).hash != before


def test_a_kernel_that_moves_changes_the_hash(sources: Path) -> None:
    before = Sources(sources).hash
    (sources / "reversi" / "games" / "rules.py").rename(sources / "reversi" / "rules.py")
    assert Sources(sources).hash != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (
            "reversi/games/rules.py",
            "A kernel.",
            "The kernel.",
        ),  # docstrings: of a file with kernels, a function, a class
        ("reversi/games/rules.py", "Return twice", "Twice"),
        ("reversi/games/rules.py", "What a kernel is given.", "Its shape."),
        ("reversi/games/rules.py", "2 * number", "(\n        2  # twice\n        * number\n    )"),
        ("reversi/games/rules.py", "config.games", "config.games + 1"),  # host code in a file with kernels
        ("actors/config.py", "The configuration.", "All settings."),
        ("actors/config.py", "The least.", "The least of them."),
        ("actors/config.py", "games = 3", "games = 4"),  # used by no kernel
        ("actors/config.py", "30", "40"),
        ("reversi/far.py", "unrelated = 1", "unrelated = 2"),
        ("reversi/console.py", "rules\n", "rules  # edited\n\nPAGE = rules\n"),
        ("scripts/cli.py", "", "PAGE = 1\n"),
    ],
)
def test_an_edit_of_anything_else_keeps_the_hash(sources: Path, file: str, old: str, new: str) -> None:
    before = Sources(sources)
    edited = FILES[file].replace(old, new)
    assert edited != FILES[file]
    (sources / file).write_text(edited)
    after = Sources(sources)
    assert after.hash == before.hash
    assert (after.key != before.key) == (not file.startswith("scripts"))


@pytest.mark.parametrize("of", [lambda sources: sources.hash, lambda sources: sources.key], ids=["hash", "key"])
def test_checked_kernels_have_a_hash_of_their_own(
    of: Callable[[Sources], str], sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = of(Sources(sources))
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert of(Sources(sources)) != before


def test_a_source_that_is_removed_has_changed(sources: Path) -> None:
    before = Sources(sources)
    assert actors.config.__name__ in sys.modules
    assert before.unchanged()
    (sources / "reversi" / "console.py").unlink()  # not imported so far, so nothing was compiled from it
    assert before.unchanged()
    (sources / "actors" / "config.py").unlink()
    assert not before.unchanged()


def test_every_name_that_a_kernel_uses_is_followed() -> None:
    """A slow twin for the sources themselves: every decorated function, and every global name that it reads."""
    used = "".join(_Definitions(Sources(ROOT)._texts).used)
    kernels = 0
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        body = ast.parse(path.read_text()).body
        names = {node.id for each in body if _is_kernel(each) for node in ast.walk(each) if isinstance(node, ast.Name)}
        kernels += sum(map(_is_kernel, body))
        for statement in body:
            if isinstance(statement, ast.FunctionDef) and (_is_kernel(statement) or statement.name in names):
                assert f"{module} FunctionDef(name='{statement.name}'" in used
            for target in getattr(statement, "targets", []):
                if isinstance(target, ast.Name) and target.id in names:
                    assert f"{module} Assign(targets=[Name(id='{target.id}'" in used
            for name, target in _imports(statement) if isinstance(statement, ast.ImportFrom) else []:
                if name in names:
                    assert f"{module} {name} is {target}\n" in used
    assert kernels > 200


def _is_kernel(statement: ast.stmt) -> bool:
    decorators = getattr(statement, "decorator_list", [])
    return any(isinstance(each, ast.Name) and each.id.endswith("kernel") for each in decorators)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("reversi.games.rng", b"0x9E3779B97F4A7C15", b"0x9E3779B97F4A7C17"),
        ("reversi.search.params", b"c_puct: np.float32", b"c_puct: np.float64"),
        ("actors.config", b"LEAST_EMPTIES = ", b"LEAST_EMPTIES = 1 + "),
    ],
)
def test_an_edit_of_the_real_sources_changes_the_hash(module: str, old: bytes, new: bytes) -> None:
    before, after = Sources(ROOT), Sources(ROOT)
    assert old in after._texts[module]
    after._texts[module] = after._texts[module].replace(old, new)
    assert after.hash != before.hash
