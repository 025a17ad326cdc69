"""JSON has finite numbers alone, written and read."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

from reversi import json
from reversi.errors import ReversiError

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("value", [math.nan, math.inf, [{"value": -math.inf}]])
def test_a_number_that_is_not_finite_is_not_written(value: object) -> None:
    with pytest.raises(ReversiError, match="expected finite numbers"):
        json.dumps(value)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", '{"score": -1e400}', "[" * 100_000, "{"])
def test_what_is_not_json_is_not_read(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        json.loads(text)
    assert json.loads(b'{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}


@pytest.mark.parametrize("path", sorted((ROOT / "scripts" / "commands").glob("*.py")), ids=lambda path: path.name)
def test_every_command_writes_its_json_here(path: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import)]
    assert "json" not in {alias.name for node in imports for alias in node.names}
