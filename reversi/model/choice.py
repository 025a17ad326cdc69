"""`Choice`: a model that was chosen, its file checked against its description; its copy in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from reversi import archive
from reversi.errors import CorruptFileError, ReversiError, RunError, UsageError, closest, did_you_mean
from reversi.files import read_bytes, write_atomic
from reversi.model.card import card
from reversi.model.folder import Folder
from reversi.model.info import ModelInfo
from reversi.model.margin_errors import MarginErrors
from reversi.model.weights import Weights
from reversi.urls import masked

MOST_DIGITS = 10
"""Maximum digits of a model's version."""

WORDS = ("gated", "latest", "shipped")
"""Names of models beside versions."""

TEXT_BYTES = 1 << 20
"""Largest JSON file or card read from a registry, 1 MiB."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A model that was chosen by a name."""

    name: str
    """What names this very model again: its version, `shipped`, or its path."""
    weights: Weights
    data: bytes = field(repr=False)
    """The model's file."""
    info: ModelInfo | None
    """What the registry, the package or the model.json beside it says about it; None where nothing does."""

    @property
    def margin_errors(self) -> MarginErrors | None:
        """How far its expected margins lie from the truth, None where that is not known."""
        return None if self.info is None else self.info.margin_errors

    @property
    def sha256(self) -> str:
        """The SHA-256 of the model's file."""
        return hashlib.sha256(self.data).hexdigest()

    def pull(self, destination: Path) -> ModelInfo:
        """Write the model to the folder `destination`, which is the result's `path`; each file is replaced atomically.

        Raises UsageError if `destination` is no folder, or one of a registry, whose versions never change, and
        IncompatibleModelError for a model whose answers are not numbers.
        """
        from reversi.model.evaluate import open_evaluator

        assert self.info is not None, "expected a model of a registry or of the package"
        _expect_own_folder(destination)
        open_evaluator(self.weights, batch=1)
        local = replace(self.info, path=str(destination))
        texts = {"card.md": card(local).encode(), "model.json": local.to_json().encode()}
        for name, content in {"model.safetensors": self.data, **texts}.items():
            try:
                write_atomic(destination / name, content)
            except OSError as error:
                raise RunError(f"cannot write {destination / name}: {error.strerror or error}") from error
        return local


def checked(name: str, folder: Folder, place: str, info: ModelInfo) -> Choice:
    """Return the model in `folder`/`place`; CorruptFileError unless it is the one that `info` describes."""
    where = f"{info.path}/model.safetensors"
    data = folder.read(f"{place}/model.safetensors", min(info.size, archive.MAX_BYTES))
    if data is None and info.verdict == "rejected":
        raise UsageError(
            f"{where}: expected a version with weights, got {info.version}, a rejected candidate whose weights "
            f"were dropped (registry.keep_rejected)"
        )
    if data is None or len(data) != info.size:
        got = "no file" if data is None else "more" if len(data) > info.size else f"{len(data)}"
        raise CorruptFileError(f"{where}: expected {info.size} bytes, got {got}")
    digest = hashlib.sha256(data).hexdigest()
    if digest != info.sha256:
        raise CorruptFileError(f"{where}: expected SHA-256 {info.sha256}, got {digest}; refused")
    weights = Weights.from_bytes(data, where)
    if (weights.version, weights.game, weights.network) != (info.version, info.game, info.network):
        raise CorruptFileError(f"{where}: expected version {info.version} for {info.game}, as model.json says")
    return Choice(name=name, weights=weights, data=data, info=info)


def at_path(path: str | Path) -> Choice:
    """Return the model in a folder, a path or a URL, or in the file at `path`; UsageError if there is none."""
    data, where, folder = _read(path)
    info = None if folder is None else _info_of(data, folder)
    return Choice(name=str(path), weights=Weights.from_bytes(data, where), data=data, info=info)


def _info_of(data: bytes, folder: Folder) -> ModelInfo | None:
    """Return what the folder of a model's file says about it, None unless it can be read and is of this very file."""
    with contextlib.suppress(ReversiError):
        if (text := folder.read("model.json", TEXT_BYTES)) is not None:
            info = ModelInfo.from_json(text, str(folder))
            return info if info.sha256 == hashlib.sha256(data).hexdigest() else None
    return None


def _read(path: str | Path) -> tuple[bytes, str, Folder | None]:
    """Return a model's file, where it is, and its folder if that was named."""
    if isinstance(path, str) and "://" in path:
        folder = Folder(path)
        if (data := folder.read("model.safetensors", archive.MAX_BYTES)) is not None:
            return data, folder.address("model.safetensors"), folder
    else:
        with contextlib.suppress(OSError):  # not a valid file name
            is_folder = Path(path).is_dir()
            file = Path(path, "model.safetensors") if is_folder else Path(path)
            if file.is_file():
                data = read_bytes(file, "a model", archive.MAX_BYTES)
                return data, str(file), Folder(str(path)) if is_folder else None
    question = did_you_mean(closest(str(path), WORDS))
    raise UsageError(
        f"expected {', '.join(WORDS)}, a version number or a folder with model.safetensors, got "
        f"{masked(str(path))!r}{question.rstrip(';')}"
    )


def _expect_own_folder(folder: Path) -> None:
    """Raise UsageError unless `folder` is, or can become, a folder on this disk that belongs to no registry."""
    if os.path.lexists(folder) and not os.path.isdir(folder):  # unlike those of `Path` before Python 3.14, never raises
        raise UsageError(f"expected a folder, got {str(folder)!r}, which is something else")
    real = Path(os.path.realpath(folder))
    for around in (real, *real.parents):
        if any(os.path.isfile(around / name) for name in ("registry.json", "gated.json")):
            raise UsageError(f"expected a folder outside of registries, got {str(folder)!r} in the registry {around}")


def is_name(spec: str) -> bool:
    """Return whether `spec` names a model, and is not the path of one."""
    return spec in WORDS or (spec.isdecimal() and len(spec) <= MOST_DIGITS)
