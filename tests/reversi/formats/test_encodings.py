"""Compressed files and encodings of text, told by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

from reversi.errors import CorruptFileError
from reversi.formats.encodings import decoded, is_wrapped, uncompressed

TEXT = "f5 d6 \u5143 \u00e9\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_tells_the_encoding(encoding: str) -> None:
    assert decoded(TEXT.encode(encoding)) == TEXT


@pytest.mark.parametrize("mark", ["le", "be"])
@pytest.mark.parametrize("width", [16, 32])
def test_both_orders_of_bytes_are_known(mark: str, width: int) -> None:
    assert decoded(f"\ufeff{TEXT}".encode(f"utf-{width}-{mark}")) == TEXT


def test_what_is_no_text_is_replaced() -> None:
    assert decoded(b"f5\xff") == "f5\ufffd"
    assert decoded(b"\xff\xfea") == "\ufffd"


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_read_up_to_a_limit(compress) -> None:  # type: ignore[no-untyped-def]
    data = compress(TEXT.encode()) + compress(TEXT.encode())
    assert uncompressed(data, 1000, "it") == 2 * TEXT.encode()
    assert len(uncompressed(compress(bytes(100_000)), 10, "it")) == 11
    with pytest.raises(CorruptFileError, match="it: expected a compressed file: "):
        uncompressed(data[:-4], 1000, "it")


def test_only_what_is_wrapped_is_unwrapped() -> None:
    plain = (TEXT.encode(), TEXT.encode("utf-8-sig"), b"", b"B", b"BZ", b"(;GM[2])")
    assert not any(is_wrapped(data[:8]) for data in plain)
    assert all(uncompressed(data, 1000, "it") == data for data in plain)
    wrapped = (gzip.compress(b"x"), bz2.compress(b"x"), lzma.compress(b"x"), TEXT.encode("utf-16"))
    assert all(is_wrapped(data[:8]) for data in wrapped)
