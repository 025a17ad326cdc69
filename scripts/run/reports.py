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
class SelfPlayReport:
    """What finished games and their searches are like, since the last row: averages over a sample of the games, without
    lessons, and over all full searches."""

    games: int
    """Games of the sample."""
    lesson_share: float
    """Share of all games in which the solver gave every value after the opening: lessons, for the most part."""
    black_win_share: float
    """Share of the games that Black won."""
    draw_share: float
    """Share of the games drawn."""
    white_win_share: float
    """Share of the games that White won."""
    plies: float
    """Plies of a game, opening and passes included."""
    lead_discs: float
    """Discs that a game was won by."""
    new_opening_share: float
    """Share of the games whose position after eight plies, up to symmetry, is not among the last thousand different
    ones of their actor."""
    visit_entropy: float
    """Entropy of the search's policy at the root, in nats; 0 without a search, like the four below."""
    policy_entropy: float
    """Entropy of the network's policy there, without noise, in nats."""
    divergence: float
    """Kullback-Leibler divergence of the search's policy from the network's, in nats: what the search adds."""
    policy_loss: float
    """Cross-entropy of the network's policy against the search's on these fresh games, before any enters the replay; to
    be compared with `learner/losses/policy` (which is of older games): far above it, the network learns by heart."""
    depth: float
    """Mean depth of a simulation, in plies."""
    value_error: float
    """Mean squared difference of the value that play gave a position and the result, both from -1 to 1, where the
    solver gave none, on these fresh games, before any enters the replay; of pattern tables, which expect margins, that
    of the shares of the board."""
    version_lag: float
    """Versions published since that of the weights that played."""


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
    """Seconds since the pending request was sent, without waits for room in the replay; of several processes the
    longest, 0 if none is pending."""
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

    def self_play_report(self, then: Counters, version_lag: float) -> SelfPlayReport:
        """Return the row on the games since `then`, played by weights `version_lag` versions old."""
        new = self.since(then)
        return SelfPlayReport(
            games=new.sampled,
            lesson_share=_share(new.lessons, new.sampled + new.lessons),
            black_win_share=_share(new.black_wins, new.sampled),
            draw_share=_share(new.sampled - new.black_wins - new.white_wins, new.sampled),
            white_win_share=_share(new.white_wins, new.sampled),
            plies=_share(new.plies, new.sampled),
            lead_discs=_share(new.lead, new.sampled),
            new_opening_share=_share(new.new_openings, new.sampled),
            visit_entropy=_share(new.visit_entropy, new.searches),
            policy_entropy=_share(new.policy_entropy, new.searches),
            divergence=_share(new.divergence, new.searches),
            policy_loss=_share(new.visit_entropy + new.divergence, new.searches),
            depth=_share(new.depth, new.searches),
            value_error=_share(new.value_squares, new.valued),
            version_lag=version_lag,
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
