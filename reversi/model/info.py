"""`ModelInfo`: a published model's metadata in the registry, as JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from reversi import json
from reversi.archive import MAX_BYTES
from reversi.errors import IncompatibleModelError
from reversi.games.rules import GAMES
from reversi.model.config import NetworkConfig, network_from_json, network_to_json
from reversi.model.margin_errors import MarginErrors
from reversi.model.training import Promotion, Spent, Training
from reversi.model.weights import LARGEST_VERSION
from reversi.settings import LATER, between, build, reading, require, require_ranges

FORMAT = 1

Verdict = Literal["first", "promoted", "rejected"]
"""`first` is the baseline, published without a match and never a champion; `promoted` won its match and became the
champion; `rejected` is kept, but not gated."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The model that a run began with (`init=`), as the models of that run tell it."""

    model: str
    """As the run's configuration names it."""
    version: Annotated[int, between(0, LARGEST_VERSION)]
    sha256: str
    """SHA-256 of its model.safetensors."""

    def __post_init__(self) -> None:
        require_ranges(self, "begun_from")
        require(self.model.isprintable(), "begun_from.model", "a name", self.model)
        require(re.fullmatch("[0-9a-f]{64}", self.sha256) is not None, "begun_from.sha256", "a SHA-256", self.sha256)

    def __str__(self) -> str:
        return f"version {self.version} ({self.model}), SHA-256 `{self.sha256}`"


@dataclass(frozen=True)
class Owner:
    """The run that publishes in a registry."""

    run: str
    """Its random name, which no other run has."""
    name: str
    """Its name for people."""

    def is_run_of(self, other: Owner | None) -> bool:
        """Return whether `other` is this run, maybe a renamed or copied folder of it."""
        return other is not None and other.run == self.run


Count = Annotated[int, between(0, LARGEST_VERSION)]
Share = Annotated[float, between(0, 1)]


