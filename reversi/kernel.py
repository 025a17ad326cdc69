"""`@kernel`: the compilation of functions to machine code, and the location of its disk cache.

`@bare_kernel` and `@inlined_kernel` are for small kernels that are called millions of times with many arrays.

numba's `njit` with an on-disk cache, released GIL and C division, wrapped so that strict mypy keeps the signature.
Kernels are module-level functions that take the game as a small integer: a kernel built by a factory that closes over
other kernels misses numba's disk cache in every process (numba documentation, "Notes on Caching").

To detect stale code numba checks only the kernel's own file, but kernels inline each other and constants across files:
after a change of the rules every caller would keep the old ones.  So the cache folder is named after a hash of all
sources with kernels and of all that these import.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

PACKAGES = ("reversi", "actors", "learner", "evaluator")
"""The packages with kernels and the constants that are compiled into them."""

_HAS_KERNEL = re.compile(rb"^@\w*kernel|^@?intrinsic", re.MULTILINE)
_IMPORT = re.compile(rb"^\s*(?:from|import) ([\w.]+)(?: import (?:\(([^)]*)\)|(.*)))?", re.MULTILINE)

KEPT_CACHES = 4
"""Cache folders of other versions left on disk; about 10 MB each."""


def kernel(function: F) -> F:
    """Compile `function` on first call: nopython, cached on disk, GIL released, division as in C."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def bare_kernel(function: F) -> F:
    """Compile like `kernel`, inlined and without array reference counts: for kernels that only use the arrays given.

    Such a kernel cannot allocate an array (numba rejects it) and must not return one, since its caller would count one
    reference too few.  Any kernel may call it.  Reference counting costs two atomic operations per array and call;
    without it the tree went from 2.4 to 3.6 million PUCT simulations/s, and from 0.6 to 2.7 million with Gumbel.
    Inlining gains another 8 %.
    """
    options = {"_nrt": False, "forceinline": True}
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function))


def inlined_kernel(function: F) -> F:
    """Compile like `kernel`, as a part of every caller, bare or not: the way to return arrays."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))


def _sources_hash(root: Path) -> str:
    """Return a hash of the sources under `root` that have kernels and of all that these import, also indirectly."""
    files = [path for package in PACKAGES for path in (root / package).rglob("*.py")]
    texts = {".".join(path.relative_to(root).with_suffix("").parts): path.read_bytes() for path in files}
    used, found = set[str](), [name for name, text in texts.items() if _HAS_KERNEL.search(text)]
    while found:
        name = found.pop()
        if name not in used:
            used.add(name)
            found += [each for each in _imported(texts[name]) if each in texts]
    digest = hashlib.sha256(numba.__version__.encode())
    for name in sorted(used):
        digest.update(name.encode() + texts[name])
    return digest.hexdigest()[:16]


def _imported(text: bytes) -> Iterator[str]:
    """Yield every module that a source may import: that of each `from` and `import`, and its parts by name."""
    for module, several, single in _IMPORT.findall(text):
        yield module.decode()
        yield from (f"{module.decode()}.{name}" for name in re.findall(r"\w+", (several or single).decode()))


def _use_cache_of_these_sources() -> None:
    """Set numba's cache folder to that of these sources; if it cannot be created, numba chooses a folder itself."""
    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(root) / "reversi-zero-kernels" / _sources_hash(Path(__file__).parent.parent)
    if not folder.is_dir():
        try:
            folder.mkdir(parents=True, exist_ok=True)  # processes that start together make the same one
        except OSError:
            return
        with contextlib.suppress(FileNotFoundError):  # another process removes the same old ones
            others = sorted((p for p in folder.parent.iterdir() if p != folder), key=lambda p: p.stat().st_mtime)
            for other in others[:-KEPT_CACHES]:
                shutil.rmtree(other, ignore_errors=True)
    numba.config.CACHE_DIR = str(folder)


_use_cache_of_these_sources()
