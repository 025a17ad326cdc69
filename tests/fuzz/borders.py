"""Every border: those of our own files, of games, of other programs and of what people configure.

`tests/fuzz/__main__.py` and `tests/fuzz/test_borders.py` go through this list.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.fuzz import archive_borders, configuration_borders, game_borders, program_borders
from tests.fuzz.border import Border

BORDERS: tuple[Border, ...] = (
    *archive_borders.BORDERS,
    *game_borders.BORDERS,
    *program_borders.BORDERS,
    *configuration_borders.BORDERS,
)
"""Every border, in the order in which they are tried."""


def named(names: Iterable[str]) -> list[Border]:
    """Return the borders of those names, all for none."""
    wanted = set(names)
    assert wanted <= {border.name for border in BORDERS}, f"expected names of borders, got {sorted(wanted)}"
    return [border for border in BORDERS if not wanted or border.name in wanted]
