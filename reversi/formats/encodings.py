"""What files are wrapped in, which their first bytes tell: compression, and the encoding of text."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from typing import Any

from reversi.errors import CorruptFileError

OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""Openers of compressed files by the bytes that they begin with."""

MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Encodings by the bytes that text in them may begin with."""


def decoded(data: bytes, errors: str = "replace") -> str:
    """Return text in the encoding that its byte order mark tells, in UTF-8 without one; `errors` as of `decode`."""
    for mark, encoding in MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors=errors)
    return data.decode(errors=errors)


def is_wrapped(begin: bytes) -> bool:
    """Return whether a file that begins so is compressed, or text in another encoding than UTF-8."""
    marks = [mark for mark in MARKS if mark != codecs.BOM_UTF8]
    return begin.startswith((*OPENERS, *marks))


def uncompressed(data: bytes, most: int, where: str) -> bytes:
    """Return the bytes that `data` compresses, at most `most` and one more, or `data` itself if it does not.

    Raises CorruptFileError, which names the file `where`, if they cannot be read.
    """
    for begin, opened in OPENERS.items():
        if data.startswith(begin):
            try:
                with opened(io.BytesIO(data)) as file:
                    content: bytes = file.read(most + 1)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise CorruptFileError(f"{where}: expected a compressed file: {error}") from error
            return content
    return data
