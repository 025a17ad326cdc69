"""A run is a folder: what lies in it, who holds it, and how a checkpoint of the whole run is written and found again.

runs/<name>/
    config.yaml  versions.json      what was asked for, and with which packages
    init.safetensors                the weights that it began with, if a model's (`init=`)
    run.id                          a random name, which no other run has
    run.lock                        held by the one process that trains it (inside: its pid, whether it is stopping)
    metrics.jsonl  tensorboard/  wandb/
    checkpoints/000007/             learner, replay, gate and one file per actor; the two newest are kept
    registry/                       the models, unless `registry.url` says otherwise
    rejected/                       records that the replay refused, with the reason in the name
    logs/run.log                    what the driver noted, the newest 8 MB and up to three files of older
    redis/  control.json            the run's own Redis server, if it has one; what `reversi scale` asked for
    redis-*                         the run's key on a Redis server, which folder that belongs to, starts so far
    skipped.txt                     games in files that were left out, and why
    summary.json  learning.svg  report.html
                                    what came out
    ended.json                      how the last session ended
    page.url                        where its page is while it trains, with `tracking.port`
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import secrets
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, Any

from learner.replay.redis.key import KEY_FILE
from reversi.errors import CorruptFileError, NameTakenError, RunError
from reversi.files import write_atomic
from reversi.runs import find_run
from reversi.urls import has_password

if TYPE_CHECKING:
    from reversi.model.info import Owner

KEPT_CHECKPOINTS = 2

MANIFEST = "manifest.json"
"""The file of a checkpoint that holds the SHA-256 of each other file, so that half a file is never taken for one."""

ID = "run.id"
"""The file with the run's random name, by which a registry knows it."""

INIT = "init.safetensors"
"""The file with the weights that a run began with."""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""How file systems say that they have no locks: some over networks, some in user space."""

LOOK_S = 0.3
"""Seconds for which a lock is tried again: `reversi status` and `stop` hold it for the moment in which they look."""

STOPPING = b"stopping\n"
"""The last line of a run's lock once a stop of the run was requested."""


