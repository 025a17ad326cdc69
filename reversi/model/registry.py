"""`Registry`: published models with their verdicts, one of them gated.

    models/000012/model.safetensors   the weights (reversi/model/weights.py)
    models/000012/card.md             the model card
    models/000012/model.json          the metadata, with the weights' SHA-256; written last: without it, no model
    gated.json                        the champion's version, replaced atomically once its model is complete
    registry.json                     marks a registry, so that an empty one differs from one that cannot be reached

A version is immutable, but for the weights of old rejected ones, which can be dropped (`Registry.prune`).  Paths are
built only from version numbers, never from the content of a file.  The URL is a folder or any URL that fsspec supports.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from reversi import archive
from reversi.errors import (
    CorruptFileError,
    IncompatibleModelError,
    NoGatedModelError,
    ReversiError,
    RunError,
    UnreachableError,
    UsageError,
)
from reversi.files import write_atomic
from reversi.model.folder import Folder
from reversi.model.info import ModelInfo, Verdict, describe
from reversi.model.weights import LARGEST_VERSION, Weights
from reversi.runs import registry_with_champion
from reversi.settings import reading, require, value_of
from reversi.urls import masked

TEXT_BYTES = 1 << 20
"""Largest JSON file or card read from a registry, 1 MiB."""

MOST_DIGITS = 10
"""Maximum digits of a model's version."""


MOST_LISTED = 10
"""Most versions that a message lists."""


