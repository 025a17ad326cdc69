"""The cache of machine code: its folder is that of the sources, and stale or mixed-up code is never used."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

import actors.config
import reversi.kernels.kernel
from reversi import temporary
from reversi.kernels import cache
from reversi.kernels.cache import KEPT_FOLDERS, USED_S, cache_folder, may_cache
from reversi.kernels.sources import Sources


class Named(Sources):
    """Sources with a given hash and key."""

    def __init__(self, name: str, key: str = "key") -> None:
        self.hash, self.key = name, key


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "actors").mkdir()
    (tmp_path / "actors" / "config.py").write_text("LEAST_EMPTIES = 6\n")
    return tmp_path


def test_numba_uses_the_folder_of_these_sources() -> None:
    root = Path(reversi.kernels.kernel.__file__).parents[2]
    assert Path(numba.config.CACHE_DIR).name == Sources(root).hash


def test_the_same_texts_have_their_folder_without_another_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = cache_folder(Named("abc", key="text"))
    assert cache_folder(Named("not looked at", key="text")) == folder
    assert cache_folder(Named("abc", key="text with another docstring")) == folder
    assert cache_folder(Named("def", key="text with another constant")) != folder


def test_processes_that_start_together_share_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def mkdir_second(path: Path, *mode: int, **how: bool) -> None:
        os.makedirs(path, exist_ok=True)  # by another process, a moment before
        made(path, *mode, **how)

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Path, "mkdir", mkdir_second)
    assert cache_folder(Named("abc")) == tmp_path / "reversi-zero-kernels" / "abc"


def test_nothing_is_kept_once_a_source_has_changed(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_sources", Sources(sources))
    monkeypatch.setattr(cache, "_cacheable", {})
    file = sources / "actors" / "config.py"
    stamp = file.stat()
    assert actors.config.__name__ in sys.modules  # other files could not have been compiled from
    assert may_cache("one")
    file.write_text("LEAST_EMPTIES = 77\n")
    assert may_cache("one")
    assert not may_cache("two")
    file.write_text("LEAST_EMPTIES = 6\n")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert not may_cache("three")  # it may use what was imported meanwhile


def test_processes_that_compile_a_kernel_at_once_do_not_mix_its_signatures(tmp_path: Path) -> None:
    ours, theirs = (caching.IndexDataCacheFile(str(tmp_path), "kernel", 1) for _ in range(2))
    theirs._load_index = dict  # it has read the index before we wrote it
    save_data = ours._save_data

    def after_them(name: str, data: str) -> None:
        theirs.save("B", "code of B")
        save_data(name, data)

    ours._save_data = after_them
    ours.save("A", "code of A")
    read = caching.IndexDataCacheFile(str(tmp_path), "kernel", 1)
    assert read.load("A") in (None, "code of A")
    assert read.load("B") in (None, "code of B")


def folder_of(root: Path, name: str, age_s: float) -> Path:
    folder = root / "reversi-zero-kernels" / name
    folder.mkdir(parents=True)
    (folder / "code").touch()
    os.utime(folder, times=(folder.stat().st_atime - age_s, folder.stat().st_mtime - age_s))
    return folder


def test_folders_that_others_use_are_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old = [folder_of(tmp_path, f"old{n}", USED_S * (2 + n)) for n in range(3)]
    new = [folder_of(tmp_path, f"new{n}", n) for n in range(KEPT_FOLDERS)]
    again = folder_of(tmp_path, "again", USED_S * 9)
    assert cache_folder(Named("again")) == again  # a process starts with it
    cache_folder(Named("next"))
    assert again.is_dir()
    assert all(folder.is_dir() for folder in new)
    assert not any(folder.is_dir() for folder in old)


@pytest.fixture
def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the usual folder impossible; return the folder that stands in for /tmp."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def test_without_a_home_the_folder_is_in_tmp_and_nobody_else_can_write_it(unwritable: Path) -> None:
    folder = cache_folder(Named("abc"))
    assert folder is not None
    assert folder.parent == unwritable / f"reversi-{os.geteuid()}" / "kernels"
    assert folder.parents[1].stat().st_mode & 0o777 == 0o700
    assert cache_folder(Named("abc")) == folder


def test_a_folder_in_tmp_that_others_can_write_is_not_used(unwritable: Path) -> None:
    (unwritable / f"reversi-{os.geteuid()}").mkdir()
    (unwritable / f"reversi-{os.geteuid()}").chmod(0o777)
    assert cache_folder(Named("abc")) is None


def test_a_copy_of_the_code_elsewhere_takes_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As code that is sent to a cluster, of which every change comes in another folder."""
    places = []
    for root in (cache.ROOT, tmp_path):
        monkeypatch.setattr(cache, "ROOT", root)
        places.append(cache.KernelLocator.get_suitable_cache_subpath(str(root / "reversi" / "games" / "rules.py")))
    assert places == ["reversi.games"] * 2
    assert cache.KernelLocator.get_suitable_cache_subpath("/a/rules.py") != "reversi.games"
    assert numba.config.CACHE_LOCATOR_CLASSES == "reversi.kernels.cache.KernelLocator"


@pytest.mark.parametrize("folder", [None, "a file"])
def test_kernels_work_without_a_folder(folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if folder is None:
        monkeypatch.setattr(cache, "_folder", None)
        monkeypatch.setattr(cache, "_cacheable", {})
    else:
        (tmp_path / folder).touch()
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / folder))

    def double(numbers: Any) -> Any:
        return 2 * numbers

    assert reversi.kernels.kernel.kernel(double)(np.arange(3)).tolist() == [0, 2, 4]
    assert list(tmp_path.rglob("*.nbi")) == []


@pytest.mark.parametrize("home", [None, "~", "relative"])
def test_a_user_without_a_home_gets_no_folder_in_the_current_one(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `docker run --user 12345`: no HOME, and no line in /etc/passwd."""
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path.replace("~", home or "~"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = cache_folder(Named("abc"))
    assert folder == tmp_path / "tmp" / f"reversi-{os.geteuid()}" / "kernels" / "abc"
    assert list((tmp_path / "here").iterdir()) == []


def test_without_any_folder_to_write_to_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `docker run --read-only` and no volume."""

    def gettempdir() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "gettempdir", gettempdir)
    monkeypatch.setattr(temporary, "OTHER_PLACES", ())
    assert cache_folder(Named("abc")) is None
