"""Archives: named arrays plus a JSON header in one safetensors buffer with a checksum.

Everything this system writes or sends (weights, game records, checkpoints) is an archive: no pickle, bounded, versioned
by `kind` and `format`, verified before use.

Format: https://huggingface.co/docs/safetensors (8-byte header length, JSON, raw little-endian arrays).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reversi.errors import ConfigError, CorruptFileError, ReversiError
from reversi.files import read_bytes

Arrays = Mapping[str, NDArray[Any]]
Header = dict[str, Any]
T = TypeVar("T")

METADATA_KEY = "archive"
"""The key of the safetensors metadata that stores kind, format, checksum and header as one JSON text."""

MAX_BYTES = 4 << 30
"""Largest archive, 4 GiB; checked before anything of one is read."""

MAX_HEADER_BYTES = 16 << 20
"""Longest JSON of an archive, 16 MiB; decoded it takes about twenty times as much memory.  The largest one written is
that of a replay with 4,096 producers, at most 7 MB."""

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)
"""Exceptions that reading foreign JSON and arrays can raise."""


def pack(kind: str, format_number: int, arrays: Arrays, header: Mapping[str, Any]) -> bytes:
    """Return the archive's bytes.  `header` must be JSON; `unpack` checks `kind` and `format_number`.

    Raises ConfigError if the archive would be larger than `unpack` accepts.
    """
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    about = {"kind": kind, "format": format_number, "sha256": _digest(contiguous, header), "header": header}
    # One entry: safetensors varies the order of several from call to call, and equal content must give equal bytes.
    data = bytes(save(contiguous, metadata={METADATA_KEY: json.dumps(about, sort_keys=True)}))
    for part, size, most in (("", len(data), MAX_BYTES), (" header", _header_bytes(data), MAX_HEADER_BYTES)):
        if size > most:
            raise ConfigError(f"expected a {kind} archive{part} of at most {most} bytes, got {size}; make it smaller")
    return data


def unpack(data: bytes, kind: str, format_number: int, where: str) -> tuple[dict[str, NDArray[Any]], Header]:
    """Return (arrays, header) of an archive of this `kind`; `where` names its origin in errors.

    Raises CorruptFileError if the bytes are truncated, foreign, of another kind or format, or fail their checksum.
    """
    return _unpacked(data, kind, format_number, where, with_arrays=True)


def read_header(data: bytes, kind: str, format_number: int, where: str) -> Header:
    """Return the header that `unpack` would return, in microseconds: no array is read, no checksum computed.

    Raises CorruptFileError if the bytes are truncated, foreign, or of another kind or format.  A changed byte can go
    unnoticed: whoever uses the arrays unpacks them.
    """
    return _unpacked(data, kind, format_number, where, with_arrays=False)[1]


def read(path: Path, kind: str, format_number: int) -> tuple[dict[str, NDArray[Any]], Header]:
    """`unpack` the file at `path`; a file that cannot be opened is a CorruptFileError too."""
    return unpack(read_bytes(path, f"a {kind} archive", MAX_BYTES), kind, format_number, str(path))


def under(prefix: str, arrays: Mapping[str, T]) -> dict[str, T]:
    """Return the arrays named `prefix...` by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@contextmanager
def believing(what: str) -> Iterator[None]:
    """Turn errors from decoding unexpected contents into a CorruptFileError that names `what`.

    A checksum proves that the bytes are those that were written, not that this version of the program wrote them.
    """
    try:
        yield
    except ReversiError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        reason = " ".join(repr(error).split())[:200]
        raise CorruptFileError(f"{what}: expected what this version of the program writes, but {reason}") from error


def _unpacked(
    data: bytes, kind: str, format_number: int, where: str, *, with_arrays: bool
) -> tuple[dict[str, NDArray[Any]], Header]:
    """Return what `unpack` does; without arrays only the length is checked, not the checksum."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if len(data) > MAX_BYTES:
        raise CorruptFileError(f"{where}: expected at most {MAX_BYTES} bytes, got {len(data)}")
    length = _header_bytes(data)
    if length > MAX_HEADER_BYTES:
        wanted = f"a {kind} archive with a header of at most {MAX_HEADER_BYTES} bytes"
        raise CorruptFileError(f"{where}: expected {wanted}, got one of {length}")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        entries = json.loads(bytes(data[8 : 8 + length]))
        about = json.loads(entries.pop("__metadata__")[METADATA_KEY])
        origin = (about["kind"], about["format"])
        header = dict(about["header"])
        if with_arrays:
            arrays = load(bytes(data))
            intact = about["sha256"] == _digest(arrays, header)
        else:
            ends = [entry["data_offsets"][1] for entry in entries.values()]
            intact = len(data) == 8 + length + max(ends, default=0)
    except (SafetensorError, *_UNREADABLE) as error:
        raise CorruptFileError(
            f"{where}: expected a {kind} archive, got {len(data)} bytes that cannot be read"
        ) from error
    if origin != (kind, format_number):
        advice = "; use the version of this program that wrote it" if origin[0] == kind else ""
        raise CorruptFileError(
            f"{where}: expected a {kind} archive of format {format_number}, got {origin[0]!r} of {origin[1]}{advice}"
        )
    if not intact:
        raise CorruptFileError(f"{where}: the checksum does not match; the {kind} archive was damaged or cut short")
    return arrays, header


def _header_bytes(data: bytes) -> int:
    """Return the length of an archive's JSON."""
    return int.from_bytes(data[:8], "little")


def _digest(arrays: Arrays, header: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
