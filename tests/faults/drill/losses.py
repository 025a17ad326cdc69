"""What a run lost: the acknowledged deliveries, compared with those that the stopped run holds."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from learner.replay.redis.embedded import EmbeddedServer
from learner.replay.redis.server import RedisServer
from learner.replay.redis.stream import delivery_in
from reversi.record import decode
from tests.faults.drill.acknowledged import PAGE, AcknowledgedLog, Delivery, Probe
from tests.faults.drill.outcome import Outcome
from tests.faults.drill.run import DrillRun

MEMORY_MB = 1024
"""Memory of the server that reads the files of a stopped run; at least that of the run's own server."""


REPORTED_LOST = re.compile(r"the replay lost (\d+) games")
"""Message of the driver about games lost with the replay's memory."""


@dataclass(frozen=True, kw_only=True)
class DeliveryLosses:
    """Deliveries that Redis acknowledged, and how many of them the run has lost."""

    acknowledged: int
    """Acknowledged deliveries that were recorded, including those of the probe."""
    lost: int
    """Of these, deliveries neither counted by the replay nor in the stream for the next start."""
    lost_games: int
    """Games in the lost deliveries."""
    twice_games: int | None
    """Games that the replay counted more than once; None for a server without append-only file, which may lose what it
    has confirmed before the drill's reader gets it."""


@dataclass(frozen=True, kw_only=True)
class StopReport:
    """A run that was stopped and saved, and what it lost."""

    stop_s: float
    """Seconds from the signal to the end of the run."""
    lost_games: int
    """Games delivered, according to the run or the record of deliveries, that the run does not hold."""
    reported_games: int
    """Games that the run itself reported as lost."""
    losses: DeliveryLosses | None
    """None without Redis."""

    @property
    def whole(self) -> bool:
        """Whether the run lost no more than it reported, and counted nothing twice."""
        return self.lost_games <= self.reported_games and not (self.losses and self.losses.twice_games)

    def outcome(self, drill: str, *, asked: int, went_on_s: Sequence[float], kept: bool, seen: str) -> Outcome:
        """Return the outcome of a drill that ended with this report."""
        losses = self.losses
        return Outcome(
            drill=drill,
            asked=asked,
            kills=len(went_on_s),
            went_on_s=[round(seconds, 2) for seconds in went_on_s],
            acknowledged=losses.acknowledged if losses else None,
            lost=losses.lost if losses else None,
            twice_games=losses.twice_games if losses else None,
            lost_games=self.lost_games,
            stop_s=round(self.stop_s, 1),
            kept=kept and len(went_on_s) >= asked,
            seen=seen,
        )


def stop_and_compare(
    run: DrillRun,
    acknowledged: AcknowledgedLog | None,
    probe: Probe | None = None,
    *,
    append_only: bool = True,
    server: RedisServer | None = None,
) -> StopReport:
    """Stop the run and compare the acknowledged deliveries with those that it holds.

    append_only  False if the run's own server has no append-only file
    server       the run's server if it is not the run's own; it keeps running
    """
    if probe is not None:
        probe.close()
    stop_s = run.stop()
    reported = sum(int(match[1]) for line in run.log() if (match := REPORTED_LOST.search(line)))
    losses = None
    if acknowledged is not None:
        games = {**acknowledged.games, **(probe.games if probe else {})}
        losses = _losses(run, games, append_only, server)
    lost = losses.lost_games if losses else max(0, run.games_heard() - run.games_held())
    return StopReport(stop_s=stop_s, lost_games=lost, reported_games=reported, losses=losses)


def _losses(
    run: DrillRun, games: Mapping[Delivery, int], append_only: bool, server: RedisServer | None
) -> DeliveryLosses:
    """Return which of the deliveries in `games` a stopped and saved run has lost."""
    taken = held = run.deliveries_held(games)
    if server is not None:
        held = taken | _deliveries_in(server, run.streams())
    elif append_only:
        own = EmbeddedServer(run.path / "redis", memory_mb=MEMORY_MB, append_only=True)
        with contextlib.closing(own):
            held = taken | _deliveries_in(own.server, run.streams())
    lost = [one for one in games if one not in held]
    return DeliveryLosses(
        acknowledged=len(games),
        lost=len(lost),
        lost_games=sum(games[one] for one in lost),
        twice_games=max(0, run.games_held() - sum(games[one] for one in taken)) if append_only else None,
    )


def _deliveries_in(server: RedisServer, streams: Sequence[str]) -> set[Delivery]:
    client = server.client()
    deliveries: set[Delivery] = set()
    for stream in streams:
        start = "-"
        while page := client.xrange(stream, start, "+", PAGE):
            for _, fields in page:
                deliveries.add(decode(delivery_in(fields), "an entry of the stream")[1:])
            start = f"({page[-1][0].decode()}"
    client.close()
    return deliveries