@dataclass
class RunFolder:
    """The folder of one run, locked by this process until `close`."""

    path: Path
    _lock: IO[str]
    resumed: bool
    """Whether it is a run of an earlier session."""
    trained: bool = False
    """Whether anything was trained in this session: its clock started, an actor played with the learner's weights, the
    learner trained or a model was published, whichever came first."""
    saved_all: bool = False
    """Whether a checkpoint holds all that was trained in this session."""

    @classmethod
    def create(cls, directory: str, name: str) -> RunFolder:
        """Create a new run; NameTakenError if another one has the name or is being made under it.

        The folder of a run that ended before it kept anything is emptied and used again.
        """
        path = Path(directory).absolute() / name
        with _explained(path):
            if is_left_over(path):
                try:
                    lock = _locked(path)
                except RunError as error:
                    raise NameTakenError(str(error)) from error
                if is_left_over(path):  # its process, if there was one, has ended without a checkpoint
                    _empty(path)
                    return cls(path, lock, resumed=False)
                lock.close()
            if path.exists():
                raise _taken(directory, name)
            try:
                path.mkdir(parents=True)
            except FileExistsError as error:
                raise (_taken(directory, name) if path.is_dir() else error) from error
            return cls(path, _locked(path), resumed=False)

    @classmethod
    def resume(cls, path: str) -> RunFolder:
        """Open an existing run, given as a folder or as a name in `runs`, which no other process may hold."""
        folder = find_run(path)
        with _explained(folder):
            return cls(folder, _locked(folder), resumed=True)

    @cached_property
    def owner(self) -> Owner:
        """The run as the owner of its registry: its name, and a random one that is kept in the folder."""
        from reversi.model.info import Owner

        path = self.path / ID
        with _explained(self.path):
            if not path.exists():
                write_atomic(path, f"{secrets.token_hex(8)}\n".encode())
            return Owner(run=path.read_text(encoding="ascii", errors="replace").strip(), name=self.path.name)

    @property
    def disposable(self) -> bool:
        """Whether nothing was trained in it and it holds no model, so that nothing is lost with it."""
        return not (self.resumed or self.trained or _has_models(self.path))

    @property
    def start_again(self) -> str:
        """What is left to do with a run that cannot be resumed."""
        return start_again(is_left_over(self.path))

    def close(self) -> None:
        """Release the lock on the run."""
        self._lock.close()

    def note_stop(self) -> None:
        """Note in the lock that the run is stopping, for `is_stopping`; a signal's handler may call this."""
        with contextlib.suppress(OSError, ValueError):  # ValueError: it has been closed
            os.write(self._lock.fileno(), STOPPING)

    def discard(self) -> None:
        """Remove a run that is `disposable`; from the first moment on it is none any more."""
        (self.path / "config.yaml").unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def write_setup(self, config_yaml: str) -> None:
        """Write the resolved configuration and the versions of all packages that affect results.

        A configuration with a webhook, whose address is all that it takes to write there, or with what may be a
        password is for its owner alone.
        """
        private = has_password(config_yaml) or "webhook: http" in config_yaml
        with _explained(self.path):
            write_atomic(self.path / "config.yaml", config_yaml.encode(), private=private)
            write_atomic(self.path / "versions.json", json.dumps(versions(), indent=1).encode())

    def write_init(self, weights: bytes) -> None:
        """Keep the weights that the run begins with: until its first checkpoint, each start begins with them."""
        with _explained(self.path):
            write_atomic(self.path / INIT, weights)

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write `name` as JSON, atomically."""
        with _explained(self.path):
            write_atomic(self.path / name, json.dumps(value, indent=1).encode())

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """Write `name` as text, atomically."""
        with _explained(self.path):
            write_atomic(self.path / name, "".join(f"{line}\n" for line in lines).encode())

    def save_checkpoint(self, number: int, files: Mapping[str, bytes]) -> None:
        """Write all files of checkpoint `number`; it counts only once it is whole.  Older ones are then removed.

        RunError if the disk does not take it; nothing of it stays then.
        """
        target = self.path / "checkpoints" / f"{number:06d}"
        partial = target.with_name(f".{target.name}.partial")
        with _explained(self.path):
            try:
                shutil.rmtree(partial, ignore_errors=True)
                for name, data in files.items():
                    write_atomic(partial / name, data)
                hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
                write_atomic(partial / MANIFEST, json.dumps(hashes, indent=1).encode())
                shutil.rmtree(target, ignore_errors=True)
                os.replace(partial, target)
            except OSError:
                shutil.rmtree(partial, ignore_errors=True)  # what was written of it fills the disk even more
                raise
            for old in self.checkpoints()[:-KEPT_CHECKPOINTS]:
                shutil.rmtree(old, ignore_errors=True)  # what stays of it is removed after the next one

    def checkpoints(self) -> list[Path]:
        """Return the whole checkpoints, oldest first."""
        return checkpoints_in(self.path)

    def newest_checkpoint(self) -> dict[str, bytes]:
        """Return the files of the newest checkpoint that is as it was written, by name.

        One that was cut or changed since is passed over with a line on standard error.  RunError if there is none.
        """
        if not self.checkpoints():
            raise RunError(f"run {self.path.name!r} has no checkpoint to resume from; {self.start_again}")
        with _explained(self.path):
            return newest_whole(self.path)


@dataclass(frozen=True)
class LockHolder:
    """The process that holds a run's lock."""

    pid: int | None
    """Its number; None if it runs on another machine."""


def lock_holder(folder: Path) -> LockHolder | None:
    """Return the process that holds the lock of the run in `folder`; None if none does."""
    import psutil

    path = folder / "run.lock"
    try:
        with open(path, encoding="ascii", errors="replace") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                number = lock.readline().split()[:1]
    except OSError:
        return None
    with contextlib.suppress(ValueError, IndexError, psutil.Error):
        pid = int(number[0])
        if any(file.path == str(path.resolve()) for file in psutil.Process(pid).open_files()):
            return LockHolder(pid)
    return LockHolder(None)


def is_stopping(folder: Path) -> bool:
    """Return whether the run in `folder`, which some process holds, has been asked to stop."""
    with contextlib.suppress(OSError):
        return (folder / "run.lock").read_bytes().endswith(STOPPING)
    return False


def checkpoints_in(folder: Path) -> list[Path]:
    """Return the checkpoints of the run in `folder`, oldest first; what is still being written has another name."""
    return sorted(path for path in (folder / "checkpoints").glob("*") if path.name.isdigit())


