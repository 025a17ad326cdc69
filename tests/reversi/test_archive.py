"""An archive comes back as it was, equal content is equal bytes, and damage is one clear error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reversi import archive
from reversi.archive import pack, read, read_header, under, unpack
from reversi.errors import ConfigError, CorruptFileError

ARRAYS = {
    "counts": np.arange(12, dtype=np.int32).reshape(3, 4),
    "empty": np.zeros((0, 5), np.float16),
    "strided": np.arange(10, dtype=np.uint64)[::2],
}
HEADER = {"name": "x", "nested": {"a": [1, 2.5, None]}, "large": 2**100}


def test_arrays_and_header_come_back() -> None:
    arrays, header = unpack(pack("test", 1, ARRAYS, HEADER), "test", 1, "here")
    assert header == HEADER
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)


def test_equal_content_is_equal_bytes() -> None:
    assert len({pack("test", 1, ARRAYS, dict(reversed(HEADER.items()))) for _ in range(20)}) == 1


@pytest.mark.parametrize(
    ("kind", "number", "advice"), [("other", 1, ""), ("test", 2, "; use the version of this program that wrote it")]
)
def test_another_kind_or_format_is_refused(kind: str, number: int, advice: str) -> None:
    says = f"here: expected a {kind} archive of format {number}, got 'test' of 1{advice}$"
    with pytest.raises(CorruptFileError, match=says):
        unpack(pack("test", 1, ARRAYS, HEADER), kind, number, "here")


def test_arrays_under_a_prefix_have_the_rest_of_their_names() -> None:
    assert under("net.", {"net.w": 1, "net": 2, "old.net.w": 3, "net.net.b": 4}) == {"w": 1, "net.b": 4}


def test_every_truncation_and_every_flipped_bit_is_noticed() -> None:
    data = pack("test", 1, ARRAYS, HEADER)
    for length in range(0, len(data), 7):
        with pytest.raises(CorruptFileError):
            unpack(data[:length], "test", 1, "here")
    for position in range(0, 8 * len(data), 13):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        try:
            arrays, header = unpack(bytes(flipped), "test", 1, "here")
        except CorruptFileError:
            continue
        # JSON may be spelled in more than one way (a blank for padding); the content must then be untouched.
        assert header == HEADER
        assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())


def test_a_header_is_read_without_the_arrays() -> None:
    data = pack("test", 1, ARRAYS, HEADER)
    assert read_header(data, "test", 1, "here") == HEADER
    assert read_header(pack("test", 1, {}, HEADER), "test", 1, "here") == HEADER
    for length in range(len(data)):
        with pytest.raises(CorruptFileError, match=r"^here: .*(expected a|the) test archive"):
            read_header(data[:length], "test", 1, "here")
    with pytest.raises(CorruptFileError, match="expected a test archive of format 2, got 'test' of 1"):
        read_header(data, "test", 2, "here")
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    assert read_header(damaged, "test", 1, "here") == HEADER, "the checksum is for those who use the arrays"
    with pytest.raises(CorruptFileError, match="checksum"):
        unpack(damaged, "test", 1, "here")


@pytest.mark.parametrize("data", [b"", b"junk", b"\xff" * 64, b"\x02" + bytes(7) + b"{}", b"\x02" + bytes(7) + b"[]"])
def test_foreign_bytes_are_refused(data: bytes) -> None:
    for reading in (unpack, read_header):
        with pytest.raises(CorruptFileError, match="here: expected a test archive"):
            reading(data, "test", 1, "here")


def test_what_cannot_be_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack("test", 1, ARRAYS, HEADER)
    limits = {"MAX_BYTES": len(data), "MAX_HEADER_BYTES": int.from_bytes(data[:8], "little")}
    for limit, size in limits.items():
        monkeypatch.setattr(archive, limit, size)
        assert unpack(pack("test", 1, ARRAYS, HEADER), "test", 1, "here")[1] == HEADER
        monkeypatch.setattr(archive, limit, size - 1)
        with pytest.raises(ConfigError, match=f"expected a test archive.* of at most {size - 1} bytes, got {size}"):
            pack("test", 1, ARRAYS, HEADER)
        monkeypatch.setattr(archive, limit, size)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match="No such file"):
        read(tmp_path / "none", "test", 1)
