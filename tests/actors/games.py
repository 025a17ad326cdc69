"""Games of actors that tests play and compare: configurations, players, records."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.config import EpsilonActorConfig, SearchActorConfig
from actors.selfplay import SelfPlay
from reversi.games.bitboard import Masks
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.games.symmetry import action_table, canonical
from reversi.record import Records
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate, Immediate
from reversi.search.signature import HashEvaluator
from tests.configs import search_config

ACTORS = SearchActorConfig(
    kind="search",
    count=1,
    device="cpu",
    threads=1,
    tree_threads=1,
    games=8,
    groups=2,
    cache_positions=0,
    weights="latest",
    backend="auto",
    precision="float32",
    opening_plies=4,
    temperature=1.0,
    temperature_plies=8,
    rescore_empties=0,
    lessons=0,
    lesson_empties=20,
    round_batches=32,
    round_s=2.0,
)
EPSILON = EpsilonActorConfig(
    kind="epsilon",
    count=1,
    threads=1,
    games=8,
    opponent="self",
    side="both",
    random_first=False,
    epsilon=0.0,
    final_epsilon=0.0,
    epsilon_share=1.0,
    weights="latest",
    backend="auto",
    round_games=50,
)
SEARCH = search_config(simulations=8)


class ImageEvaluator:
    """An `Evaluate` by hashes that answers a position's images alike, as a perfectly trained network would."""

    def __init__(self, game: Game) -> None:
        self._game, self._hash, self._table = game, HashEvaluator(game), action_table(game)
        self.asked = 0

    def __call__(self, own: Masks, opp: Masks, /) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.asked += len(own)
        keys = [canonical(self._game.id, mover, other) for mover, other in zip(own, opp, strict=True)]
        mover, other = (np.array([key[side] for key in keys], np.uint64) for side in (0, 1))
        logits, value = self._hash(mover, other)
        turned = np.take_along_axis(logits, self._table[[key[2] for key in keys]], axis=1)
        return turned, value


def selfplay(
    name: str, seed: int = 1, *, search: SearchConfig = SEARCH, evaluate: Evaluate | None = None, **changed: Any
) -> SelfPlay:
    game, config = game_named(name), dataclasses.replace(ACTORS, **changed)
    return SelfPlay(game, config, search, Immediate(evaluate or ImageEvaluator(game)), seed=seed)


def played(player: SelfPlay, batches: int) -> Records:
    records = player.play(batches, 3)
    assert records is not None
    return records


def same(first: Records, second: Records) -> bool:
    return all(
        np.array_equal(getattr(first, field.name), getattr(second, field.name)) for field in dataclasses.fields(Records)
    )


def positions_of(records: Records) -> list[list[Position]]:
    """Every game's positions before its plies."""
    games, actions = [], iter(records.actions.tolist())
    for plies in records.plies:
        games.append([Position.start(records.game)])
        for _ in range(plies):
            games[-1].append(games[-1][-1].play(next(actions)))
        games[-1].pop()
    return games


def sign(score: int) -> int:
    return (score > 0) - (score < 0)
