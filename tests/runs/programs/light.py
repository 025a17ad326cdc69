"""`python -m tests.runs.programs.light ARGUMENTS`: `reversi ARGUMENTS`, or `python ARGUMENTS` if they begin with -c,
where no optional package can be found, as after `pip install reversi-zero`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from reversi.extras import EXTRAS


class LightFinder(PathFinder):
    """Finds what is installed, without the optional packages."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is, None for one of an optional package."""
        return None if fullname.partition(".")[0] in EXTRAS else super().find_spec(fullname, path, target)


if __name__ == "__main__":
    sys.meta_path = [LightFinder if finder is PathFinder else finder for finder in sys.meta_path]
    if sys.argv[1] == "-c":
        exec(sys.argv[2])
    else:
        from scripts.cli import main

        sys.exit(main())