def init_of(folder: Path) -> bytes | None:
    """Return the weights that the run in `folder` began with, None if it began from nothing."""
    return (folder / INIT).read_bytes() if (folder / INIT).exists() else None


def _taken(directory: str, name: str) -> NameTakenError:
    again = quote(str(Path(directory) / name))
    return NameTakenError(
        f"run {name!r} exists in {Path(directory).absolute()}; go on with it by resume={again}, "
        f"or choose another run.name"
    )


def _has_models(folder: Path) -> bool:
    return any((folder / "registry" / "models").glob("*"))


def start_again(free: bool) -> str:
    """Say what is left to do with a run that cannot be resumed; `free` is whether another run may take its name."""
    return "start it again" if free else "start it again under a new run.name"


def is_left_over(folder: Path) -> bool:
    """Return whether a run has left `folder` without anything to go on from: no checkpoint, no model, nothing on a
    Redis server."""
    rest = checkpoints_in(folder) or _has_models(folder) or (folder / KEY_FILE).exists()
    return (folder / "run.lock").exists() and not rest


def _empty(folder: Path) -> None:
    """Remove everything in `folder` but the lock, which this process holds."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != "run.lock":
            path.unlink()


def newest_whole(folder: Path, only: str | None = None) -> dict[str, bytes]:
    """Return the files of the newest checkpoint in `folder` that agrees with its manifest.

    only  the name of the only file to read and compare, since others may have gigabytes; the result is empty if the
          checkpoint was written without it
    """
    wrong = "there is none"
    for place in reversed(checkpoints_in(folder)):
        read = (file for file in sorted(place.iterdir()) if only in (None, file.name) or file.name == MANIFEST)
        files = {file.name: file.read_bytes() for file in read}
        damaged = _damaged(files, place, only)
        if damaged is None:
            return {name: data for name, data in files.items() if name != MANIFEST}
        wrong = f"{place}: {damaged} is not as it was written"
        print(f"checkpoint passed over: {wrong}", file=sys.stderr, flush=True)
    raise CorruptFileError(f"no whole checkpoint in {folder}: {wrong}")


def _damaged(files: Mapping[str, bytes], place: Path, only: str | None) -> str | None:
    """Return the name of a file that is not as its checkpoint's manifest says, None if every one is, or just `only`."""
    try:
        hashes = read_json(files, MANIFEST, place)
    except CorruptFileError:
        return MANIFEST
    for name, written in hashes.items():
        if only in (None, name) and hashlib.sha256(files.get(name, b"")).hexdigest() != written:
            return name
    return None


def read_json(files: Mapping[str, bytes], name: str, where: Path) -> dict[str, Any]:
    """Return the JSON object `name` of a checkpoint, or raise CorruptFileError."""
    try:
        value = json.loads(files[name])
    except (KeyError, ValueError, RecursionError) as error:  # the last from brackets without end
        raise CorruptFileError(f"{where}: checkpoint file {name!r} is missing or cannot be read") from error
    if not isinstance(value, dict):
        raise CorruptFileError(f"{where}: checkpoint file {name!r} is not an object")
    return value


def _locked(path: Path) -> IO[str]:
    lock = open(path / "run.lock", "a+", encoding="ascii")  # noqa: SIM115 - held open as long as the run is held
    if not _lock(lock):
        lock.seek(0)
        holder = " ".join(lock.read().split()[:1]) or "unknown"
        lock.close()
        raise RunError(
            f"run {path.name!r} is held by process {holder}; wait for it or stop it: reversi stop {quote(str(path))}"
        )
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _lock(file: IO[str]) -> bool:
    """Lock a file for this process alone; return False if another one holds it for longer than `LOOK_S`."""
    last_try = time.monotonic() + LOOK_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= last_try:
                return False
            time.sleep(LOOK_S / 30)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            raise RunError(
                f"the disk of {Path(file.name).parent} does not lock files ({error.strerror}), so that two processes "
                "could train one run; set run.dir to another disk, or mount it with locks"
            ) from error


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of the file system into a RunError about the run folder."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write the run folder {path}: {error.strerror or error}; free it or set run.dir"
        ) from error


def versions() -> dict[str, str]:
    """Return the versions of all packages that affect results."""
    packages = ("reversi-zero", "numpy", "numba", "torch", "openvino", "ray", "safetensors", "hydra-core", "wandb")
    installed = {"python": platform.python_version(), "machine": platform.machine()}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed
