"""What a job is refused for before anything of it is started or written."""

from __future__ import annotations

import pytest

from reversi import capacity
from reversi.errors import ConfigError
from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.launch.preflight import check_machine

MEMORY = ["actors.games=2048", "search.simulations=1000000"]


@pytest.mark.parametrize(
    "overrides",
    [
        ["cluster=serial", *MEMORY],
        ["cluster=local", "actors.count=1", *MEMORY],
        [
            "experiment=reversi8_patterns",
            "actors.count=1",
            "actors.search_from=0.5",
            "actors.search.cache_positions=1000000000000",
        ],
    ],
    ids=["serial", "local", "later"],
)
def test_memory_is_counted_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, overrides: list[str]) -> None:
    monkeypatch.setattr(capacity, "memory_bytes", lambda: 64 << 30)
    with pytest.raises(ConfigError, match=r"GB of memory, this machine has 68\.7 GB; lower actors\.games, search\."):
        check_machine(job_of(compose(overrides)))
