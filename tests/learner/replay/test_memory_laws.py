"""The replay in memory obeys the laws of every replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from learner.replay.config import ReplayConfig
from learner.replay.memory import MemoryReplay
from learner.replay.samples import POSITIONS
from tests.learner.replay.laws import *  # noqa: F403
from tests.learner.replay.laws import CONFIG, GAME, Opened


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    def opened(config: ReplayConfig = CONFIG, seed: int = 7) -> MemoryReplay:
        return MemoryReplay(GAME, config, POSITIONS, seed, tmp_path / "rejected")

    return opened
