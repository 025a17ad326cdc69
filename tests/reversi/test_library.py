"""`import reversi`: instant, and the same names for Python and for type checkers."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import reversi

ROOT = Path(__file__).parents[2]


def typed_names() -> dict[str, str]:
    """Return the module of every name that `reversi/__init__.py` imports for type checkers."""
    tree = ast.parse((ROOT / "reversi" / "__init__.py").read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def test_type_checkers_see_the_names_that_python_finds() -> None:
    assert typed_names() == reversi._HOMES  # type: ignore[attr-defined]
    assert sorted(typed_names()) == sorted(reversi.__all__)
    assert set(reversi.__all__) <= set(dir(reversi))
    for name in reversi.__all__:
        assert getattr(reversi, name).__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'reversi' has no attribute 'Positions'"):
        reversi.Positions  # type: ignore[attr-defined]  # noqa: B018


def test_annotations_are_packaged() -> None:
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "py.typed" in packaged["tool"]["setuptools"]["package-data"]["*"]
    assert all((ROOT / package / "py.typed").is_file() for package in ("reversi", "evaluator"))
