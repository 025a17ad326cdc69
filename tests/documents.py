"""What the documentation contains."""

from __future__ import annotations

import re
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


def metrics_named() -> list[str]:
    """Return every metric of docs/metrics.md."""
    page = Path(__file__).parents[1] / "docs" / "metrics.md"
    return re.findall(r"^\| `([^`]+)` \|", page.read_text(encoding="utf-8"), re.M)