class Registry:
    """The registry at `url`; with `create`, an empty one is created there if there is none."""

    def __init__(self, url: str | Path, *, create: bool = False) -> None:
        self.url = str(url)
        self._folder = Folder(self.url)
        if create and self._folder.read("registry.json", TEXT_BYTES) is None:
            self._folder.write("registry.json", _json({"kind": "reversi model registry", "format": 1}))

    @property
    def name(self) -> str:
        """The URL with passwords masked, for messages."""
        return masked(self.url)

    def publish(self, weights: Weights, verdict: Verdict, match: Mapping[str, Any] | None) -> ModelInfo:
        """Add a model with its verdict and, unless it was rejected, make it the gated one.

        match  the gate's report with at least `wins`, `draws`, `losses` and `opponent_version`; None for the first
        model

        Publishing the same weights again only completes an interrupted publication; other weights under a version that
        is taken are a RunError.
        """
        published = self._find(weights.version)
        if published is None:
            published = self._add(weights, verdict, match)
        elif not self._holds(published, weights):
            raise RunError(f"{published.path}: version {weights.version} is taken by other weights, and never changes")
        gated = self._gated_version()
        if published.verdict != "rejected" and (gated is None or gated < published.version):
            self._folder.write("gated.json", _json({"version": published.version, "sha256": published.sha256}))
        return published

    def prune(self, rejected: Sequence[int], keep: int) -> None:
        """Drop the weights of all `rejected` versions (ascending) but the last `keep`; card and model.json stay.

        It looks back from the newest one to the first that has no weights any more, so that calling it after every
        verdict costs three requests, and removes them oldest first: what an error leaves is found by the next call.
        """
        weights = [f"{_place(version)}/model.safetensors" for version in rejected[: max(0, len(rejected) - keep)]]
        there = list(takewhile(self._folder.has, reversed(weights)))
        for name in reversed(there):
            self._folder.remove(name)

    def models(self) -> list[ModelInfo]:
        """Return all published models, oldest first; raises for one that cannot be read."""
        models, faults = self.readable()
        if faults:
            raise faults[0]
        return models

    def readable(self) -> tuple[list[ModelInfo], list[ReversiError]]:
        """Return the published models that can be read, oldest first, and why each of the others cannot."""
        names = self._folder.names("models")
        if not names:
            self._expect_registry()
        models, faults = list[ModelInfo](), list[ReversiError]()
        for version in sorted(int(name) for name in names if _is_version(name)):
            try:
                info = self._find(version)
            except (CorruptFileError, IncompatibleModelError) as error:
                faults.append(error)
                continue
            if info is not None:
                models.append(info)
        return models, faults

    def gated(self) -> ModelInfo:
        """Return the champion; NoGatedModelError if there is none."""
        version = self._gated_version()
        if version is None:
            self._expect_registry()
            raise NoGatedModelError(
                f"{self.name}: no model has passed the gate yet; try again once training has published one"
            )
        return self.get(version)

    def latest(self) -> ModelInfo:
        """Return the newest model with any verdict; NoGatedModelError if there is none."""
        models = self.models()
        if not models:
            raise NoGatedModelError(
                f"{self.name}: no model has been published yet; try again once training has published one"
            )
        return models[-1]

    def get(self, version: int) -> ModelInfo:
        """Return one version; UsageError, which says which there are, if it does not exist."""
        info = self._find(version)
        if info is None:
            versions = [str(model.version) for model in self.readable()[0]]
            few = len(versions) <= MOST_LISTED
            there = ", ".join(versions) if few else f"{len(versions)} from {versions[0]} to {versions[-1]}"
            there = there or "none"
            raise UsageError(f"{self.name}: expected the version of a published model ({there}), got {version}")
        return info

    def named(self, name: str) -> ModelInfo:
        """Return the model that `gated`, `latest` or a version number names; UsageError for another name."""
        if not _is_name(name):
            raise UsageError(f"expected gated, latest or a version number, got {name!r}")
        if name.isdecimal():
            return self.get(int(name))
        return self.gated() if name == "gated" else self.latest()

    def load(self, info: ModelInfo) -> Weights:
        """Return a model's weights; CorruptFileError unless the bytes are those that were published."""
        return self._fetch(info)[1]

    def pull(self, version: int | None, destination: Path) -> ModelInfo:
        """Copy a model (the gated one for None) to the folder `destination`; the result's `path` is that folder.

        All files are fetched and checked before the first one is written; each file is replaced atomically.  Raises
        UsageError if `destination` is no folder, or one of a registry, whose versions never change.
        """
        _expect_own_folder(destination)
        info = self.gated() if version is None else self.get(version)
        data, _ = self._fetch(info)
        local = replace(info, path=str(destination))
        files = {"model.safetensors": data, "card.md": local.card().encode(), "model.json": local.to_json().encode()}
        for name, content in files.items():
            try:
                write_atomic(destination / name, content)
            except OSError as error:
                raise RunError(f"cannot write {destination / name}: {error.strerror or error}") from error
        return local

    def _add(self, weights: Weights, verdict: Verdict, match: Mapping[str, Any] | None) -> ModelInfo:
        data, place = weights.to_bytes(), _place(weights.version)
        info = ModelInfo(
            version=weights.version,
            verdict=verdict,
            game=weights.game,
            network=weights.network,
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            path=self._folder.address(place),
            **describe(match),
        )
        self._folder.write(f"{place}/model.safetensors", data)
        self._folder.write(f"{place}/card.md", info.card().encode())
        self._folder.write(f"{place}/model.json", info.to_json().encode())
        return info

    def _holds(self, info: ModelInfo, weights: Weights) -> bool:
        """Return whether a published model has these weights; of dropped ones only the SHA-256 can tell."""
        data = self._folder.read(f"{_place(info.version)}/model.safetensors", 0) if info.verdict == "rejected" else b""
        if data is None:
            return hashlib.sha256(weights.to_bytes()).hexdigest() == info.sha256
        return _same(self.load(info), weights)

    def _find(self, version: int) -> ModelInfo | None:
        place = _place(version)
        text = self._folder.read(f"{place}/model.json", TEXT_BYTES)
        if text is None:
            return None
        info = ModelInfo.from_json(text, self._folder.address(place))
        if info.version != version:
            raise CorruptFileError(f"{info.path}/model.json: expected version {version}, got {info.version}")
        return info

    def _fetch(self, info: ModelInfo) -> tuple[bytes, Weights]:
        """Return a model's bytes and weights, both checked against `info`."""
        where = f"{info.path}/model.safetensors"
        data = self._folder.read(f"{_place(info.version)}/model.safetensors", min(info.size, archive.MAX_BYTES))
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
        return data, weights

    def _gated_version(self) -> int | None:
        text = self._folder.read("gated.json", TEXT_BYTES)
        if text is None:
            return None
        with reading(self._folder.address("gated.json"), "a version"):
            values = json.loads(text)
            require(isinstance(values, dict), "it", "an object", values)
            version: int = value_of(int, values.get("version"), "version")
            require(0 <= version <= LARGEST_VERSION, "version", f"from 0 to {LARGEST_VERSION}", version)
        return version

    def _expect_registry(self) -> None:
        if self._folder.read("registry.json", TEXT_BYTES) is not None:
            return
        if not self._folder.exists():
            why = "but there is no such folder"
        elif self._folder.read("registry/registry.json", TEXT_BYTES) is not None:
            why = f"which is {self.name.rstrip('/')}/registry"
        elif self._folder.read("model.json", TEXT_BYTES) is not None:
            why = "but it is a single model; name it with --model"
        else:
            return  # empty as yet
        raise UnreachableError(f"cannot reach {self.name}: expected a registry of models, {why}")


