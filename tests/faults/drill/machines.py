"""A bad network between the two machines of a Ray cluster: the kernel drops packets, or a machine is cut off.

    machine 1: head, driver, learner, gate, replay, weights, an actor, Redis (password, append-only file)
    machine 2: an actor, which delivers to Redis and fetches its weights over the network

The machines are network namespaces (`tests/faults/drill/namespaces.py`); the confirmed deliveries are read over Redis'
unix socket.
"""

from __future__ import annotations

import random
import secrets
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from learner.replay.redis.embedded import START_S, server_program, storage_settings
from learner.replay.redis.server import PASSWORD_VARIABLE, RedisServer
from reversi.errors import RunError
from tests.faults.drill.acknowledged import AcknowledgedLog
from tests.faults.drill.losses import MEMORY_MB, StopReport, stop_and_compare
from tests.faults.drill.namespaces import Machine, Network, network
from tests.faults.drill.network import DEAF_S
from tests.faults.drill.nodes import Nodes, ray_nodes
from tests.faults.drill.outcome import Outcome
from tests.faults.drill.run import CLASSES, DrillRun, drill_run

LOSSES, LOSS_S = (0.05, 0.2), 30.0
"""Shares of packets dropped, one after the other, and the seconds for each."""

CUT_S, LONG_CUT_S = 30.0, 120.0
"""Seconds for which a machine is cut off: less and more than Ray waits for a node (`HEALTH` in `nodes.py`)."""

REDIS_PORT = 6379

LAID_OUT = ("cluster.max_restarts=1000000", "learner.threads=1", "cluster.actors.cpu.count=2")
"""With four CPUs the head has room for the other roles and one actor; the second actor is on the other machine."""

NEAR, FAR = "actor-0-", "actor-1-"
"""Prefixes of the producer names of the actor on the head and of the one on the other machine."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A run on two machines."""

    network: Network
    nodes: Nodes
    run: DrillRun
    acknowledged: AcknowledgedLog
    redis: RedisServer

    @property
    def far(self) -> Machine:
        """The machine that has only an actor."""
        return self.network.machines[1]

    def deliveries(self, producer: str) -> int:
        """Return how many deliveries Redis has confirmed to producers with this prefix."""
        return sum(name.startswith(producer) for name, _ in self.acknowledged.games)

    def wait_for_round(self, producer: str) -> float:
        """Wait until a producer with this prefix has made two more deliveries, restarting Ray where it has ended;
        return the seconds that took."""
        before = self.deliveries(producer)

        def delivered() -> bool:
            self.nodes.start_again()
            return self.deliveries(producer) > before + 1  # the first may belong to a round requested before

        return self.run.wait_for(delivered, f"a round of {producer}")

    def stopped(self) -> StopReport:
        """Stop the run and report what it has lost."""
        return stop_and_compare(self.run, self.acknowledged, server=self.redis)


@contextmanager
def spread_run(folder: Path, overrides: Sequence[str]) -> Iterator[Spread]:
    """Yield a run on two machines, with both actors at work."""
    with ExitStack() as ends:
        joined = ends.enter_context(network())
        nodes = ends.enter_context(
            ray_nodes("--num-cpus=4", "--num-gpus=0", "--include-dashboard=false", network=joined)
        )
        nodes.join("--num-cpus=1", "--num-gpus=0")
        head = joined.machines[0]
        redis = ends.enter_context(_redis_on(head, folder / "redis"))
        assert redis.password is not None
        run, acknowledged = ends.enter_context(
            drill_run(
                folder,
                [*overrides, *nodes.overrides, *LAID_OUT, *_replay_on(head)],
                environment=nodes.environment | {PASSWORD_VARIABLE: redis.password},
                machine=head,
                server=redis,
            )
        )
        assert acknowledged is not None
        spread = Spread(network=joined, nodes=nodes, run=run, acknowledged=acknowledged, redis=redis)
        for producer, node in ((NEAR, nodes.head), (FAR, nodes.joined[0])):
            spread.wait_for_round(producer)
            if not node.roles() & set(CLASSES["actor"]):
                raise RunError(f"expected an actor on each machine, got {node.roles() or 'nobody'} on one")
        yield spread


