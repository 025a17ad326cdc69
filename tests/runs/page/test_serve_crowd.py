"""Twenty games at once against one server: every game gets its moves, and those that were searched less say so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reversi.games.rules import GAMES
from tests.figures.pages import MOVES, replies
from tests.runs.page.page import served

GAMES_AT_ONCE = 20


@pytest.mark.parametrize("model", ["shipped", "network"])
def test_twenty_games_at_once_get_their_moves(model: str, registry: Path) -> None:
    chosen = ["--registry", registry, "--simulations", 4000] if model == "network" else ["--model", "shipped"]
    with served(*chosen, "--size", 6) as url:
        alone, cut_alone = asyncio.run(replies(url, GAMES["reversi6"], 1))
        seconds, shortened = asyncio.run(replies(url, GAMES["reversi6"], GAMES_AT_ONCE))
    if model == "network":
        assert cut_alone == 0, "alone it takes what it takes"
    else:
        assert shortened > 0, "of twenty moves with a time each has a part of it"
    assert 0 < len(alone) <= MOVES
    assert GAMES_AT_ONCE < len(seconds) <= GAMES_AT_ONCE * MOVES
