"""A file is replaced whole or not at all, output goes where it was asked for, and an error names that path."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from reversi.files import expect_writable, write_atomic, write_output


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


def test_the_longest_name_that_a_file_can_have_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomic(path, b"whole")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [(path.name, b"whole")]


def test_a_device_that_is_full_is_named() -> None:
    with pytest.raises(OSError, match="No space left") as error:
        write_output(Path("/dev/full"), b"something")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, "/dev/full")
