"""What is sent with a job to a cluster: a folder with this code, for nodes that lack it, and experiments of one's own.

The files are copied to a folder of their own, of which Ray sends everything.  Ray's own patterns are also asked about
the folder itself: `.*` there, or in its .gitignore, sends an empty package.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pathspec

from reversi.errors import ConfigError
from reversi.temporary import private_folder

NEEDED = ("scripts/cli.py", "conf/train.yaml")
"""Files without which a folder does not have this code."""

CONFIG = "reversi-config"
"""The folder in a package for that of `--config-dir`; a name that Python cannot import."""

MOST_BYTES = 100 << 20
"""Ray's limit on a package."""

IGNORED_BY = (".gitignore", ".rayignore")
"""Files with patterns, in a folder for all below it."""


@contextmanager
def code_package(working_dir: str | None, excludes: Sequence[str], config_dir: Path | None) -> Iterator[Path | None]:
    """Yield a folder with what is to be sent, None for nothing; it is removed afterwards.

    working_dir  folder with this code, None to send none
    excludes     patterns, as in .gitignore, of files and folders below it that are not sent
    config_dir   folder of `--config-dir`, sent as `CONFIG`

    Raises ConfigError for a folder without this code, and for more than Ray takes.
    """
    if working_dir is None and config_dir is None:
        yield None
        return
    with private_folder() as package:
        if working_dir is not None:
            _copy_code(Path(working_dir).expanduser(), excludes, package)
        if config_dir is not None:
            _copy(config_dir, files_to_send(config_dir, ()), package / CONFIG)
        yield package


def files_to_send(folder: Path, excludes: Sequence[str]) -> Iterator[Path]:
    """Yield the files below `folder`, relative to it, but for those that `excludes` or files of `IGNORED_BY` exclude.

    Patterns apply to what is in the folder, never to the folder itself.  Links to folders are not followed.
    """
    rules = {Path(): [pathspec.GitIgnoreSpec.from_lines(excludes)]}
    for place, folders, files in os.walk(folder):
        here = Path(place).relative_to(folder)
        rules.setdefault(here, [])
        rules[here] += [_patterns(Path(place) / name) for name in IGNORED_BY if name in files]
        above = [(top, spec) for top in (here, *here.parents) for spec in rules.get(top, [])]

        def sent(path: Path, end: str, above: list[tuple[Path, pathspec.GitIgnoreSpec]] = above) -> bool:
            return not any(spec.match_file(f"{path.relative_to(top).as_posix()}{end}") for top, spec in above)

        folders[:] = sorted(name for name in folders if sent(here / name, "/"))
        yield from (
            here / name
            for name in sorted(files)
            if name not in IGNORED_BY and sent(here / name, "") and (Path(place) / name).is_file()
        )


def _copy_code(folder: Path, excludes: Sequence[str], package: Path) -> None:
    files = list(files_to_send(folder, excludes))
    if missing := [name for name in NEEDED if Path(name) not in files]:
        why = "is not sent (cluster.excludes, .gitignore)" if (folder / missing[0]).exists() else "is not in it"
        raise ConfigError(
            f"cluster.working_dir must be a folder with this code, got {str(folder)!r}: {missing[0]} {why}"
        )
    sizes = {path: (folder / path).stat().st_size for path in files}
    if (total := sum(sizes.values())) > MOST_BYTES:
        largest = max(files, key=lambda path: sizes[path])
        raise ConfigError(
            f"cluster.working_dir must have at most {MOST_BYTES >> 20} MB to send, got {total >> 20} MB, of which "
            f"{str(largest)!r} has {sizes[largest] >> 20}; exclude what is no code by cluster.excludes"
        )
    _copy(folder, files, package)


def _copy(folder: Path, files: Iterator[Path] | Sequence[Path], target: Path) -> None:
    for path in files:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / path, target / path)


def _patterns(file: Path) -> pathspec.GitIgnoreSpec:
    return pathspec.GitIgnoreSpec.from_lines(file.read_text(encoding="utf-8", errors="replace").splitlines())
