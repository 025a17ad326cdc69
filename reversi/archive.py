"""Archives: named arrays plus a JSON header in one safetensors buffer with a checksum.

Everything this system writes or sends (weights, game records, checkpoints) is an archive: no pickle, bounded, versioned
by `kind` and `format`, checked before it is believed.  Files are replaced atomically.

Format: https://huggingface.co/docs/safetensors (8-byte header length, JSON, raw little-endian arrays).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.errors import CorruptFileError

Arrays = Mapping[str, NDArray[Any]]
Header = dict[str, Any]

METADATA_KEY = "archive"
"""Where in safetensors' metadata the kind, the format, the checksum and the header stand, as one JSON text."""

MAX_BYTES = 4 << 30
"""Largest archive that is opened, 4 GiB: a bound before anything is allocated."""


def pack(kind: str, format_number: int, arrays: Arrays, header: Mapping[str, Any]) -> bytes:
    """Return the archive's bytes.  `header` must be JSON; `kind` and `format_number` say what reads it back."""
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
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
    try:
        length = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(bytes(data[8 : 8 + length]))["__metadata__"][METADATA_KEY])
        arrays = load(bytes(data))
        found = (about["kind"], about["format"])
        header, checksum = dict(about["header"]), about["sha256"]
    except (SafetensorError, ValueError, KeyError, AttributeError, OverflowError, TypeError, MemoryError) as error:
        raise CorruptFileError(
            f"{where}: expected a {kind} archive, got {len(data)} bytes that cannot be read"
        ) from error
    if found != (kind, format_number):
        raise CorruptFileError(
            f"{where}: expected a {kind} archive of format {format_number}, got {found[0]!r} of {found[1]}"
        )
    if checksum != _digest(arrays, header):
        raise CorruptFileError(f"{where}: the checksum does not match; the {kind} archive was damaged or cut short")
    return arrays, header


def read(path: Path, kind: str, format_number: int) -> tuple[dict[str, NDArray[Any]], Header]:
    """`unpack` the file at `path`; a file that cannot be opened is a CorruptFileError too."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorruptFileError(f"{path}: expected a {kind} archive, but {error.strerror or error}") from error
    return unpack(data, kind, format_number, str(path))


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
