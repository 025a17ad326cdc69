"""Entrants: who takes part in a ladder, each under a name that will mean the same tomorrow.

A player's name has the version that `gated` or `latest` is today, and a model is known by the SHA-256 of its
weights and of how they are searched, so that kept results are never taken for those of another model, or for those of
the same one under other defaults.  Another program is known by the patience that it got.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from reversi.engines.engine import EngineLimits
from reversi.engines.player import EnginePlayer
from reversi.games.rules import Game
from reversi.players import Player, SearchPlayer, make_player


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """One player of a ladder."""

    name: str
    """What it is, as it can be asked for again."""
    digest: str | None
    """SHA-256 of what it is besides its name: a model's weights and search, another program's limits; or None."""
    make: Callable[[int], Player]
    """Makes the player with this seed."""
    reusable: bool
    """Whether one player serves for all games: a searched model is deterministic and stateless."""


def entrant_of(
    spec: str, game: Game, *, registry: str | None, simulations: int, limits: EngineLimits | None = None
) -> Entrant:
    """Return the entrant that `spec` names.

    simulations  for a model that is named alone
    limits       for another program

    Raises what `make_player` raises: a wrong player is found here, before the first game.
    """

    def make(seed: int) -> Player:
        return make_player(spec, game, registry=registry, seed=seed, simulations=simulations, limits=limits)

    player = make(0)
    if close := getattr(player, "close", None):
        close()
    if not isinstance(player, SearchPlayer):
        patience = _sha256(repr(limits or EngineLimits()).encode()) if isinstance(player, EnginePlayer) else None
        return Entrant(name=player.name, digest=patience, make=make, reusable=False)
    from reversi.model.registry import load_model

    kind, _, rest = player.name.partition(":")
    weights = load_model(rest.rpartition(":")[0] if kind == "mcts" else rest, registry)
    return Entrant(
        name=player.name,
        digest=_sha256(weights.to_bytes() + repr(player.config).encode()),
        make=lambda seed: make_player(player.name, game, registry=registry, seed=seed),
        reusable=True,
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def distinct(entrants: list[Entrant]) -> list[Entrant]:
    """Return the entrants in their order, each once: `mcts:gated:64` may be `mcts:12:64` today."""
    return list({entrant.name: entrant for entrant in entrants}.values())