def drop_packets(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Drop a small, then a larger share of the packets between the machines, in both directions."""
    went_on_s, rates, deaf = [], [], False
    with spread_run(folder, overrides) as spread:
        for _ in range(kills):
            for share in (0.0, *LOSSES):
                before = spread.deliveries(FAR)
                with spread.network.losing(share) as packets:
                    time.sleep(LOSS_S)
                    deaf |= spread.run.metrics_age_s() > DEAF_S
                delivered = spread.deliveries(FAR) - before
                rates.append(f"{delivered / LOSS_S:.1f} with {packets.dropped} of {packets.arrived} packets dropped")
                if share:
                    went_on_s.append(spread.wait_for_round(FAR))
        stopped = spread.stopped()
        died = any(" died" in line for line in spread.run.log())
    seen = f"deliveries/s of the actor over there: {', '.join(rates)}"
    asked, kept = kills * len(LOSSES), stopped.whole and not deaf and not died
    return stopped.outcome("packet-loss", asked=asked, went_on_s=went_on_s, kept=kept, seen=seen)


def cut_off(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Cut the second machine off for half a minute: the run continues without it, and then with it again."""
    return _cut_off("partition", CUT_S, folder, overrides, kills)


def cut_off_long(folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    """Cut it off for so long that Ray gives the node up: the machine's supervision starts Ray there again."""
    return _cut_off("long-partition", LONG_CUT_S, folder, overrides, kills)


def _cut_off(drill: str, cut_s: float, folder: Path, overrides: Sequence[str], kills: int) -> Outcome:
    chance = random.Random(1)
    went_on_s, deaf, near, given_up = [], False, [], 0
    with spread_run(folder, overrides) as spread:
        for _ in range(kills):
            time.sleep(chance.uniform(2, 5))
            node, before = spread.nodes.joined[0], spread.deliveries(NEAR)
            with spread.network.cut_off(spread.far):
                time.sleep(cut_s)
                deaf |= spread.run.metrics_age_s() > DEAF_S
                near.append(spread.deliveries(NEAR) - before)
            went_on_s.append(spread.wait_for_round(FAR))
            given_up += spread.nodes.joined[0] is not node
        stopped = spread.stopped()
    kept = stopped.whole and not deaf and all(near)
    seen = (
        f"health: actors 1 of 2, while the other one delivers {sum(near) / cut_s / kills:.1f} times a second; "
        f"Ray gave the node up {given_up} times"
    )
    return stopped.outcome(drill, asked=kills, went_on_s=went_on_s, kept=kept, seen=seen)


def _replay_on(machine: Machine) -> list[str]:
    return ["replay=redis", f"replay.url=redis://{machine.address}:{REDIS_PORT}/0"]


@contextmanager
def _redis_on(machine: Machine, folder: Path) -> Iterator[RedisServer]:
    """Start a server with a password on a machine; yield how to reach it from this one, by its unix socket."""
    folder.mkdir()
    server = RedisServer(url=f"unix://{folder / 'socket'}", password=secrets.token_hex(16))
    settings = {
        "bind": machine.address,
        "port": REDIS_PORT,
        "unixsocket": folder / "socket",
        "unixsocketperm": "700",
        "requirepass": server.password,
        **storage_settings(folder, folder / "redis.log", memory_mb=MEMORY_MB, append_only=True),
    }
    process = subprocess.Popen(
        machine.command([server_program(), "-"]), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdin is not None
        with process.stdin as config:  # which process lists do not show
            config.write("".join(f'{name} "{value}"\n' for name, value in settings.items()))
        server.checked_client(START_S).close()
        yield server
    finally:
        process.kill()
        process.wait()
