"""What the documentation contains."""

from __future__ import annotations

import re
from pathlib import Path

FILE = re.compile(r"# file: (\S+)\n")
"""First line of a block that shows a whole file of the reader."""


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in steps(page) if kind == language]


def steps(page: Path) -> list[tuple[str, str]]:
    """Return language and text of every fenced block that is no file, in the order of the page."""
    return [(kind, code) for kind, code in _fenced(page) if not FILE.match(code)]


def files(page: Path) -> dict[str, str]:
    """Return path and text of every file that the page shows whole; later blocks of one path replace earlier ones."""
    named = [(FILE.match(code), code) for _, code in _fenced(page)]
    return {first[1]: code[first.end() :] for first, code in named if first}


def commands(code: str) -> list[str]:
    """Return the lines of a block of commands; a backslash at the end of one goes on in the next."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings in links, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def metrics_named() -> list[str]:
    """Return every metric of docs/metrics.md."""
    page = Path(__file__).parents[1] / "docs" / "metrics.md"
    return re.findall(r"^\| `([^`]+)` \|", page.read_text(encoding="utf-8"), re.M)


def _fenced(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
