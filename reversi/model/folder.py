"""`Folder`: a folder on any file system that fsspec supports, with atomic writes and this project's errors.

On a local disk a file is replaced by rename (`files.write_atomic`, readable by all); object stores write whole
objects.  All that a driver raises is one line, and all that is not local has a deadline and a bound (`outside.py`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from reversi.errors import CorruptFileError, ReversiError, UnreachableError, UnwritableError, UsageError
from reversi.extras import missing_package
from reversi.files import write_atomic
from reversi.model.outside import ANSWER_S, Progress, in_time, links_of, read_stream
from reversi.urls import masked

LISTING_BYTES = 1 << 24
"""Largest page that lists a folder, 16 MiB: a hundred thousand versions."""

T = TypeVar("T")


class Folder:
    """The folder at `url`: a path, or a URL such as s3://bucket/models (whose driver is installed separately)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._is_web = url.lower().startswith(("http://", "https://"))
        try:
            self._files, self._root = in_time(lambda _: url_to_fs(url, use_listings_cache=False, **self._options()))
        except ImportError as error:
            if (absent := missing_package(error)) is not None:
                raise absent from error
            raise UnreachableError(f"{self}: the driver for this kind of URL is not installed: {error}") from error
        except (ValueError, TypeError, AttributeError, LookupError, NotImplementedError) as error:
            raise UsageError(
                f"expected a folder or a URL that fsspec knows, got {str(self)!r}: {_reason(error)}"
            ) from error
        except Exception as error:  # some drivers connect at once
            raise UnreachableError(f"cannot reach {self}: {_reason(error)}") from error
        self.is_local = isinstance(self._files, LocalFileSystem)
        """Whether it is on a disk of this machine."""

    def __str__(self) -> str:
        return masked(self.url)

    def address(self, name: str) -> str:
        """Return the location of `name`: an absolute path, or a URL."""
        return self._path(name) if self.is_local else masked(str(self._files.unstrip_protocol(self._path(name))))

    def exists(self) -> bool:
        """Return whether the folder exists; on the web, whether its page has links."""
        if self._is_web:
            return bool(self.names(""))
        return bool(self._reach(lambda _: self._files.isdir(self._root)))

    def read(self, name: str, most_bytes: int) -> bytes | None:
        """Return the content of the file `name`, None if there is none; at most `most_bytes` + 1 bytes are read."""
        path = self._path(name)
        # one request that is read as a stream, of a file of any size: a server may ignore the ranges of many
        options = {"block_size": 0, "size": 1} if self._is_web else {}

        def content(progress: Progress) -> bytes | None:
            if self.is_local and not stat.S_ISREG(os.stat(path).st_mode):
                raise CorruptFileError(f"{self.address(name)}: expected a file, got something else")
            with self._files.open(path, "rb", **options) as file:
                return read_stream(file, most_bytes + 1, progress)

        return self._reach(content)

    def names(self, name: str) -> list[str]:
        """Return the sorted names of the entries of the folder `name`; [] if there is no such folder."""
        if self._is_web:
            page = self.read(f"{name}/" if name else "", LISTING_BYTES) or b""
            if len(page) > LISTING_BYTES:
                raise UnreachableError(f"cannot reach {self}: expected a listing of at most {LISTING_BYTES} bytes")
            return links_of(page)
        paths: list[str] = self._reach(lambda _: self._files.ls(self._path(name), detail=False)) or []
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in paths)

    def write(self, name: str, data: bytes) -> None:
        """Create or replace the file `name` atomically, and create the folders above it."""
        path = self._path(name)
        try:
            if self.is_local:
                write_atomic(Path(path), data)
            else:
                in_time(lambda _: self._put(path, data), len(data))
        except Exception as error:
            raise UnwritableError(f"cannot write {self.address(name)}: {_reason(error)}") from error

    def has(self, name: str) -> bool:
        """Return whether there is a file `name`."""
        return bool(self._reach(lambda _: self._files.exists(self._path(name))))

    def remove(self, name: str) -> None:
        """Remove the file `name`, which is there."""
        try:
            in_time(lambda _: self._files.rm_file(self._path(name)))
        except Exception as error:
            raise UnwritableError(f"cannot remove {self.address(name)}: {_reason(error)}") from error

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _put(self, path: str, data: bytes) -> None:
        self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        self._files.pipe_file(path, data)

    def _options(self) -> dict[str, Any]:
        """Return what the driver is told: of web servers, that a large file may take longer than five minutes."""
        if not self._is_web:
            return {}
        from aiohttp import ClientTimeout

        return {"client_kwargs": {"timeout": ClientTimeout(total=None, sock_connect=ANSWER_S, sock_read=ANSWER_S)}}

    def _reach(self, ask: Callable[[Progress], T]) -> T | None:
        """Return what `ask` returns, None where there is no such file; every other error is an UnreachableError, since
        every driver has its own exceptions."""
        try:
            return ask(Progress()) if self.is_local else in_time(ask)
        except ReversiError:
            raise
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:
            raise UnreachableError(f"cannot reach {self}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return masked(" ".join(text.split()))
