"""Imports only go down, and each heavy dependency stays behind its door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("reversi", "actors", "learner", "evaluator", "scripts")
BELOW = {
    "reversi": {"reversi"},
    "actors": {"actors", "reversi"},
    "learner": {"learner", "reversi"},
    "evaluator": {"evaluator", "reversi"},
    "scripts": set(PACKAGES),
}
DOORS = {
    "ray": (
        "*/remote.py",
        "learner/replay/remote.py",
        "learner/replay/redis/remote.py",
        "scripts/launch/ray.py",
        "scripts/ray/actor_calls.py",
        "scripts/ray/cluster.py",
        "scripts/ray/jobs.py",
        "scripts/ray/recovery.py",
        "scripts/ray/supervisor.py",
    ),
    "redis": ("learner/replay/redis/*.py",),
    "wandb": ("scripts/run/tracking/wandb.py",),
    "hydra": ("scripts/commands/train.py", "scripts/config/compose.py"),
    "omegaconf": ("scripts/commands/train.py", "scripts/config/compose.py"),
    "aiohttp": (
        "reversi/frontends/web/champion.py",
        "reversi/frontends/web/server.py",
        "reversi/frontends/web/site.py",
        "reversi/model/folder.py",
        "scripts/run/watch/boards.py",
        "scripts/run/watch/server.py",
    ),
    "openvino": ("reversi/model/openvino_backend.py",),
    "onnx": ("reversi/model/export.py",),
    "torch": ("reversi/model/*.py", "learner/*.py", "learner/*/*.py", "scripts/bench/limits.py"),
    "jax": (),
    "mctx": (),
    "pgx": (),
    "pyspiel": (),
}
LADDERS = {
    "reversi": (
        *("errors", "extras", "json", "capacity", "settings", "urls"),
        *("files", "temporary", "archive", "columns", "runs"),
        *(
            "kernels",
            "games",
            "solver",
            "patterns",
            "alphabeta",
            "search",
            "record",
            "model",
            "formats",
            "players",
            "analysis",
        ),
        "library",
        "frontends",
    ),
    "learner": (
        *("config", "replay", "schedule", "prefetch", "batches", "algorithms", "cpu_pass", "training", "learner"),
        *("weight_store", "remote"),
    ),
    "scripts": ("config", "curves", "completion", "run", "ray", "launch", "rate", "bench", "arguments", "commands"),
}
"""Parts of a package, files and folders; each imports only itself and those before it."""

ON_TOP = {"scripts.cli", "scripts.compile_kernels"}
"""On no ladder: the command line, and what calls it once for all kernels."""

LIGHT = {"numpy", "numba", "llvmlite", "safetensors"}
"""What `reversi` outside `reversi/model` and the front ends may need; safetensors frames its records."""


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module that a file imports, at its top, late or for types alone."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            files = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            modules |= files or {node.module or ""}
    return modules


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sources()}


def top(module: str) -> str:
    return module.split(".")[0]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", list(sources()), ids=name)
def test_imports_go_down_and_heavy_ones_stay_behind_their_doors(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    tops = {top(module) for module in imported(path)}
    assert tops & set(PACKAGES) <= BELOW[package]
    for library, doors in DOORS.items():
        if library in tops:
            assert any(path.relative_to(ROOT).match(door) for door in doors), f"{library} in {name(path)}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_parts_of_a_package_import_no_later_part(module: str) -> None:
    package, _, rest = module.partition(".")
    if not rest or package not in LADDERS or module in ON_TOP:
        return
    ladder, part = LADDERS[package], rest.split(".")[0]
    assert part in ladder, f"{module}: give it a place on the ladder"
    for other in imported(MODULES[module]):
        if other.startswith(f"{package}."):
            assert other.split(".")[1] in ladder[: ladder.index(part) + 1], f"{other} in {module}"


def test_no_file_imports_itself_through_others() -> None:
    """Files that import each other are one file, or one of them has something that belongs to a third."""
    imports = {module: imported(path) & MODULES.keys() - {module} for module, path in MODULES.items()}
    assert circles(imports) == []


def circles(imports: dict[str, set[str]]) -> list[str]:
    """The modules that are left when those that import none of the others have been removed, again and again, from
    both ends."""
    left = set(imports)
    while ends := {m for m in left if not imports[m] & left or not any(m in imports[other] for other in left)}:
        left -= ends
    return sorted(left)


def test_a_circle_is_found() -> None:
    imports: dict[str, set[str]] = {"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": set()}
    assert circles(imports) == ["b", "c"]
    imports["c"] = {"d"}
    assert circles(imports) == []


def test_the_rules_and_the_search_need_numpy_and_numba_alone() -> None:
    import sys

    for path in (ROOT / "reversi").rglob("*.py"):
        if {"model", "frontends"} & set(path.relative_to(ROOT).parts):
            continue
        outside = {top(m) for m in imported(path)} - set(sys.stdlib_module_names) - {"reversi"}
        assert outside <= LIGHT, name(path)


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=name)
def test_no_file_imports_a_test_module(path: Path) -> None:
    """What several of them need is in a plain module or a `conftest.py` beside them."""
    modules = imported(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    for module in modules:
        assert top(module) != "tests" or not any(part.startswith("test_") for part in module.split(".")), module


def test_there_are_files_to_check() -> None:
    assert len(list(sources())) > 40
