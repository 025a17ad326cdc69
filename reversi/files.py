"""Files: read whole with a limit, replaced atomically, or written where a person asked for them."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from reversi.errors import CorruptFileError


def read_bytes(path: Path, what: str, most: int) -> bytes:
    """Return the content of the regular file at `path`; otherwise CorruptFileError, which names `what` was expected.

    Pipes, which would block, devices, which have no end, and files of more than `most` bytes are not opened.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            got = f"{about.st_size} bytes" if stat.S_ISREG(about.st_mode) else "something else"
            raise CorruptFileError(f"{path}: expected {what}, a file of at most {most} bytes, got {got}")
        with path.open("rb") as file:
            return file.read(about.st_size + 1)  # a larger number would be allocated before the first byte
    except OSError as error:
        raise CorruptFileError(f"{path}: expected {what}, but {error.strerror or error}") from error


def write_atomic(path: Path, data: bytes, *, private: bool = False) -> None:
    """Replace `path` by `data` atomically: temporary file in the same folder, fsync, rename; readable by all, or by its
    owner alone if `private`.

    A link at `path` is replaced and never written through.  An OSError names `path`, not the temporary file.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:32]}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o600 if private else 0o644)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def write_output(path: Path, data: bytes) -> None:
    """Write a file that a person named: atomically, or straight into a device or a pipe; links are followed."""
    try:
        if _is_special(path):
            with path.open("wb") as file:
                file.write(data)
        else:
            write_atomic(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def expect_writable(path: Path) -> None:
    """Raise the OSError that `write_output` would raise now, so that hours of work are not lost at their end."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if _is_special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    folder = Path(os.path.realpath(path)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _is_special(path: Path) -> bool:
    """Return whether `path` exists, through links, and is no regular file."""
    return path.exists() and not path.is_file()
