"""Archives: named arrays plus a JSON header in one safetensors buffer with a checksum.

Everything this system writes or sends (weights, game records, checkpoints) is an archive: no pickle, bounded, versioned
by `kind` and `format`, checked before it is believed.  Files are replaced atomically.

Format: https://huggingface.co/docs/safetensors (8-byte header length, JSON, raw little-endian arrays).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.errors import CorruptFileError, ReversiError

Arrays = Mapping[str, NDArray[Any]]
Header = dict[str, Any]

METADATA_KEY = "archive"
"""Where in safetensors' metadata the kind, the format, the checksum and the header stand, as one JSON text."""

MAX_BYTES = 4 << 30
"""Largest archive that is opened, 4 GiB: a bound before anything is allocated."""

MAX_HEADER_BYTES = 16 << 20
"""Longest JSON of an archive, 16 MiB: read, it takes some twenty times as much.  The largest that is written is that
of a replay which has heard of 4,096 producers, 7 MB at most."""

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)
"""What JSON and arrays that are none of ours can raise while they are read."""


def pack(kind: str, format_number: int, arrays: Arrays, header: Mapping[str, Any]) -> bytes:
    """Return the archive's bytes.  `header` must be JSON; `kind` and `format_number` say what reads it back."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    about = {"kind": kind, "format": format_number, "sha256": _digest(contiguous, header), "header": header}
    # One entry: of several, safetensors changes the order from call to call, and equal content must be equal bytes.
    return bytes(save(contiguous, metadata={METADATA_KEY: json.dumps(about, sort_keys=True)}))


def unpack(data: bytes, kind: str, format_number: int, where: str) -> tuple[dict[str, NDArray[Any]], Header]:
    """Return (arrays, header) of an archive of this `kind`; `where` names its origin in errors.

    Raises CorruptFileError if the bytes are truncated, foreign, of another kind or format, or fail their checksum.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if len(data) > MAX_BYTES:
        raise CorruptFileError(f"{where}: expected at most {MAX_BYTES} bytes, got {len(data)}")
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        wanted = f"a {kind} archive with a header of at most {MAX_HEADER_BYTES} bytes"
        raise CorruptFileError(f"{where}: expected {wanted}, got one of {length}")
    try:
        about = json.loads(json.loads(bytes(data[8 : 8 + length]))["__metadata__"][METADATA_KEY])
        arrays = load(bytes(data))
        found = (about["kind"], about["format"])
        header = dict(about["header"])
        intact = about["sha256"] == _digest(arrays, header)
    except (SafetensorError, *_UNREADABLE) as error:
        raise CorruptFileError(
            f"{where}: expected a {kind} archive, got {len(data)} bytes that cannot be read"
        ) from error
    if found != (kind, format_number):
        raise CorruptFileError(
            f"{where}: expected a {kind} archive of format {format_number}, got {found[0]!r} of {found[1]}"
        )
    if not intact:
        raise CorruptFileError(f"{where}: the checksum does not match; the {kind} archive was damaged or cut short")
    return arrays, header


def read(path: Path, kind: str, format_number: int) -> tuple[dict[str, NDArray[Any]], Header]:
    """`unpack` the file at `path`; a file that cannot be opened is a CorruptFileError too."""
    return unpack(read_bytes(path, f"a {kind} archive"), kind, format_number, str(path))


def read_bytes(path: Path, what: str) -> bytes:
    """Return what the regular file at `path` holds; CorruptFileError, naming `what` was expected, for no such file.

    A pipe would be waited for, a device has no end: neither is opened, nor a file that is too large to be an archive.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
            got = f"{about.st_size} bytes" if stat.S_ISREG(about.st_mode) else "something else"
            raise CorruptFileError(f"{path}: expected {what}, a file of at most {MAX_BYTES} bytes, got {got}")
        with path.open("rb") as file:
            return file.read(about.st_size + 1)  # a larger number would be allocated before the first byte
    except OSError as error:
        raise CorruptFileError(f"{path}: expected {what}, but {error.strerror or error}") from error


@contextmanager
def believing(what: str) -> Iterator[None]:
    """Within, contents of another shape than expected are a CorruptFileError about `what`.

    A checksum says that the bytes are those that were written, not that this version of the program wrote them.
    """
    try:
        yield
    except ReversiError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        found = " ".join(repr(error).split())[:200]
        raise CorruptFileError(f"{what}: expected what this version of the program writes, but {found}") from error


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: temporary file in the same folder, fsync, rename; readable by all, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _digest(arrays: Arrays, header: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