@dataclass(frozen=True, kw_only=True)
class _Match:
    """What a gate says of a match (`evaluator.stats.Score` and its settings), as the field `match` holds it."""

    wins: Count
    draws: Count
    losses: Count
    opponent_version: Count
    games: Count | None = field(default=None, metadata=LATER)
    score: Share | None = field(default=None, metadata=LATER)
    superiority: Share | None = field(default=None, metadata=LATER)
    interval: tuple[float, float] | None = field(default=None, metadata=LATER)
    trinomial_interval: tuple[float, float] | None = field(default=None, metadata=LATER)
    elo: float | None = field(default=None, metadata=LATER)
    champion_elo: float | None = field(default=None, metadata=LATER)
    elo_interval: tuple[float | None, float | None] | None = field(default=None, metadata=LATER)
    trinomial_elo_interval: tuple[float | None, float | None] | None = field(default=None, metadata=LATER)
    black: tuple[int, int, int] | None = field(default=None, metadata=LATER)
    white: tuple[int, int, int] | None = field(default=None, metadata=LATER)
    pairs: tuple[int, int, int, int, int] | None = field(default=None, metadata=LATER)
    simulations: Count | None = field(default=None, metadata=LATER)
    rule: str | None = field(default=None, metadata=LATER)
    wins_needed: Count | None = field(default=None, metadata=LATER)
    games_planned: Count | None = field(default=None, metadata=LATER)
    seconds: float | None = field(default=None, metadata=LATER)
    truth: dict[str, Any] | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        require_ranges(self, "match")
        require(self.rule is None or self.rule.isprintable(), "match.rule", "a name", self.rule)


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """One published model; match results are from its view."""

    version: Annotated[int, between(0, LARGEST_VERSION)]
    """The learner's version number; never used twice."""
    verdict: Verdict
    game: str
    network: NetworkConfig
    wins: Annotated[int, between(0, LARGEST_VERSION)]
    draws: Annotated[int, between(0, LARGEST_VERSION)]
    losses: Annotated[int, between(0, LARGEST_VERSION)]
    score: Annotated[float | None, between(0, 1)]
    """Points per game of its match, draws half; None for a model without a match."""
    opponent_version: Annotated[int | None, between(0, LARGEST_VERSION)]
    """The champion it played; None for a model without a match."""
    match: dict[str, Any] | None
    """The gate's full report of the match (interval, Elo, colours, settings)."""
    sha256: str
    """SHA-256 of model.safetensors."""
    size: Annotated[int, between(0, MAX_BYTES)]
    """Size of model.safetensors in bytes."""
    created: str
    """Time of publication, ISO 8601, UTC."""
    begun_from: Origin | None = field(default=None, metadata=LATER)
    """The model that its run began with; None for a run that began from nothing."""
    training: Training | None = field(default=None, metadata=LATER)
    """The run that trained it; None for a rejected candidate, and where nobody said."""
    spent: Spent | None = field(default=None, metadata=LATER)
    """What that run had spent by its verdict; None where nobody said."""
    history: tuple[Promotion, ...] = field(default=(), metadata=LATER)
    """The promotions up to the champion that it beat, oldest first, at most `MOST_PROMOTIONS`."""
    margin_errors: MarginErrors | None = field(default=None, metadata=LATER)
    """How far its expected margins lie from the truth; None where nobody measured it."""
    path: str
    """The model's folder, a path or a URL; not stored, since it depends on where the model was found."""

    def to_json(self) -> str:
        """Return the text of model.json."""
        values = {key: value for key, value in asdict(self).items() if key != "path"}
        values["network"] = network_to_json(self.network)
        return json.dumps({"format": FORMAT, **values}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: bytes, path: str) -> ModelInfo:
        """Read model.json of the model in `path`; CorruptFileError if it is invalid."""
        where = f"{path}/model.json"
        with reading(where, "the description of a model"):
            values = json.loads(text)
            require(isinstance(values, dict), "it", "an object", values)
            if values.get("format") != FORMAT:
                raise IncompatibleModelError(f"{where}: expected format {FORMAT}, got {values.get('format')!r}")
            known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
            network = network_from_json(values.get("network"), where)
            info = build(cls, {**known, "network": network, "path": path}, "")
            info._check_values()
        return info

    def _check_values(self) -> None:
        """Raise ValueError for impossible values and for text that could contain terminal control codes."""
        require(self.game in GAMES, "game", f"one of {', '.join(GAMES)}", self.game)
        require_ranges(self, "")
        require(re.fullmatch("[0-9a-f]{64}", self.sha256) is not None, "sha256", "a SHA-256", self.sha256[:80])
        require(self.created.isascii() and self.created.isprintable(), "created", "a date", self.created)
        datetime.fromisoformat(self.created)
        if self.match is not None:
            known = {name: self.match[name] for name in _Match.__dataclass_fields__ if name in self.match}
            match, counts = build(_Match, known, "match"), ("wins", "draws", "losses", "opponent_version")
            for name in counts:
                stated, again = getattr(self, name), getattr(match, name)
                require(stated == again, f"match.{name}", f"{name}, {stated}", again)

    @property
    def promotions(self) -> tuple[Promotion, ...]:
        """The promotions before it, and its own."""
        if self.verdict != "promoted" or self.opponent_version is None:
            return self.history
        own = Promotion(
            version=self.version,
            opponent_version=self.opponent_version,
            wins=self.wins,
            draws=self.draws,
            losses=self.losses,
            elo=number(self.match, "elo") or 0.0,
        )
        return (*self.history, own)

    @property
    def summary(self) -> str:
        """The verdict with its match, on one line: `promoted against version 3: 231-12-57, score 0.790`."""
        if self.score is None:
            return "baseline, published without a match"
        counts = f"{self.wins}-{self.draws}-{self.losses}"
        return f"{self.verdict} against version {self.opponent_version}: {counts}, score {self.score:.3f}"


def describe(match: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of ModelInfo that depend on the match; a model without one has no score."""
    if match is None:
        return {"wins": 0, "draws": 0, "losses": 0, "score": None, "opponent_version": None, "match": None}
    wins, draws, losses = (int(match[key]) for key in ("wins", "draws", "losses"))
    score = (wins + draws / 2) / max(wins + draws + losses, 1)
    counts = {"wins": wins, "draws": draws, "losses": losses}
    return {**counts, "score": score, "opponent_version": match["opponent_version"], "match": dict(match)}


def number(values: Any, *keys: str) -> float | None:
    """Return the finite number that `keys` lead to in nested objects, None if there is none."""
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    if isinstance(values, bool) or not isinstance(values, int | float):
        return None
    try:
        return float(values) if math.isfinite(values) else None
    except OverflowError:
        return None
