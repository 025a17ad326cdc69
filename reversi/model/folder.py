"""`Folder`: a folder on any file system that fsspec supports, with atomic writes and this project's errors.

On a local disk a file is replaced by rename (`files.write_atomic`, readable by all); object stores write whole
objects.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from reversi.errors import CorruptFileError, ReversiError, UnreachableError, UnwritableError, UsageError
from reversi.files import write_atomic
from reversi.urls import masked

CHUNK_BYTES = 1 << 20


class Folder:
    """The folder at `url`: a path, or a URL such as s3://bucket/models (whose driver is installed separately)."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._files, self._root = url_to_fs(url, use_listings_cache=False)
        except ImportError as error:
            raise UnreachableError(f"{self}: the driver for this kind of URL is not installed: {error}") from error
        except ValueError as error:
            raise UsageError(
                f"expected a folder or a URL that fsspec knows, got {str(self)!r}: {masked(str(error))}"
            ) from error
        except OSError as error:  # some drivers connect at once
            raise UnreachableError(f"cannot reach {self}: {_reason(error)}") from error
        self.is_local = isinstance(self._files, LocalFileSystem)
        """Whether it is on a disk of this machine."""

    def __str__(self) -> str:
        return masked(self.url)

    def address(self, name: str) -> str:
        """Return the location of `name`: an absolute path, or a URL."""
        return self._path(name) if self.is_local else masked(str(self._files.unstrip_protocol(self._path(name))))

    def exists(self) -> bool:
        """Return whether the folder exists."""
        with self._reaching():
            return bool(self._files.isdir(self._root))

    def read(self, name: str, most_bytes: int) -> bytes | None:
        """Return the content of the file `name`, None if there is none; at most `most_bytes` + 1 bytes are read."""
        with self._reaching():
            try:
                if self.is_local and not stat.S_ISREG(os.stat(self._path(name)).st_mode):
                    raise CorruptFileError(f"{self.address(name)}: expected a file, got something else")
                with self._files.open(self._path(name), "rb") as file:
                    return _read(file, most_bytes + 1)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def names(self, name: str) -> list[str]:
        """Return the sorted names of the entries of the folder `name`; [] if there is no such folder."""
        with self._reaching():
            try:
                paths = self._files.ls(self._path(name), detail=False)
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in paths)

    def write(self, name: str, data: bytes) -> None:
        """Create or replace the file `name` atomically, and create the folders above it."""
        path = self._path(name)
        try:
            if self.is_local:
                write_atomic(Path(path), data)
            else:
                self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
                self._files.pipe_file(path, data)
        except Exception as error:
            raise UnwritableError(f"cannot write {self.address(name)}: {_reason(error)}") from error

    def has(self, name: str) -> bool:
        """Return whether there is a file `name`."""
        with self._reaching():
            return bool(self._files.exists(self._path(name)))

    def remove(self, name: str) -> None:
        """Remove the file `name`, which is there."""
        try:
            self._files.rm_file(self._path(name))
        except Exception as error:
            raise UnwritableError(f"cannot remove {self.address(name)}: {_reason(error)}") from error

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn the errors of a file system into UnreachableError: every driver has its own exceptions."""
        try:
            yield
        except ReversiError:
            raise
        except Exception as error:
            raise UnreachableError(f"cannot reach {self}: {_reason(error)}") from error


def _read(file: IO[bytes], most_bytes: int) -> bytes:
    """Return the first `most_bytes` of a file; one large read would allocate all of them in advance."""
    parts: list[bytes] = []
    while most_bytes > 0 and (part := file.read(min(most_bytes, CHUNK_BYTES))):
        parts.append(part)
        most_bytes -= len(part)
    return b"".join(parts)


def _reason(error: Exception) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return masked(" ".join(text.split()))
