"""What a run over Redis has: its deliveries on the server, and what its last checkpoint has counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from learner.replay.redis.server import RedisServer
from learner.replay.redis.stream import delivery_in, streams
from reversi.record import decode


def deliveries(server: RedisServer, run: Path) -> dict[tuple[str, int], int]:
    """Return the games of every delivery that the server holds, by producer and sequence."""
    (stream,) = streams((run / "redis-key").read_text().strip(), 1)
    client: Any = server.client()
    entries = [delivery_in(fields) for _, fields in client.xrange(stream)]
    decoded = [decode(entry, "an entry") for entry in entries]
    client.close()
    held = {(producer, sequence): len(records) for records, producer, sequence in decoded}
    assert len(held) == len(entries), "nothing is there twice"
    return held


def counted(run: Path) -> int:
    """Return the games that the last checkpoint of `run` has counted."""
    newest = max((run / "checkpoints").glob("0*"))
    return int(json.loads((newest / "run.json").read_text())["games"])
