"""A worker, the weights that it fetches and the records that it pushes."""

from __future__ import annotations

import dataclasses
from typing import Any

from actors.config import ActorConfig
from actors.worker import Worker
from reversi.games.rules import game_named
from reversi.model.weights import version_of
from reversi.search.config import SearchConfig
from tests.actors.games import ACTORS
from tests.configs import resnet, search_config

GAME = game_named("reversi4")


def weights(version: int) -> bytes:
    import torch

    from reversi.model.network import DualNetwork, fold

    torch.manual_seed(version)
    return fold(DualNetwork(resnet(blocks=1, channels=8), GAME.size), GAME, version).to_bytes()


class Source:
    """Weights that a test sets."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def fetch(self, channel: str, newer_than: int) -> bytes | None:
        assert channel == "latest"
        if self.data is None or version_of(self.data, "test") <= newer_than:
            return None
        return self.data


class Sink:
    """Records that a test reads."""

    def __init__(self) -> None:
        self.data: list[bytes] = []

    def push(self, data: bytes) -> None:
        self.data.append(data)


SEARCHING = dataclasses.replace(ACTORS, games=8, opening_plies=2, cache_positions=1 << 12)


def worker(
    source: Source, sink: Sink, config: ActorConfig = SEARCHING, search: SearchConfig | None = None, **rest: Any
) -> Worker:
    search = search or search_config(simulations=4)
    return Worker(index=0, game="reversi4", config=config, search=search, seed=5, weights=source, records=sink, **rest)
