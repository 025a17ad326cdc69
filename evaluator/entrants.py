"""Entrants: the players of a ladder, each under a name whose meaning does not change.

In a player's name `gated` and `latest` are replaced by the current version.  A model is also identified by the SHA-256
of its weights and search settings, so that stored results are never taken for those of another model, or of the same
model with other defaults.  An external program is also identified by its limits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reversi.games.rules import Game, game_named
from reversi.players import AlphaBetaModelPlayer, AnyPlayer, SearchPlayer, make_any_player
from reversi.players.engines.engine import EngineLimits
from reversi.players.engines.player import EnginePlayer
from reversi.players.spec import model_of_spec


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """One player of a ladder."""

    name: str
    """Player specification that makes the same player again."""
    digest: str | None
    """SHA-256 of what the name does not say: a model's weights and search, an external program's limits; or None."""
    make: Callable[[int], AnyPlayer]
    """Makes the player with the given seed."""
    reusable: bool
    """Whether one player can play all games: a model's move does not depend on the games before."""


def entrant_of(
    spec: str, game: Game | str, *, registry: str | Path | None, simulations: int, limits: EngineLimits | None = None
) -> Entrant:
    """Return the entrant that `spec` names.

    simulations  for a model given without a number
    limits       for an external program

    Raises what `make_any_player` raises: an invalid player is found here, before the first game.
    """

    def make(seed: int) -> AnyPlayer:
        return make_any_player(spec, game, registry=registry, seed=seed, simulations=simulations, limits=limits)

    player = make(0)
    if close := getattr(player, "close", None):
        close()
    digest = digest_of(player, game, registry, limits)
    if not isinstance(player, SearchPlayer | AlphaBetaModelPlayer):
        return Entrant(name=player.name, digest=digest, make=make, reusable=False)
    return Entrant(
        name=player.name,
        digest=digest,
        make=lambda seed: make_any_player(player.name, game, registry=registry, seed=seed),
        reusable=True,
    )


def digest_of(
    player: AnyPlayer, game: Game | str, registry: str | Path | None, limits: EngineLimits | None
) -> str | None:
    """Return `Entrant.digest` of a player that `make_any_player` made for this game, registry and limits."""
    if isinstance(player, EnginePlayer):
        return _sha256(repr(limits or EngineLimits()).encode())
    model = model_of_spec(player.name)
    if model is None:
        return None
    from reversi.model.lookup import load_model

    settings = repr(player.config) if isinstance(player, SearchPlayer) else ""
    return _sha256(load_model(model, registry, game_named(game)).to_bytes() + settings.encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def distinct(entrants: list[Entrant]) -> list[Entrant]:
    """Return the entrants in order, each once: `mcts:gated:64` may be `mcts:12:64` today."""
    return list({entrant.name: entrant for entrant in entrants}.values())
