"""JSON as its standard has it: without NaN and infinities, which Python's own functions write and read.

What other programs read and what others wrote goes through here; numbers too large for a float are refused too.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from reversi.errors import ReversiError


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Return `value` as JSON; ReversiError, of one line, for a number that is not finite."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError as error:
        raise ReversiError(f"expected finite numbers to write as JSON, got others: {error}") from error


def loads(text: str | bytes) -> Any:
    """Return what a JSON text says; ValueError or RecursionError for anything else."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"expected a finite number, got {word}")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"expected a finite number, got {text:.60}")
    return value
