"""The gate: a candidate plays the champion, and enough wins make it the champion.

The gate works in rounds of a few seconds and nobody waits for it: while a match runs, the newest candidate offered
waits and older ones are dropped.  The registry is the truth about who is champion and what was judged; the gate's own
state holds only what is under way, so a gate that comes back after a crash agrees with whatever was published last.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluator.config import GateConfig
from evaluator.gate_openings import GateOpenings
from evaluator.gate_report import GateReport, report_from, report_of_match
from evaluator.labels import Labels, make_labels
from evaluator.match import Match, MatchResult
from evaluator.stats import Score, score_of
from evaluator.truth import Truth, ask, truth_of
from reversi import archive
from reversi.errors import UnwritableError
from reversi.games.rules import TICTACTOE, Game
from reversi.model.info import ModelInfo, Verdict
from reversi.model.registry import Registry
from reversi.model.weights import LARGEST_VERSION, Weights
from reversi.players import Player, model_player, playing_config
from reversi.search.config import SearchConfig

log = logging.getLogger(__name__)

STATE_FORMAT = 1

UNWRITABLE_S = 12 * 3600.0
"""Longest that a registry may refuse what is to be published before that ends the run: somebody has to come and make
room, or mend the way to it."""

_MATCH = "match."
"""Prefix of the match's arrays in the gate's state."""


class CandidateSource(Protocol):
    """Where candidates come from."""

    def candidate(self) -> bytes | None:
        """Return the newest candidate that was not taken yet, as a weights archive, or None."""


class ChampionSink(Protocol):
    """Who wants to know the champion."""

    def promoted(self, data: bytes) -> None:
        """Take the champion's weights archive; the same one may come twice."""


@dataclass
class _Trial:
    """A match under way or over, and who plays it."""

    candidate: Weights
    opponent_version: int
    match: Match
    truth: Truth | None
    seconds: float = 0.0


def verdict_of(config: GateConfig, result: MatchResult) -> bool | None:
    """Return whether the candidate is promoted, or None while the games left can still decide it.

    Whatever those games bring, the full match would end with the same verdict.
    """
    half_points = 2 * result.wins + (result.draws if config.rule == "score" else 0)
    if half_points >= 2 * config.wins:
        return True
    return False if half_points + 2 * result.remaining < 2 * config.wins else None


