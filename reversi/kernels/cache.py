"""The folder in which compiled kernels are kept, and when code may be kept there.

To detect stale code numba checks only the kernel's own file, but kernels inline each other and constants across files:
after a change of the rules every caller would keep the old ones, and a kernel called with more columns than it was
compiled for writes out of bounds.  So the folder is named after a hash of all that kernels are made of (`sources.py`),
and a process whose sources change while it imports them keeps nothing more.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from reversi.errors import ConfigError
from reversi.kernels.sources import Sources
from reversi.temporary import user_folder

KEPT_FOLDERS = 4
"""Folders of other sources left on disk; about 10 MB each."""

ROOT = Path(__file__).parents[2]
"""The folder with our code."""

USED_S = 86_400.0
"""Seconds for which a folder counts as in use by others after a process has started with it."""


def cache_folder(sources: Sources) -> Path | None:
    """Return the folder of these sources, which only this user can write; None if there is nowhere to put one."""
    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(root):  # a user without a home would get a folder `~` in the current one
        with contextlib.suppress(OSError):
            return _used(Path(root) / "reversi-zero-kernels", sources)
    with contextlib.suppress(OSError, ConfigError):
        return _used(user_folder() / "kernels", sources)
    return None


def _used(parent: Path, sources: Sources) -> Path:
    """Create the folder, or mark it as used now, and remove what was last used long ago; OSError if it is read-only.

    A file in the folder is named after the key of the sources, so that the next start need not compute their hash.
    """
    marks = list(parent.glob(f"*/{sources.key}"))
    folder = marks[0].parent if marks else parent / sources.hash
    folder.mkdir(parents=True, exist_ok=True)  # processes that start together make the same one
    (folder / sources.key).touch()
    os.utime(folder)
    with contextlib.suppress(FileNotFoundError):  # another process removes the same old ones
        others = sorted((p.stat().st_mtime, p) for p in parent.iterdir() if p != folder)
        for used_at, other in others[:-KEPT_FOLDERS]:
            if time.time() - used_at > USED_S:
                shutil.rmtree(other, ignore_errors=True)
    return folder


class KernelLocator(caching.UserProvidedCacheLocator):  # type: ignore[misc]
    """Where numba keeps a kernel: under its file's place in our code, and not on the disk.

    A copy of the code in another folder, such as the one that is sent to a cluster, takes what is compiled already.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the folder for the kernels of a file, relative to the folder of these sources."""
        path = Path(os.path.abspath(py_file))
        if not path.is_relative_to(ROOT):
            return str(super().get_suitable_cache_subpath(py_file))
        return ".".join(path.relative_to(ROOT).parent.parts)


def _unique_data_name(self: Any, number: int) -> str:
    """Return the name of a file that no other process writes.

    numba gives the signatures of a kernel the numbers 1, 2, ... after reading the index without a lock.  Two processes
    could so give one number to two signatures, and a kernel be loaded for arrays of another layout.
    """
    del number
    return str(self._data_name_pattern.format(number=uuid.uuid4().int))


def may_cache(module: str) -> bool:
    """Return whether kernels of a module may be kept: its sources, and all others, are still those of the folder."""
    if module not in _cacheable:
        _cacheable[module] = _folder is not None and all(_cacheable.values()) and _sources.unchanged()
    return _cacheable[module]


def sources_key() -> str:
    """Return a hash of all sources as they were when this process began."""
    return _sources.key


caching.IndexDataCacheFile._data_name = _unique_data_name
_sources = Sources(ROOT)
_folder = cache_folder(_sources)
_cacheable: dict[str, bool] = {}
if _folder is not None:
    numba.config.CACHE_DIR = str(_folder)
    numba.config.CACHE_LOCATOR_CLASSES = (
        f"{__name__}.{KernelLocator.__name__}"  # no other has a folder for each state of sources
    )
