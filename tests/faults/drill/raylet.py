"""The death of a node: kill -9 of the raylet with the actor, on a cluster of three nodes started for this drill."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.faults.drill.losses import stop_and_compare
from tests.faults.drill.nodes import Node, Nodes, ray_nodes
from tests.faults.drill.outcome import Outcome
from tests.faults.drill.run import CLASSES, DrillRun, drill_run

ACTOR_NODE = ("--num-cpus=1", "--num-gpus=0", "--labels=role=actors")
"""Options of the two nodes for actors: one has the run's only actor, the other has room for it."""

LAID_OUT = (
    "cluster.max_restarts=1000000",
    "learner.threads=1",
    "cluster.actors.cpu.count=1",
    "+cluster.actors.cpu.labels.role=actors",
)


def kill_raylet(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Kill the raylet of the actor's node; the actor starts again on the other node, and a new node replaces the dead
    one."""
    chance = random.Random(1)
    went_on_s = []
    with ExitStack() as ends:
        nodes = ends.enter_context(ray_nodes("--num-cpus=4", "--num-gpus=0"))
        for _ in range(2):
            nodes.join(*ACTOR_NODE)
        settings = [*overrides, *nodes.overrides, *LAID_OUT]
        run, acknowledged = ends.enter_context(drill_run(folder, settings, environment=nodes.environment))
        for _ in range(kills):
            time.sleep(chance.uniform(10.5, 16.0))
            node = _node_of_the_actor(nodes, run)
            before = run.deaths_answered("actor")
            run.kill(node.raylet())
            went_on_s.append(run.wait_for_return("actor", before))
            node.end()
            nodes.joined.remove(node)
            nodes.join(*ACTOR_NODE)
        stopped = stop_and_compare(run, acknowledged)
    seen = f"health: actors {len(went_on_s)} restarts; the actor plays on the other node"
    return stopped.outcome("raylet", asked=kills, went_on_s=went_on_s, kept=stopped.whole, seen=seen)


def _node_of_the_actor(nodes: Nodes, run: DrillRun) -> Node:
    def candidates() -> list[Node]:
        return [node for node in nodes.joined if node.roles() & set(CLASSES["actor"])]

    run.wait_for(lambda: bool(candidates()), "an actor on a node of its own")
    return candidates()[0]
