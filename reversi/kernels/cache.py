"""The folder in which compiled kernels are kept, and when code may be kept there.

To detect stale code numba checks only the kernel's own file, but kernels inline each other and constants across files:
after a change of the rules every caller would keep the old ones, and a kernel called with more columns than it was
compiled for writes out of bounds.  So the folder is named after a hash of all sources with kernels and of all that
these import, and a process whose sources change while it imports them keeps nothing more.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import caching

PACKAGES = ("reversi", "actors", "learner", "evaluator")
"""The packages with kernels and the constants that are compiled into them."""

_HAS_KERNEL = re.compile(rb"^@\w*kernel|^@?intrinsic", re.MULTILINE)
_IMPORT = re.compile(rb"^\s*(?:from|import) ([\w.]+)(?: import (?:\(([^)]*)\)|(.*)))?", re.MULTILINE)

KEPT_FOLDERS = 4
"""Folders of other sources left on disk; about 10 MB each."""

USED_S = 86_400.0
"""Seconds for which a folder counts as in use by others after a process has started with it."""


class Sources:
    """The sources that kernels are compiled from, as they were when this was made."""

    def __init__(self, root: Path) -> None:
        """Read those under `root` that have kernels, and all that these import, also indirectly."""
        files = {_module(path, root): path for package in PACKAGES for path in (root / package).rglob("*.py")}
        stamps = {name: _stamp(path) for name, path in files.items()}
        texts = {name: path.read_bytes() for name, path in files.items()}
        used, found = set[str](), [name for name, text in texts.items() if _HAS_KERNEL.search(text)]
        while found:
            name = found.pop()
            if name not in used:
                used.add(name)
                found += [each for each in _imported(texts[name]) if each in texts]
        compiler = (numba.__version__, llvmlite.__version__, str(numba.config.OPT), numba.config.BOUNDSCHECK)
        digest = hashlib.sha256(repr(compiler).encode())
        for name in sorted(used):
            digest.update(name.encode() + texts[name])
        self.hash = digest.hexdigest()[:16]
        self._stamps = {str(files[name]): stamps[name] for name in used}

    def unchanged(self) -> bool:
        """Return whether the files are those that were read."""
        return all(_stamp(path) == stamp for path, stamp in self._stamps.items())


def _module(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)


def _stamp(path: str | Path) -> tuple[int, int] | None:
    """Return when a file was written and its bytes; None for no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _imported(text: bytes) -> Iterator[str]:
    """Yield every module that a source may import: that of each `from` and `import`, and its parts by name."""
    for module, several, single in _IMPORT.findall(text):
        yield module.decode()
        yield from (f"{module.decode()}.{name}" for name in re.findall(r"\w+", (several or single).decode()))


def cache_folder(name: str) -> Path | None:
    """Return a folder of this name that only this user can write; None if there is nowhere to put one."""
    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    with contextlib.suppress(OSError):
        return _used(Path(root) / "reversi-zero-kernels" / name)
    own = Path(tempfile.gettempdir()) / f"reversi-zero-kernels-{os.getuid()}"
    with contextlib.suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()  # anyone can make it first, and code in it would run as this user
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return _used(own / name)
    return None


def _used(folder: Path) -> Path:
    """Create a folder, or mark it as used now, and remove what was last used long ago; OSError if it is read-only."""
    if folder.is_dir():
        os.utime(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
        return folder
    folder.mkdir(parents=True, exist_ok=True)  # processes that start together make the same one
    with contextlib.suppress(FileNotFoundError):  # another process removes the same old ones
        others = sorted((p.stat().st_mtime, p) for p in folder.parent.iterdir() if p != folder)
        for used_at, other in others[:-KEPT_FOLDERS]:
            if time.time() - used_at > USED_S:
                shutil.rmtree(other, ignore_errors=True)
    return folder


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


caching.IndexDataCacheFile._data_name = _unique_data_name
_sources = Sources(Path(__file__).parents[2])
_folder = cache_folder(_sources.hash)
_cacheable: dict[str, bool] = {}
if _folder is not None:
    numba.config.CACHE_DIR = str(_folder)
    numba.config.CACHE_LOCATOR_CLASSES = "UserProvidedCacheLocator"  # no other has a folder for each state of sources
