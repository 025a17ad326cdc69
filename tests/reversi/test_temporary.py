"""Temporary folders are their user's alone, are short enough for sockets, and those of the dead are removed."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from pathlib import Path

import pytest

from reversi import temporary
from reversi.errors import ConfigError
from reversi.temporary import PREFIX, RAY_BYTES, SOCKET_BYTES, PrivateFolder, private_folder, user_folder

OURS = f"reversi-{os.geteuid()}"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; nothing that a test makes is too long for it."""
    monkeypatch.setattr(temporary, "SOCKET_BYTES", 1000)
    monkeypatch.setattr(temporary, "OTHER_PLACES", ())
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def refusal() -> str:
    with pytest.raises(ConfigError) as caught:
        user_folder()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_is_its_users_alone_and_is_removed(place: Path) -> None:
    with private_folder() as folder:
        assert folder.parent == place / OURS
        assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)] == [0o700, 0o700]
        (folder / "file").touch()
    assert list((place / OURS).iterdir()) == []


def test_folders_of_the_dead_are_removed_and_only_those(place: Path) -> None:
    alive = PrivateFolder()
    dead, kept = place / OURS / f"{PREFIX}dead", place / OURS / "kernels"
    for folder in (dead / "session" / "sockets", kept):
        folder.mkdir(parents=True)
    (place / "outside").mkdir()
    (place / OURS / f"{PREFIX}link").symlink_to(place / "outside")
    with private_folder() as folder:
        assert folder.is_dir()
        assert alive.path.is_dir()
        assert kept.is_dir()
        assert not dead.exists()
        assert (place / "outside").is_dir(), "a link is never followed"
    alive.close()
    assert not alive.path.exists()


def test_a_disk_without_locks_keeps_what_may_be_alive(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with private_folder() as first, private_folder():
        assert first.is_dir()
    assert list((place / OURS).iterdir()) == []


def test_what_others_could_enter_or_have_made_is_refused_in_a_line(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = place / OURS
    expected = f"expected {str(ours)!r} to be a folder that only this user can enter, got "
    (place / "else").mkdir(mode=0o700)
    ours.symlink_to(place / "else")
    assert refusal().startswith(f"{expected}a link; remove it")
    ours.unlink()
    ours.touch()
    assert refusal().startswith(f"{expected}something else; ")
    ours.unlink()
    ours.mkdir()
    ours.chmod(0o711)
    assert refusal().startswith(f"{expected}mode 0711; ")
    ours.chmod(0o700)
    assert user_folder() == ours
    theirs = place / f"reversi-{os.geteuid() + 1}"
    theirs.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: ours.stat().st_uid + 1)
    assert f"got one of user {os.getuid()}; " in refusal()


@pytest.mark.parametrize("why", ["too long", "others rename", "current folder", "not there"])
def test_another_place_is_taken_where_the_first_is_too_long_or_not_safe(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = tmp_path / ("long" * 20), tmp_path / "other"
    first.mkdir()
    other.mkdir()
    if why == "others rename":
        first.chmod(0o777)
    if why == "current folder":
        monkeypatch.chdir(first)
    if why == "not there":
        first.rmdir()
    room = len(os.fsencode(other / OURS)) + 10
    monkeypatch.setattr(temporary, "SOCKET_BYTES", room if why == "too long" else 1000)
    monkeypatch.setattr(temporary, "OTHER_PLACES", (str(other),))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(first))
    assert user_folder(10) == other / OURS
    monkeypatch.setattr(temporary, "OTHER_PLACES", ())
    with pytest.raises(ConfigError, match="set TMPDIR to a short path"):
        user_folder(10)


def test_rays_sockets_fit_below_the_usual_place_for_every_user() -> None:
    folder = f"/tmp/reversi-{2**32 - 2}/{PREFIX}12345678"
    assert len(folder) + RAY_BYTES <= SOCKET_BYTES
