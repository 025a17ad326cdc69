"""The van on Ray carries `RedisReplay` as it is: its calls wait, and others pass while they do.  No Ray is started."""

from __future__ import annotations

import threading

import pytest

from learner.replay.redis import remote
from learner.replay.redis.remote import StreamedReplay
from learner.replay.redis.server import RedisServer
from learner.replay.redis.sink import RedisSink
from learner.replay.samples import POSITIONS
from tests.runs.redis.redis_setup import CONFIG, GAME, batch, fresh_key, until


def test_a_sample_waits_for_records_that_come_through_the_stream(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remote.SAMPLE_WAIT_S <= 1.0
    monkeypatch.setattr(remote, "SAMPLE_WAIT_S", 3.0)
    key = fresh_key()
    replay = StreamedReplay(
        game=GAME.name,
        config=CONFIG,
        seed=1,
        rejected_dir=None,
        server=redis_server,
        key=key,
        kind=POSITIONS,
        saved=lambda: None,
        restarted=lambda: False,
    )
    sizes: list[int | None] = []

    def learn() -> None:
        while not any(sizes):
            samples = replay.sample(2, 16)
            sizes.append(None if samples is None else len(samples))

    try:
        learner = threading.Thread(target=learn)
        learner.start()
        assert replay.report().games_total == 0
        assert sizes == [], "the report did not wait for the sample"
        until(lambda: len(sizes) == 1)
        assert sizes == [None]
        RedisSink.of(CONFIG, redis_server, key).push(batch(0, count=9))
        learner.join(100)  # the first records are checked by code that may have to be compiled before
        assert sizes[-1] == 32
    finally:
        replay.close()
