"""`Registry`: published models with their verdicts, one of them gated.

    models/000012/model.safetensors   the weights (reversi/model/weights.py)
    models/000012/card.md             the model card
    models/000012/model.json          the metadata, with the weights' SHA-256; written last: without it, no model
    owner.json                        the run that publishes here
    gated.json                        the champion's version, and rollbacks (reversi/model/gated.py); written once a
                                      model was promoted and is complete, replaced atomically
    registry.json                     marks a registry, so that an empty one differs from one that cannot be reached

The weights of a version are immutable, but those of old rejected ones can be dropped (`Registry.prune`); a champion's
description gains its results against fixed opponents (`Registry.add_opponents`).  Paths are built only from version
numbers, never from the content of a file.  The URL is a folder or any URL that fsspec supports.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from reversi import json
from reversi.errors import (
    ConfigError,
    CorruptFileError,
    IncompatibleModelError,
    NoGatedModelError,
    ReversiError,
    RunError,
    UnreachableError,
    UsageError,
)
from reversi.model.card import card
from reversi.model.choice import MOST_DIGITS, TEXT_BYTES, Choice, checked, is_name
from reversi.model.folder import Folder
from reversi.model.gated import Gated, Rollback, reason_of
from reversi.model.info import ModelInfo, Origin, Owner, Verdict, describe
from reversi.model.margin_errors import MarginErrors
from reversi.model.training import MOST_PROMOTIONS, Spent, Training
from reversi.model.weights import Weights
from reversi.urls import masked

MOST_LISTED = 10
"""Most versions that a message lists."""

log = logging.getLogger(__name__)


class Registry:
    """The registry at `url`; with `create`, an empty one is created there if there is none.

    begun_from  the model that the run which publishes here began with, for the description of every model
    owner       that run; it may only publish while the registry is its own
    training    how it trains, for the description of the models that it keeps
    """

    def __init__(
        self,
        url: str | Path,
        *,
        create: bool = False,
        begun_from: Origin | None = None,
        owner: Owner | None = None,
        training: Training | None = None,
    ) -> None:
        self._begun_from, self._owner, self._training = begun_from, owner, training
        self.url = str(url)
        self._folder = Folder(self.url)
        if create and self._folder.read("registry.json", TEXT_BYTES) is None:
            self._folder.write("registry.json", _json({"kind": "reversi model registry", "format": 1}))

    @property
    def name(self) -> str:
        """The URL with passwords masked, for messages."""
        return masked(self.url)

    def claim(self, *, may_have_models: bool) -> None:
        """Make this the registry of the owner alone; ConfigError if it has another run's models.

        may_have_models  whether models that nobody has claimed can be the owner's

        Two runs would judge their candidates against each other's champions.  One without models may be taken over.
        """
        assert self._owner is not None
        owner = self._claimed()
        if self._owner.is_run_of(owner):
            return
        if self._folder.names("models") and not (owner is None and may_have_models):
            whose = f"the registry of the run {owner.name!r:.80}" if owner else "a registry with models"
            raise ConfigError(
                f"registry.url={self.name} is {whose}; set it to another place, go on with its run by resume=, or "
                "begin with one of its models by init="
            )
        self._folder.write("owner.json", _json(asdict(self._owner)))

    def _claimed(self) -> Owner | None:
        """Return who claimed the registry, None if nobody did or what is there says nothing."""
        data = self._folder.read("owner.json", TEXT_BYTES)
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            value = json.loads(data or b"null")
            return Owner(run=str(value["run"]), name=str(value["name"]))
        return None

    def publish(
        self,
        weights: Weights,
        verdict: Verdict,
        match: Mapping[str, Any] | None,
        spent: Spent | None = None,
        margin_errors: MarginErrors | None = None,
    ) -> ModelInfo:
        """Add a model with its verdict and, if it was promoted, make it the gated one.

        match          the gate's report with at least `wins`, `draws`, `losses` and `opponent_version`; None for the
                       first model
        spent          what the run has spent
        margin_errors  of the margins that the model expects, if they were measured

        Publishing the same weights again only completes an interrupted publication; other weights under a version that
        is taken are a RunError.
        """
        if self._owner and (owner := self._claimed()) and not self._owner.is_run_of(owner):
            raise RunError(f"{self.name} is now the registry of {owner.name!r:.80}; set registry.url for each run")
        published = self._find(weights.version)
        if published is None:
            about = describe(match) | {"spent": spent, "margin_errors": margin_errors}
            published = self._add(weights, verdict, about)
        elif not self._holds(published, weights):
            raise RunError(f"{published.path}: version {weights.version} is taken by other weights, and never changes")
        if published.verdict == "promoted":
            self._crown(published)
        return published

    def add_opponents(self, version: int, results: Sequence[Mapping[str, Any]]) -> None:
        """Add to the description of a model its results against fixed opponents, which are played after its verdict.

        A first model, which has no match, is left as it is.
        """
        info = self.get(version)
        if info.match is not None:
            self._describe(replace(info, match={**info.match, "opponents": list(results)}))

    def roll_back(self, version: int, reason: str) -> Rollback:
        """Make a version that was promoted the champion again, for a reason; the versions since are withdrawn.

        UsageError for a version that was not promoted, and for the champion itself.  A gate that works on this registry
        goes on with that champion: what it plays against a withdrawn one begins anew.
        """
        reason, champion, info = reason_of(reason), self.gated(), self.get(version)
        if info.verdict != "promoted":
            raise UsageError(f"{self.name}: expected a version that was promoted, got {version}: {info.summary}")
        if version == champion.version:
            raise UsageError(f"{self.name}: expected another version than the champion, got {version}")
        before = self._gated()
        assert before is not None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rollback = Rollback(withdrawn=champion.version, version=version, reason=reason, created=now)
        after = Gated(version=version, sha256=info.sha256, rollbacks=(*before.rollbacks, rollback))
        self._folder.write("gated.json", after.to_json())
        return rollback

    def rollbacks(self) -> tuple[Rollback, ...]:
        """Return all rollbacks, oldest first."""
        gated = self._gated()
        return () if gated is None else gated.rollbacks

    def _crown(self, info: ModelInfo) -> None:
        """Make a promoted model the champion, unless it was before."""
        gated = self._gated_or_none()
        if gated is None or info.version > gated.highest:
            after = Gated(version=info.version, sha256=info.sha256, rollbacks=gated.rollbacks if gated else ())
            self._folder.write("gated.json", after.to_json())

    @property
    def address(self) -> str:
        """The absolute path, or the URL with passwords masked."""
        return os.path.realpath(self._folder.address("")) if self._folder.is_local else self._folder.address("")

    @property
    def owner(self) -> Owner | None:
        """The run that publishes here, None for a place that models are pushed to."""
        return self._claimed()

    def champion(self) -> ModelInfo | None:
        """Return the champion, None where there is none or no registry yet."""
        with contextlib.suppress(NoGatedModelError):
            return None if self._gated() is None else self.gated()
        return None

    def add_copy(self, choice: Choice) -> ModelInfo:
        """Add a model of another registry as it is there; RunError if its version is taken by other weights."""
        info = choice.info
        assert info is not None, "it comes from a registry"
        if (found := self._find(info.version)) is not None:
            if found.sha256 != info.sha256:
                raise RunError(f"{found.path}: version {info.version} is taken by other weights, and never changes")
            return found
        copy = replace(info, path=self._folder.address(_place(info.version)))
        self._write(copy, choice.data)
        return copy

    def follow(self, champion: ModelInfo, rollbacks: Sequence[Rollback]) -> None:
        """Make a model that is here the champion, as it is in another registry with these rollbacks."""
        own = self.rollbacks()
        both = sorted({*own, *rollbacks}, key=lambda each: each.created)
        after = Gated(version=champion.version, sha256=champion.sha256, rollbacks=tuple(both))
        self._folder.write("gated.json", after.to_json())

    def write_page(self, name: str, data: bytes) -> None:
        """Write a file beside the models, for people who look at the place."""
        self._folder.write(name, data)

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
        """Return the champion, which has won a match; NoGatedModelError if there is none."""
        gated = self._gated()
        if gated is None:
            self._expect_registry()
        else:
            champion = self._find(gated.version)
            if champion is None or champion.verdict == "rejected":
                got = f"{gated.version}, " + ("which was rejected" if champion else "of which there is no model")
                raise CorruptFileError(
                    f"{self._folder.address('gated.json')}: expected the version of a champion, got {got}; going on "
                    f"with the run repairs it"
                )
            if champion.verdict == "promoted":  # registries of the first runs name their first model
                return champion
        raise NoGatedModelError(f"{self.name}: no model has passed the gate yet; try again later, or name a version")

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
        if not is_name(name) or name == "shipped":
            raise UsageError(f"expected gated, latest or a version number, got {name!r}")
        if name.isdecimal():
            return self.get(int(name))
        return self.gated() if name == "gated" else self.latest()

    def load(self, info: ModelInfo) -> Weights:
        """Return a model's weights; CorruptFileError unless the bytes are those that were published."""
        return self.chosen(info).weights

    def chosen(self, info: ModelInfo) -> Choice:
        """Return a model whole; CorruptFileError unless its bytes are those that were published."""
        return checked(str(info.version), self._folder, _place(info.version), info)

    def file_of(self, version: int) -> bytes:
        """Return the file of a version, checked as `chosen` does."""
        return self.chosen(self.get(version)).data

    def pull(self, version: int | None, destination: Path) -> ModelInfo:
        """Copy a model (the gated one for None) to the folder `destination`, as `Choice.pull` does."""
        return self.chosen(self.gated() if version is None else self.get(version)).pull(destination)

    def _add(self, weights: Weights, verdict: Verdict, about: Mapping[str, Any]) -> ModelInfo:
        """Add a model; `about` holds the fields of its description that the gate knows."""
        data, place = weights.to_bytes(), _place(weights.version)
        opponent = about["opponent_version"]
        beaten = self._find(opponent) if opponent is not None and verdict == "promoted" else None
        info = ModelInfo(
            version=weights.version,
            verdict=verdict,
            game=weights.game,
            network=weights.network,
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            begun_from=self._begun_from,
            training=None if verdict == "rejected" else self._training,
            history=() if beaten is None else beaten.promotions[-MOST_PROMOTIONS:],
            path=self._folder.address(place),
            **about,
        )
        self._write(info, data)
        return info

    def _write(self, info: ModelInfo, data: bytes) -> None:
        """Write a model's files; it exists once the last one does."""
        place = _place(info.version)
        self._folder.write(f"{place}/model.safetensors", data)
        self._describe(info)

    def _describe(self, info: ModelInfo) -> None:
        """Write the model's card and, last, its description."""
        place = _place(info.version)
        self._folder.write(f"{place}/card.md", card(info).encode())
        self._folder.write(f"{place}/model.json", info.to_json().encode())

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

    def _gated_or_none(self) -> Gated | None:
        """Return what names the champion, None if nothing does or it is wrong, as a line of the log then says."""
        gated = None
        try:
            gated = self._gated()
            with contextlib.suppress(NoGatedModelError):
                self.gated()
        except (CorruptFileError, IncompatibleModelError) as error:
            log.warning("the champion is named anew: %s", error)
            return None
        return gated

    def _gated(self) -> Gated | None:
        text = self._folder.read("gated.json", TEXT_BYTES)
        return None if text is None else Gated.from_json(text, self._folder.address("gated.json"))

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


def _same(one: Weights, other: Weights) -> bool:
    equal = one.game == other.game and one.network == other.network and one.arrays.keys() == other.arrays.keys()
    return equal and all((one.arrays[name] == other.arrays[name]).all() for name in one.arrays)


def _is_version(name: str) -> bool:
    """Return whether `name` is the folder name of a version, as `_digits` formats it."""
    return name.isdecimal() and len(name) <= MOST_DIGITS and name == _digits(int(name))


def _digits(version: int) -> str:
    return f"{version:06d}"


def _place(version: int) -> str:
    return f"models/{_digits(version)}"


def _json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2) + "\n").encode()
