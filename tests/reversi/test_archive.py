"""An archive comes back as it was, equal content is equal bytes, and damage is one clear error."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reversi.archive import expect_writable, pack, read, under, unpack, write_atomic, write_output
from reversi.errors import CorruptFileError

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


@pytest.mark.parametrize("data", [b"", b"junk", b"\xff" * 64, b"\x02" + bytes(7) + b"{}", b"\x02" + bytes(7) + b"[]"])
def test_foreign_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match="here: expected a test archive"):
        unpack(data, "test", 1, "here")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match="No such file"):
        read(tmp_path / "none", "test", 1)


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    write_atomic(target, b"old")
    write_atomic(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in target.parent.iterdir()] == ["file"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, b"old")
    with pytest.raises(TypeError):
        write_atomic(target, "text")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_fills_up_keeps_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    write_atomic(tmp_path / "file", b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(tmp_path / "file", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    expect_writable(pipe)
    write_output(pipe, b"through")
    assert os.read(reading, 100) == b"through"
    os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_output_goes_to_where_a_link_leads_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("there", "not-yet"):
        target, link = tmp_path / "elsewhere" / name, tmp_path / f"to-{name}"
        link.symlink_to(target)
        if name == "there":
            target.write_bytes(b"old")
        expect_writable(link)
        write_output(link, b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
    write_atomic(tmp_path / "to-there", b"replaced")
    assert not (tmp_path / "to-there").is_symlink()
    assert (tmp_path / "elsewhere" / "there").read_bytes() == b"new"


@pytest.mark.parametrize("write", [write_atomic, write_output, lambda path, data: expect_writable(path)])
def test_a_write_that_cannot_be_names_the_path_that_was_asked_for(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"kept")
    for path in (tmp_path / "folder", tmp_path / "file" / "below", Path("/proc/x.ggf")):
        with pytest.raises(OSError, match=r"\[Errno") as error:
            write(path, b"new")
        assert error.value.filename == str(path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]
    assert (tmp_path / "file").read_bytes() == b"kept"
