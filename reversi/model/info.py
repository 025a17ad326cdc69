"""`ModelInfo`: a published model's metadata in the registry, as JSON and as a model card."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from reversi.archive import MAX_BYTES
from reversi.errors import CorruptFileError, IncompatibleModelError
from reversi.games.rules import GAMES
from reversi.model.config import Head, NetworkConfig, network_from_json, network_to_json
from reversi.model.weights import LARGEST_VERSION

FORMAT = 1

Verdict = Literal["first", "promoted", "rejected"]
"""`first` was published without a match; `promoted` became the champion; `rejected` is kept, but not gated."""


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """One published model; match results are from its view."""

    version: int
    """The learner's version number; never used twice."""
    verdict: Verdict
    game: str
    network: NetworkConfig
    wins: int
    draws: int
    losses: int
    score: float | None
    """Points per game of its match, draws half; None for a model without a match."""
    opponent_version: int | None
    """The champion it played; None for a model without a match."""
    match: dict[str, Any] | None
    """The gate's full report of the match (interval, Elo, colours, settings)."""
    sha256: str
    """SHA-256 of model.safetensors."""
    size: int
    """Size of model.safetensors in bytes."""
    created: str
    """Time of publication, ISO 8601, UTC."""
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
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise IncompatibleModelError(f"{where}: expected format {FORMAT}, got {values['format']!r}")
            info = cls(
                network=network_from_json(values["network"], where),
                path=path,
                **{key: _checked(values, key, kinds) for key, kinds in _FIELDS.items()},
            )
            datetime.fromisoformat(info.created)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptFileError(f"{where}: expected the description of a model, but {error!r}") from error
        if info.verdict not in get_args(Verdict) or info.game not in GAMES:
            raise CorruptFileError(f"{where}: verdict {info.verdict!r} or game {info.game!r} is unknown")
        info._check_ranges(where)
        return info

    def _check_ranges(self, where: str) -> None:
        """Raise CorruptFileError for impossible numbers and for text that could contain terminal control codes."""
        counts = {name: getattr(self, name) for name in ("version", "wins", "draws", "losses", "opponent_version")}
        for name, value, most in (
            *((n, v, LARGEST_VERSION) for n, v in counts.items()),
            ("size", self.size, MAX_BYTES),
        ):
            if value is not None and not 0 <= value <= most:
                raise CorruptFileError(f"{where}: expected {name} from 0 to {most}, got {value!r}")
        if self.score is not None and not 0 <= self.score <= 1:
            raise CorruptFileError(f"{where}: expected a score from 0 to 1, got {self.score!r}")
        if not re.fullmatch("[0-9a-f]{64}", self.sha256) or not (self.created.isascii() and self.created.isprintable()):
            raise CorruptFileError(
                f"{where}: expected a SHA-256 and a date, got {self.sha256[:80]!r} and {self.created!r}"
            )

    @property
    def summary(self) -> str:
        """The verdict with its match, on one line: `promoted against version 3: 231-12-57, score 0.790`."""
        if self.score is None:
            return f"{self.verdict}, published without a match"
        counts = f"{self.wins}-{self.draws}-{self.losses}"
        return f"{self.verdict} against version {self.opponent_version}: {counts}, score {self.score:.3f}"

    def card(self) -> str:
        """Return the text of card.md: the model, its match and how to use it; the reader replaces the path MODEL."""
        size = f" --size {GAMES[self.game].size}" if self.game.startswith("reversi") else ""
        player = f"{size} mcts:MODEL:64" if size else " MODEL"
        rows = {
            "game": self.game,
            "network": f"{self.network} ({self.network.kind})",
            "knows": _KNOWS[self.network.head],
            "verdict": self.verdict,
            "match": _match_cell(self),
            "published": self.created,
            "file": f"model.safetensors, {self.size} bytes",
            "SHA-256": f"`{self.sha256}`",
        }
        table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
        return (
            f"# Version {self.version}, {self.game}\n\n| | |\n|---|---|\n{table}\n\n"
            f"Play it, with this folder as `MODEL`:\n\n    reversi play{player}\n\n"
            f"or let it judge positions, one per line:\n\n"
            f"    reversi analyze --model MODEL --simulations 64{size} --json < positions.txt\n"
        )


_KNOWS: dict[Head, str] = {
    "dual": "a policy and the value of a position",
    "policy": "a policy alone",
    "q": "the value of every action",
}


def describe(match: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of ModelInfo that depend on the match; a model without one has no score."""
    if match is None:
        return {"wins": 0, "draws": 0, "losses": 0, "score": None, "opponent_version": None, "match": None}
    wins, draws, losses = (int(match[key]) for key in ("wins", "draws", "losses"))
    score = (wins + draws / 2) / max(wins + draws + losses, 1)
    counts = {"wins": wins, "draws": draws, "losses": losses}
    return {**counts, "score": score, "opponent_version": match["opponent_version"], "match": dict(match)}


_FIELDS: dict[str, tuple[type, ...]] = {
    "version": (int,),
    "verdict": (str,),
    "game": (str,),
    "wins": (int,),
    "draws": (int,),
    "losses": (int,),
    "score": (int, float, type(None)),
    "opponent_version": (int, type(None)),
    "match": (dict, type(None)),
    "sha256": (str,),
    "size": (int,),
    "created": (str,),
}


def _checked(values: Mapping[str, Any], key: str, kinds: tuple[type, ...]) -> Any:
    value = values[key]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"{key} is {value!r}")
    return value


def _match_cell(info: ModelInfo) -> str:
    if info.score is None:
        return "none: it is the first model"
    text = f"{info.wins} wins, {info.draws} draws, {info.losses} losses against version {info.opponent_version}"
    return f"{text}; score {info.score:.3f}"
