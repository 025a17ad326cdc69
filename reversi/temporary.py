"""Temporary folders that only this user can enter: for sockets, and for what a killed process leaves behind.

They are in `TMPDIR/reversi-UID`, or in one of `OTHER_PLACES` where that path is too long for a socket or where others
could rename it.  A process holds a lock on each of its folders, so that the next one can remove those of the dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reversi.errors import ConfigError

SOCKET_BYTES = 107 if sys.platform == "linux" else 103
"""Longest path of a Unix socket."""

RAY_BYTES = len("/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store")
"""What Ray adds to the path of its folder, the longest of all that is put into one."""

OTHER_PLACES = ("/tmp", "/var/tmp", "/dev/shm")

PREFIX = "run-"
"""Begins the names of the folders that are a process' own; the others are kept."""


class PrivateFolder:
    """A new folder of this process; `close`, the deletion of this object and the end of this process all remove it."""

    def __init__(self) -> None:
        """Make it, and remove the folders of processes that are dead; ConfigError if there is no place for one."""
        parent = user_folder(len(f"/{PREFIX}12345678") + RAY_BYTES)
        with _locked(parent):
            _remove_dead(parent)
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            with contextlib.suppress(OSError):  # a disk without locks: nobody there removes any
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._remove = weakref.finalize(self, _remove, self.path, descriptor)

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        self._remove()


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder that only this user can enter; it is removed afterwards."""
    with contextlib.closing(PrivateFolder()) as folder:
        yield folder.path


def user_folder(socket_bytes: int = 0) -> Path:
    """Return the folder of this user, which nobody else can enter or rename.

    socket_bytes  length of the longest path of a socket below it

    ConfigError, in one line, if someone else has made it first, or if there is no place for it.
    """
    for place in _places(socket_bytes):
        folder = place / f"reversi-{os.geteuid()}"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError:  # a file, or a link to nowhere: refused below
            pass
        except OSError:
            continue
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ConfigError(
                f"expected {str(folder)!r} to be a folder that only this user can enter, got {_described(status)}; "
                f"remove it, or set TMPDIR to another place"
            )
        return folder
    raise ConfigError("no place for temporary files: set TMPDIR to a short path that this user alone can write")


def _places(socket_bytes: int) -> Iterator[Path]:
    """Yield the folders for temporary files in which nobody else can rename ours, and that are short enough."""
    given: list[str] = []
    with contextlib.suppress(FileNotFoundError):  # Python's last resort is the current folder: it is the user's
        given = [folder for folder in [tempfile.gettempdir()] if folder != os.getcwd()]
    for real in (Path(os.path.realpath(place)) for place in (*given, *OTHER_PLACES)):
        longest = len(os.fsencode(real / f"reversi-{os.geteuid()}")) + socket_bytes
        if longest <= SOCKET_BYTES or not socket_bytes:
            with contextlib.suppress(OSError):
                modes = [path.stat().st_mode for path in (real, *real.parents)]
                if not any(mode & 0o022 and not mode & stat.S_ISVTX for mode in modes):
                    yield real


def _described(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "a link"
    if not stat.S_ISDIR(status.st_mode):
        return "something else"
    if status.st_uid != os.geteuid():
        return f"one of user {status.st_uid}"
    return f"mode {stat.S_IMODE(status.st_mode):04o}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other process make or remove folders there meanwhile; without effect on a disk without locks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_dead(parent: Path) -> None:
    """Remove the folders on which no process holds a lock."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _remove(folder: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(descriptor)
