"""Records as numpy's `.npz`, for other programs: the columns of `reversi.record.Records`, with a policy for every ply.

What is read is as foreign as any file: its arrays go through the same checks as a batch of records.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib.format import read_array
from numpy.typing import NDArray

from reversi import archive
from reversi.errors import CorruptFileError, CorruptRecordError
from reversi.games.rules import RULES_VERSION
from reversi.record import FORMAT, KIND, MAX_BYTES, SEARCHED, Records, decode

MAGIC = b"PK\x03\x04"
"""The beginning of a zip archive, which `.npz` is."""

_FAULTS = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OSError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    NotImplementedError,
)
"""What numpy and zipfile raise for a foreign or damaged file."""


def npz_of(records: Records) -> bytes:
    """Return the bytes of an `.npz` file: `game`, `rules_version` and the columns, G games with P plies in all."""
    columns: dict[str, Any] = {name: getattr(records, name) for name in records.COLUMNS}
    file = io.BytesIO()
    columns |= {"game": np.array(records.game), "rules_version": np.array(RULES_VERSION)}
    np.savez_compressed(file, **columns)
    return file.getvalue()


def is_npz(data: bytes) -> bool:
    """Return whether bytes begin as an `.npz` file does."""
    return data.startswith(MAGIC)


def read_npz(data: bytes, where: str) -> Records:
    """Return the records of `npz_of`; CorruptFileError for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            size = sum(entry.file_size for entry in zipped.infolist())
            if size > MAX_BYTES:
                raise CorruptFileError(f"{where}: expected at most {MAX_BYTES} bytes of arrays, got {size}")
            arrays: dict[str, NDArray[Any]] = {
                name.removesuffix(".npy"): read_array(io.BytesIO(zipped.read(name)), allow_pickle=False)
                for name in zipped.namelist()
            }
        game, rules = str(arrays.pop("game")), int(arrays.pop("rules_version"))
        arrays["policy"] = arrays["policy"][arrays["ply_kind"] == SEARCHED]
        header = {"game": game, "rules_version": rules, "producer": "npz", "sequence": 0}
        records, _, _ = decode(archive.pack(KIND, FORMAT, arrays, header), where)
    except (CorruptFileError, CorruptRecordError):
        raise
    except _FAULTS as error:
        raise CorruptFileError(f"{where}: expected games as `reversi data` writes them: {error}") from error
    return records