class Gate:
    """Judges candidates one after another.  Same seed, same candidate, same champion: same openings, same games."""

    def __init__(
        self,
        config: GateConfig,
        game: Game,
        registry: Registry,
        *,
        source: CandidateSource,
        sink: ChampionSink,
        seed: int,
        repeats: bool = False,
    ) -> None:
        """The champion and all earlier verdicts are read from the registry, which must exist.

        repeats  the run is deterministic: verdicts published after the restored state will be reached again, bit for
                 bit, and are ignored until then
        """
        self.config, self.game, self.registry = config, game, registry
        self._source, self._sink, self._seed, self._repeats = source, sink, seed, repeats
        self._openings = GateOpenings(config, game, seed)
        self._labels = _labels(config, game)
        self._waiting: Weights | None = None
        self._trial: _Trial | None = None
        self._last: GateReport | None = None
        self._superseded = 0
        self._announced = False
        self._unwritable_since: float | None = None
        self._judged = self._newest = -1
        self._champion: Weights | None = None
        self._read_registry(LARGEST_VERSION)

    def poll(self) -> bool:
        """Take the source's newest candidate; return whether a match is under way or a candidate waits for one."""
        self._collect()
        return self._trial is not None or self._waiting is not None

    @property
    def blocked(self) -> bool:
        """Whether what the last round decided could not be published; each round tries again."""
        return self._unwritable_since is not None

    def offer(self, data: bytes) -> None:
        """Let a candidate wait for the next match, in place of an older one; what was offered before is passed over.

        Raises IncompatibleModelError for a model of another game.
        """
        weights = Weights.from_bytes(data, "a candidate")
        weights.check_game(self.game)
        if weights.version <= self._newest:
            return
        self._newest = weights.version
        self._superseded += self._waiting is not None
        self._waiting = weights

    def round(self, seconds: float) -> GateReport:
        """Take what the source has and play for about `seconds`, 0 being one ply of every game in progress; return at
        once if there is nothing to judge."""
        self._announce()
        self._collect()
        try:
            report = self._played(seconds)
        except UnwritableError as error:
            return self._refused(error)
        self._unwritable_since = None
        return report

    def _played(self, seconds: float) -> GateReport:
        """Do a round; UnwritableError if there is a verdict that the registry does not take, which changes nothing."""
        if self._trial is None:
            if self._waiting is None:
                return self._report(None)
            if self._champion is None:
                return self._crown_first(self._waiting)
            candidate, self._waiting = self._waiting, None
            self._trial = self._open_trial(candidate, self._champion)
        trial = self._trial
        begin = time.monotonic()
        done = trial.match.round(seconds)
        trial.seconds += time.monotonic() - begin
        return self._judge(trial) if done else self._report(None)

    def _refused(self, error: UnwritableError) -> GateReport:
        """Report that a verdict waits for the registry; raise the error if it has waited for too long."""
        now = time.monotonic()
        if self._unwritable_since is None:
            log.warning("a verdict is not published, tried again until it is: %s", error)
            self._unwritable_since = now
        if now - self._unwritable_since > UNWRITABLE_S:
            raise error
        report = self._report(None)
        return replace(report, summary=f"{report.summary}; not published yet: {error}")

    def state(self) -> bytes:
        """Return what is under way: the waiting candidate, the match with its candidate, the last report."""
        arrays: dict[str, NDArray[Any]] = {}
        header: dict[str, Any] = {
            "judged": self._judged,
            "superseded": self._superseded,
            "last": asdict(self._last) if self._last else None,
        }
        if self._waiting is not None:
            arrays["waiting"] = np.frombuffer(self._waiting.to_bytes(), np.uint8)
        if self._trial is not None:
            arrays["candidate"] = np.frombuffer(self._trial.candidate.to_bytes(), np.uint8)
            arrays |= {_MATCH + name: array for name, array in self._trial.match.arrays().items()}
            header |= {"terms": self._terms(self._trial.opponent_version), "seconds": self._trial.seconds}
        return archive.pack("gate", STATE_FORMAT, arrays, header)

    def restore(self, data: bytes) -> None:
        """Go on from `state()`, as far as the registry still agrees with it.

        A candidate that was judged after the state was saved is done with, unless this gate `repeats`: then it is
        judged again, and published as it was.  A match goes on where it stood if it is against today's champion
        and under today's settings; otherwise its candidate meets today's champion from the first game.
        """
        arrays, header = archive.unpack(data, "gate", STATE_FORMAT, "gate state")
        with archive.believing("gate state"):
            self._restore(arrays, header)

    def _restore(self, arrays: dict[str, NDArray[Any]], header: archive.Header) -> None:
        if self._repeats:
            self._read_registry(header["judged"])
        self._superseded = header["superseded"]
        self._last = report_from(header["last"]) if header["last"] else None
        if "candidate" in arrays and self._champion is not None:
            candidate = Weights.from_bytes(arrays["candidate"].tobytes(), "the candidate in the gate state")
            if candidate.version > self._newest:
                self._newest = candidate.version
                self._trial = self._open_trial(candidate, self._champion)
                if header["terms"] == self._terms(self._champion.version):
                    self._trial.seconds = header["seconds"]
                    games = {name: array for name, array in arrays.items() if name.startswith(_MATCH)}
                    self._trial.match.restore({name.removeprefix(_MATCH): array for name, array in games.items()})
        if "waiting" in arrays:
            self.offer(arrays["waiting"].tobytes())

    def _read_registry(self, last: int) -> None:
        """Learn from the registry what was judged, up to version `last`, and who is champion."""
        models = [model for model in self.registry.models() if model.version <= last]
        self._judged = self._newest = max((model.version for model in models), default=-1)
        self._promotions = sum(model.verdict == "promoted" for model in models)
        self._rejections = sum(model.verdict == "rejected" for model in models)
        self._champion, self._champion_elo = None, 0.0
        if crowned := [model for model in models if model.verdict != "rejected"]:
            self._take_over(crowned[-1])

    def _take_over(self, info: ModelInfo) -> None:
        """Make the newest model that was published as champion the champion.

        It is published once more, which changes nothing unless a crash came between the model and `gated.json`.
        """
        self._champion = self.registry.load(info)
        self._champion.check_game(self.game)
        self._champion_elo = info.match["champion_elo"] if info.match else 0.0
        self.registry.publish(self._champion, info.verdict, info.match)

    def _announce(self) -> None:
        """Tell the sink, once, about the champion that was there before this gate was."""
        if not self._announced and self._champion is not None:
            self._sink.promoted(self._champion.to_bytes())
        self._announced = True

    def _collect(self) -> None:
        if (data := self._source.candidate()) is not None:
            self.offer(data)

    def _crown_first(self, candidate: Weights) -> GateReport:
        """Publish the first model: there is nobody to play against."""
        self.registry.publish(candidate, "first", None)
        self._waiting, self._champion, self._judged = None, candidate, candidate.version
        self._sink.promoted(candidate.to_bytes())
        return self._report("first")

    def _open_trial(self, candidate: Weights, champion: Weights) -> _Trial:
        """Set up the match of `candidate` against `champion`."""
        config = self.config
        playing = playing_config(config.simulations, solve_empties=config.solve_empties)
        opponent = self._player(champion, playing)
        match = Match(
            self.game,
            self._player(candidate, playing),
            opponent,
            self._openings.choose(candidate.version, opponent),
            config.games,
            lockstep=config.lockstep,
            certain=lambda result: verdict_of(config, result) is not None,
        )
        return _Trial(candidate, champion.version, match, self._truth(candidate))

    def _truth(self, candidate: Weights) -> Truth | None:
        """Check the candidate's moves without the solver, which would be right about all of these positions."""
        if self._labels is None:
            return None
        player = self._player(candidate, playing_config(self.config.truth_simulations, solve_empties=0))
        return truth_of(self._labels, ask(player, self._labels))

    def _player(self, weights: Weights, playing: SearchConfig) -> Player:
        return model_player(
            f"mcts:{weights.version}:{playing.simulations}",
            self.game,
            weights,
            playing,
            threads=self.config.threads,
            backend=self.config.backend,
        )

    def _terms(self, opponent_version: int) -> dict[str, Any]:
        """Return what two matches must share for one to go on where the other stood."""
        return {"config": asdict(self.config), "seed": self._seed, "opponent_version": opponent_version}

    def _judge(self, trial: _Trial) -> GateReport:
        """Publish the candidate with its verdict; the registry first, so that no crash can make a champion it lacks."""
        result = trial.match.result()
        score = score_of(result)
        promoted = verdict_of(self.config, result)
        assert promoted is not None, f"a match that is done has a verdict, got {result}"
        verdict: Verdict = "promoted" if promoted else "rejected"
        elo = self._champion_elo + score.elo
        record = {
            **asdict(score),
            "black": result.black,
            "white": result.white,
            "pairs": result.pairs,
            "opponent_version": trial.opponent_version,
            "simulations": self.config.simulations,
            "rule": self.config.rule,
            "wins_needed": self.config.wins,
            "games_planned": self.config.games,
            "champion_elo": elo if promoted else self._champion_elo,
            "seconds": round(trial.seconds, 1),
            "truth": asdict(trial.truth) if trial.truth else None,
        }
        self.registry.publish(trial.candidate, verdict, record)
        self._judged = trial.candidate.version
        if promoted:
            self._champion, self._champion_elo = trial.candidate, elo
            self._promotions += 1
            self._sink.promoted(trial.candidate.to_bytes())
        else:
            self._rejections += 1
        report = self._last = self._report(verdict)
        self._trial = None
        return report

    def _report(self, verdict: Verdict | None) -> GateReport:
        """Return how the gate stands: the match under way, or else the last one."""
        trial, last = self._trial, self._last
        standing: dict[str, Any] = {
            "verdict": verdict,
            "champion_version": self._champion.version if self._champion else -1,
            "champion_elo": self._champion_elo,
            "promotions": self._promotions,
            "rejections": self._rejections,
            "superseded": self._superseded,
        }
        if trial is not None:
            score = score_of(trial.match.result())
            return report_of_match(
                score,
                candidate_version=trial.candidate.version,
                opponent_version=trial.opponent_version,
                match_s=trial.seconds,
                truth=trial.truth,
                summary=self._summary(trial, score, verdict),
                **standing,
            )
        if last is not None:
            return replace(last, **standing)
        champion = f"champion version {self._champion.version}, no match yet" if self._champion else "no model yet"
        return GateReport(summary=champion, **standing)

    def _summary(self, trial: _Trial, score: Score, verdict: Verdict | None) -> str:
        candidate, opponent = trial.candidate.version, trial.opponent_version
        if verdict is not None:
            return f"version {candidate} {verdict} against {opponent}: {score.summary}"
        before = f"; before: {self._last.summary}" if self._last else ""
        counts = f"{score.wins}-{score.draws}-{score.losses} of {self.config.games}"
        return f"version {candidate} against {opponent}: {counts}{before}"


def _labels(config: GateConfig, game: Game) -> Labels | None:
    """Return the solved positions of `config`, always the same ones, or None if there are to be none."""
    if config.truth_positions == 0 or game.id == TICTACTOE:
        return None
    most = min(config.truth_empties, game.squares // 3)  # earlier, 4x4 has not so many positions
    return make_labels(game, range(min(game.squares // 6, most), most + 1), config.truth_positions, seed=0)
