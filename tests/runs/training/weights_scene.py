"""Weights on a real Ray of their own, in a process of its own: prints what happened as one JSON object."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import psutil

from reversi.model.weights import Weights
from scripts.bench.setup import Settings, random_weights
from scripts.config.cluster import LocalClusterConfig
from scripts.ray.environment import prepare
from tests.figures import weights as fanout
from tests.figures.weights import FanoutScenario

CONFIG = LocalClusterConfig(kind="local", object_store_mb=100, max_restarts=0, stall_s=60)
SMALL = Settings(learner_size=4, learner_blocks=1, learner_channels=8, learner_batch=32, learner_threads=1, repeats=1)
MODEL = random_weights(Settings(size=8, blocks=4, channels=64))
ACTORS = 10
PATIENCE_S = 60.0


def crowd(scenario: FanoutScenario) -> dict[str, float]:
    """Let ten simulated actors pull a version of the learner's and one of someone else's, and ask again."""
    turn, other = (scenario.beside(learner_publishes=own) for own in (True, False))
    rows = {row.name: row.value for row in fanout.rows_of(SMALL, ACTORS, [turn.trained], [other.trained], [turn])}
    pulled = {"bytes": turn.pulls.bytes, "others_bytes": other.pulls.bytes}
    return rows | pulled | {"asked": len(turn.pulls.ask_s) + turn.pulls.put_off}


def versions(store: Any) -> dict[str, Any]:
    """Publish one version after another, promote the newest, then kill the weights actor whose archive is wanted."""
    import ray
    from ray.exceptions import ObjectLostError

    from actors.remote import RemoteWeights
    from learner.remote import RemoteSink

    sink, capacity = RemoteSink(store), ray.cluster_resources()["object_store_memory"]

    def publish(version: int) -> bytes:
        data = dataclasses.replace(MODEL, version=version).to_bytes()
        sink.publish(data, False)
        until(lambda: ray.get(store.fetch.remote("latest", version - 1)) is not None)
        return data

    def put(channel: str) -> str:
        [reference] = ray.get(store.fetch.remote(channel, -1))
        return str(reference.hex())

    found: dict[str, Any] = {"of_version": []}
    for version in (2, 3, 4):
        data = publish(version)
        found["of_version"].append([put("latest") for _ in range(3)])
    ray.get(store.promoted.remote(data))
    found["promoted"] = put("gated")
    found["up_to_date"] = ray.get(store.fetch.remote("latest", 4))

    def held() -> float:
        return float(capacity - ray.available_resources().get("object_store_memory", capacity)) / len(data)

    until(lambda: held() < 1.5)
    found["held_archives"] = held()

    [wanted] = ray.get(store.fetch.remote("latest", -1))
    ray.kill(store, no_restart=False)
    weights = RemoteWeights(store)
    until(lambda: ray.get(store.fetch.remote("latest", -1)) is None)

    def lost() -> bool:
        """Whether it is gone: a node may hear of its owner's death later than others of its new start."""
        try:
            ray.get(wanted, timeout=PATIENCE_S)
        except ObjectLostError as error:
            found["lost"] = type(error).__name__
        return "lost" in found

    until(lost)
    assert weights.fetch("latest", 4) is None
    data = publish(5)
    until(lambda: weights.fetch("latest", 4) == data)
    return found


def silence(store: Any) -> dict[str, Any]:
    """Stop the weights actor, publish ten versions of which the seventh is a candidate, let it go on."""
    import ray

    from learner.remote import RemoteSink
    from scripts.ray.actor_calls import measure_process

    sink, process = RemoteSink(store), psutil.Process(ray.get(measure_process(store)).pid)
    process.suspend()
    for version in range(10, 20):
        sink.publish(dataclasses.replace(MODEL, version=version).to_bytes(), version == 16)
    under_way = len(sink._in_flight)
    process.resume()
    sink.settle()
    candidate = Weights.from_bytes(ray.get(store.candidate.remote()), "the candidate")
    return {"under_way": under_way, "newest": sink.newest(), "candidate": candidate.version}


def until(condition: Any) -> None:
    """Wait for a condition, for `PATIENCE_S` at most."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def main() -> None:
    """Play the scenes on one Ray."""
    prepare(CONFIG)
    from scripts.ray.cluster import ray_of

    fanout.TURN_S, fanout.PROCESSES = 3 * fanout.ROUND_S, 2
    with ray_of(CONFIG):
        scenario = fanout.FanoutScenario(SMALL, ACTORS)
        print(
            json.dumps(
                {"crowd": crowd(scenario), "versions": versions(scenario.store), "silence": silence(scenario.store)}
            )
        )


if __name__ == "__main__":
    main()
