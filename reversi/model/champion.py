"""`ChampionFollower`: the champion of a registry, and the next one once it is there, for a program that runs long."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from reversi.errors import ReversiError
from reversi.games.rules import game_named
from reversi.model.choice import Choice
from reversi.model.info import ModelInfo
from reversi.model.registry import Registry

T = TypeVar("T")

CHECK_S = 2.0
"""Time between two looks at the registry, in seconds; a look reads two small JSON files."""

MOST_S = 60.0
"""Longest such time after failures, each of which doubles it: a look at a model that fails may read its weights."""

log = logging.getLogger(__name__)


class ChampionFollower(Generic[T]):
    """What `use` makes of a registry's champion, and of every other one that replaces it; not thread-safe."""

    def __init__(self, registry: Registry, use: Callable[[Choice], T]) -> None:
        """Load and use the champion; raises what `Registry.gated`, `Registry.chosen` and `use` raise."""
        info = registry.gated()
        choice = registry.chosen(info)
        self.current = use(choice)
        """What was made of the champion in use."""
        self.wait_s = CHECK_S
        """Time until the next look at the registry, in seconds."""
        self._registry, self._use = registry, use
        self._info, self._game, self._failure = info, choice.weights.game, ""

    def newer(self) -> T | None:
        """Look at the registry: return what `use` makes of its champion if it is another one, else None.

        A failure, of `use` too, is logged, the same one once; the champion in use stays, and a later look tries again.
        """
        try:
            info = self._registry.gated()
            is_other = (info.version, info.sha256) != (self._info.version, self._info.sha256)
            made = self._made(info) if is_other else None
        except Exception as error:
            self._fail(error)
            return None
        self.wait_s, self._failure = CHECK_S, ""
        return made

    def _made(self, info: ModelInfo) -> T:
        choice = self._registry.chosen(info)
        choice.weights.check_game(game_named(self._game))
        self.current = self._use(choice)
        self._info = info
        return self.current

    def _fail(self, error: Exception) -> None:
        self.wait_s = min(MOST_S, 2 * self.wait_s)
        if str(error) == self._failure:
            return
        self._failure = str(error)
        bug = not isinstance(error, ReversiError)
        log.warning("model %s stays in use, no newer one can be: %s", self._info.version, error, exc_info=bug)
