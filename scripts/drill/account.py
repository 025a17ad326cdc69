"""What became of what was acknowledged: the ledger of a drill held against what a stopped run has."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from learner.replay.embedded import EmbeddedServer
from learner.replay.redis_server import RedisServer
from learner.replay.redis_stream import delivery_in
from reversi.record import decode
from scripts.drill.ledger import PAGE, Delivery, Ledger, Probe
from scripts.drill.outcome import Outcome
from scripts.drill.run import DrillRun

MEMORY_MB = 1024
"""Of the server that reads what a run has left behind; no less than the run's own."""


TOLD_LOST = re.compile(r"the replay lost (\d+) games")
"""What the driver says when games went with the replay's memory."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """Deliveries that Redis confirmed, and what the run has of them."""

    acknowledged: int
    """Deliveries that the ledger was shown, or that were confirmed to the probe."""
    lost: int
    """Of these, deliveries that are neither counted by the replay nor in the stream, for the next start to count."""
    lost_games: int
    """Games in them."""
    twice_games: int | None
    """Games that the replay counted beyond one count of each delivery; None of a server that forgets, as it may forget
    what it has confirmed before the ledger has read it."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A run that was stopped and saved, and what it has lost."""

    stop_s: float
    """Seconds that stopping took."""
    lost_games: int
    """Games delivered, as far as the run or the ledger had heard, and not held."""
    told_games: int
    """Games that the run itself said were lost."""
    account: Account | None
    """None without Redis."""

    @property
    def whole(self) -> bool:
        """Whether nothing was lost but what the run told of, and nothing counted twice."""
        return self.lost_games <= self.told_games and not (self.account and self.account.twice_games)

    def outcome(self, drill: str, *, asked: int, went_on_s: Sequence[float], kept: bool, seen: str) -> Outcome:
        """Return the outcome of a drill that ended so."""
        account = self.account
        return Outcome(
            drill=drill,
            asked=asked,
            kills=len(went_on_s),
            went_on_s=[round(seconds, 2) for seconds in went_on_s],
            acknowledged=account.acknowledged if account else None,
            lost=account.lost if account else None,
            twice_games=account.twice_games if account else None,
            lost_games=self.lost_games,
            stop_s=round(self.stop_s, 1),
            kept=kept and len(went_on_s) >= asked,
            seen=seen,
        )


def settle(
    run: DrillRun,
    ledger: Ledger | None,
    probe: Probe | None = None,
    *,
    append_only: bool = True,
    server: RedisServer | None = None,
) -> Settled:
    """Stop the run and compare what was acknowledged with what it holds.

    append_only  False if the run's own server has kept nothing
    server       that of the run where it is not the run's own, and goes on
    """
    if probe is not None:
        probe.close()
    stop_s = run.stop()
    told = sum(int(found[1]) for line in run.log() if (found := TOLD_LOST.search(line)))
    account = None
    if ledger is not None:
        acknowledged = {**ledger.games, **(probe.games if probe else {})}
        account = _account(run, acknowledged, append_only, server)
    lost = account.lost_games if account else max(0, run.games_heard() - run.games_held())
    return Settled(stop_s=stop_s, lost_games=lost, told_games=told, account=account)


def _account(run: DrillRun, games: Mapping[Delivery, int], append_only: bool, server: RedisServer | None) -> Account:
    """Return the account of a run that was stopped and saved, of the deliveries in `games`."""
    taken = held = run.deliveries_held(games)
    if server is not None:
        held = taken | _deliveries_in(server, run.streams())
    elif append_only:
        own = EmbeddedServer(run.path / "redis", memory_mb=MEMORY_MB, append_only=True)
        with contextlib.closing(own):
            held = taken | _deliveries_in(own.server, run.streams())
    lost = [one for one in games if one not in held]
    return Account(
        acknowledged=len(games),
        lost=len(lost),
        lost_games=sum(games[one] for one in lost),
        twice_games=max(0, run.games_held() - sum(games[one] for one in taken)) if append_only else None,
    )


def _deliveries_in(server: RedisServer, streams: Sequence[str]) -> set[Delivery]:
    client = server.client()
    found: set[Delivery] = set()
    for stream in streams:
        start = "-"
        while page := client.xrange(stream, start, "+", PAGE):
            for _, fields in page:
                found.add(decode(delivery_in(fields), "an entry of the stream")[1:])
            start = f"({page[-1][0].decode()}"
    client.close()
    return found
