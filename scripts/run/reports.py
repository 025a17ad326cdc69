"""What a run counts while it trains, and its reports, whose fields are its metrics."""

from __future__ import annotations

from dataclasses import dataclass, replace

from actors.worker import RoundCounts


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The whole run, written to the metrics every few seconds."""

    elapsed_s: float
    """Seconds of training, earlier sessions included."""
    session_s: float
    """Seconds of training since the run was last started or resumed."""
    games: int
    """Games finished since the run began, lessons (`actors.lessons`) included; of games from files those taken by the
    replay."""
    positions: int
    """Positions that a move is learned from, searched, of lessons or of files, since the run began."""
    simulations: int
    """Simulations since the run began."""
    positions_per_s: float
    """Positions that a move is learned from, per second, since the last row."""
    simulations_per_s: float
    """Simulations per second, since the last row."""
    asked_per_simulation: float
    """Positions evaluated by the network per simulation, since the last row; cache and rules answer the others."""
    cache_hit_share: float
    """Share of the positions looked up in the actors' caches that were found there, since the last row."""
    actor_waiting_share: float
    """Share of the actors' time spent waiting for room in the replay, since the last row."""
    actor_idle_share: float
    """Share of the actors' time between two rounds, since the last row: under Ray, overhead of Ray and the driver."""
    resident_mb: float
    """Resident memory of the whole run, all processes, in MB (shared pages counted once per process)."""
    restarts: int
    """Restarts of roles that died."""


@dataclass(frozen=True, kw_only=True)
class PlayReport:
    """Results of the side that learns against one that does not, since the last such row: a hundred games or more."""

    games: int
    """Games against a side that does not learn since the run began, including this row's."""
    wins: int
    """Games of this row won by the side that learns."""
    draws: int
    """Games of this row drawn."""
    losses: int
    """Games of this row lost by the side that learns."""


@dataclass(frozen=True, kw_only=True)
class HealthReport:
    """One role under Ray, or all actors together, as the driver sees it."""

    alive: int
    """Processes that have answered since their start and have not died."""
    wanted: int
    """Processes that should be alive; for actors the target number.  The others are starting, waiting for a node with
    room, or dead."""
    restarts: int
    """Restarts after a death since the driver started."""
    pending_s: float
    """Seconds since the pending request was sent; of several processes the longest, 0 if none is pending."""
    rss_mb: float
    """Resident memory in MB, measured every ten seconds; of several processes the sum."""


@dataclass(frozen=True, kw_only=True)
class MemoryReport:
    """Memory of a run under Ray outside its roles."""

    driver_mb: float
    """Resident memory of the driver's process in MB, measured every ten seconds."""
    object_store_mb: float
    """Used memory of Ray's object stores in MB, over all nodes."""


@dataclass(frozen=True, kw_only=True)
class Counters(RoundCounts):
    """Sums since the run began; differences of two of them give rates."""

    at_s: float = 0.0
    """Seconds of training."""
    steps: int = 0
    """Steps of the learner."""
    samples: int = 0
    """Samples trained on."""
    restarts: int = 0
    """Restarts of roles that died."""

    def since(self, then: Counters) -> Counters:
        """Return what was counted since `then`; `at_s` is the seconds between, at least a nanosecond."""
        return replace(self - then, at_s=max(self.at_s - then.at_s, 1e-9))

    def run_report(self, then: Counters, session_s: float, resident_mb: float) -> RunReport:
        """Return the row of metrics of the run; rates are since `then`, the row before."""
        new = self.since(then)
        actor_s = new.playing_s + new.waiting_s + new.between_s
        return RunReport(
            elapsed_s=self.at_s,
            session_s=session_s,
            games=self.games,
            positions=self.positions,
            simulations=self.simulations,
            positions_per_s=new.positions / new.at_s,
            simulations_per_s=new.simulations / new.at_s,
            asked_per_simulation=_share(new.asked, new.simulations),
            cache_hit_share=_share(new.found, new.looked_up),
            actor_waiting_share=_share(new.waiting_s, actor_s),
            actor_idle_share=_share(new.between_s, actor_s),
            resident_mb=resident_mb,
            restarts=self.restarts,
        )

    def play_report(self, then: Counters) -> PlayReport:
        """Return the row of results against a side that does not learn, since `then`."""
        new, games = self.since(then), self.wins + self.draws + self.losses
        return PlayReport(games=games, wins=new.wins, draws=new.draws, losses=new.losses)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