def open_registry(url: str | Path | None) -> Registry:
    """Return the registry at `url`; None is that of the newest run with a champion in the folder `runs`."""
    return Registry(url if url is not None else registry_with_champion())


def load_model(spec: str | int | Path, registry_url: str | Path | None = None) -> Weights:
    """Return the weights specified by `spec`: `gated`, `latest`, a version number, or the path of a model.

    A path is a model's folder, as created by `reversi pull`, or the file model.safetensors itself; a `Path` is never a
    version.  The default registry is that of the newest run with a champion.
    """
    name = "" if isinstance(spec, Path) else str(spec)
    if _is_name(name):
        registry = open_registry(registry_url)
        return registry.load(registry.named(name))
    path = spec if isinstance(spec, Path) else Path(name)
    try:
        file = path / "model.safetensors" if path.is_dir() else path
        there = file.is_file()
    except OSError:  # not a valid file name
        there = False
    if not there:
        raise UsageError(
            f"expected gated, latest, a version number or a folder with model.safetensors, got {str(spec)!r}"
        )
    return Weights.load(file)


def _expect_own_folder(folder: Path) -> None:
    """Raise UsageError unless `folder` is, or can become, a folder on this disk that belongs to no registry."""
    if os.path.lexists(folder) and not os.path.isdir(folder):  # unlike those of `Path` before Python 3.14, never raises
        raise UsageError(f"expected a folder, got {str(folder)!r}, which is something else")
    real = Path(os.path.realpath(folder))
    for around in (real, *real.parents):
        if any(os.path.isfile(around / name) for name in ("registry.json", "gated.json")):
            raise UsageError(f"expected a folder outside of registries, got {str(folder)!r} in the registry {around}")


def _same(one: Weights, other: Weights) -> bool:
    equal = one.game == other.game and one.network == other.network and one.arrays.keys() == other.arrays.keys()
    return equal and all((one.arrays[name] == other.arrays[name]).all() for name in one.arrays)


def _is_name(spec: str) -> bool:
    """Return whether `spec` names a model of a registry, not a path."""
    return spec in ("gated", "latest") or (spec.isdecimal() and len(spec) <= MOST_DIGITS)


def _is_version(name: str) -> bool:
    """Return whether `name` is the folder name of a version, as `_digits` formats it."""
    return name.isdecimal() and len(name) <= MOST_DIGITS and name == _digits(int(name))


def _digits(version: int) -> str:
    return f"{version:06d}"


def _place(version: int) -> str:
    return f"models/{_digits(version)}"


def _json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2) + "\n").encode()
