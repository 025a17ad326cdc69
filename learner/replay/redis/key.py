"""The key of a run on a Redis server, and the number of its starts: files in the run's folder.

A copy of a folder is another run: it must not train on the games of the first one's actors, nor mark them as taken.  So
the place of the folder that a key belongs to is stored beside it, and compared at every start:

* same inode, and same path or same host: the same folder, which may have been moved on its machine, or be mounted by
  another one at the same path;
* anything else: a copy, which takes a key of its own.

If that is wrong, as for a folder moved to another disk, the run loses what the server has and its last checkpoint has
not; the other way round two runs would mix their games.
"""

from __future__ import annotations

import json
import secrets
import socket
from pathlib import Path
from typing import NamedTuple

from reversi.files import write_atomic

KEY_FILE, PLACE_FILE, STARTS_FILE = "redis-key", "redis-place", "redis-starts"


def run_key(folder: Path) -> str:
    """Return the key of the run in `folder`: its name and a random number, stored in the folder at the first start.

    A run with the name of a deleted one must not find that one's records.
    """
    path = folder / KEY_FILE
    if not path.exists():
        renew_key(folder)
    _write_place(folder)
    return path.read_text(encoding="utf-8").strip()


def renew_key(folder: Path) -> str | None:
    """Store a key that no run has had; return the one before."""
    path = folder / KEY_FILE
    before = path.read_text(encoding="utf-8").strip() if path.exists() else None
    write_atomic(path, f"{folder.name}-{secrets.token_hex(4)}\n".encode())
    return before


def is_copied(folder: Path) -> bool:
    """Return whether the key in `folder` belongs to another folder; False if its place was never stored."""
    if (there := _stored_place(folder)) is None:
        return False
    here = _place(folder)
    return there.inode != here.inode or (there.path != here.path and there.host != here.host)


def count_start(folder: Path) -> int:
    """Return how often the run in `folder` was started before, and store the count with this start.

    It is part of the producers' names: a start that died before its first checkpoint has already used some.
    """
    path = folder / STARTS_FILE
    starts = int(path.read_text(encoding="utf-8")) if path.exists() else 0
    write_atomic(path, f"{starts + 1}\n".encode())
    return starts


class _Place(NamedTuple):
    """The identity of a folder; device numbers are left out, as they may change when a disk is mounted."""

    inode: int
    path: str
    host: str


def _place(folder: Path) -> _Place:
    return _Place(folder.stat().st_ino, str(folder.resolve()), socket.gethostname())


def _stored_place(folder: Path) -> _Place | None:
    path = folder / PLACE_FILE
    return _Place(*json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def _write_place(folder: Path) -> None:
    if _stored_place(folder) != (place := _place(folder)):
        write_atomic(folder / PLACE_FILE, json.dumps(place).encode())
