"""The gate: a candidate plays the champion, and replaces it if it wins enough games.

The gate works in rounds of a few seconds, and no role waits for it: during a match the newest candidate waits and older
ones are dropped.  The registry is authoritative for the champion and for all verdicts; the gate's own state holds only
unfinished work, so after a crash the gate agrees with what was published last.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluator.config import GateConfig
from evaluator.gate_openings import GateOpenings
from evaluator.gate_report import GateReport, report_from, report_of_match
from evaluator.labels import Labels, make_labels
from evaluator.stats import Score, score_of
from evaluator.strength import Strength
from evaluator.trial import Trial, verdict_of
from reversi import archive
from reversi.errors import IncompatibleModelError, UnreachableError, UnwritableError
from reversi.games.rules import TICTACTOE, Game
from reversi.model.evaluate import open_evaluator
from reversi.model.gated import withdrawal
from reversi.model.info import ModelInfo, Verdict
from reversi.model.registry import Registry
from reversi.model.training import Spent
from reversi.model.weights import LARGEST_VERSION, Weights

log = logging.getLogger(__name__)

STATE_FORMAT = 2

UNWRITABLE_S = 12 * 3600.0
"""Longest time in seconds that the registry may be unreachable or fail to accept a verdict before the run ends: someone
has to make room or restore access to it."""

_MATCH = "match."
"""Prefix of the match's arrays in the gate's state."""


class CandidateSource(Protocol):
    """Source of candidates."""

    def candidate(self) -> bytes | None:
        """Return the newest candidate not taken yet, as a weights archive, or None."""


class ChampionSink(Protocol):
    """Receiver of champions."""

    def promoted(self, data: bytes) -> None:
        """Take the champion's weights archive; the same one may arrive twice."""


class Gate:
    """Judges candidates one after another.  The same seed, candidate and champion give the same openings and games."""

    def __init__(
        self,
        config: GateConfig,
        game: Game,
        registry: Registry,
        *,
        source: CandidateSource,
        sink: ChampionSink,
        seed: int,
        keep_rejected: int | None = None,
        repeats: bool = False,
        by_clock: bool = True,
    ) -> None:
        """Read the champion and all earlier verdicts from the registry, which must exist.

        keep_rejected  newest rejected candidates that keep their weights in the registry; None: all
        repeats        the run is deterministic: verdicts published after the restored state will be reached again, bit
                       for bit, and are ignored until then
        by_clock       matches for metrics keep to a share of the time (`Strength`); a deterministic run has no clock
        """
        self.config, self.game, self.registry = config, game, registry
        self._source, self._sink, self._seed, self._repeats = source, sink, seed, repeats
        self._keep_rejected = keep_rejected
        self._openings = GateOpenings(config, game, seed)
        self._labels = _labels(config, game)
        self._strength = Strength(config, game, registry, seed, by_clock=by_clock)
        self._waiting: Weights | None = None
        self._trial: Trial | None = None
        self._last: GateReport | None = None
        self._superseded = 0
        self._announced = False
        self._spent: Spent | None = None
        self._unwritable_since: float | None = None
        self._judged = self._newest = -1
        self._champion: Weights | None = None
        self._read_registry(LARGEST_VERSION)

    def poll(self) -> bool:
        """Take the source's newest candidate; return whether a match is running or a candidate waits for one."""
        self._collect()
        return self._trial is not None or self._waiting is not None

    @property
    def blocked(self) -> bool:
        """Whether the last round's verdict could not be published; each round tries again."""
        return self._unwritable_since is not None

    def offer(self, data: bytes) -> None:
        """Let a candidate wait for the next match, replacing an older one; ignore it if it is not newer than the last,
        or if its answers are not numbers.

        Raises IncompatibleModelError for a model of another game.
        """
        weights = Weights.from_bytes(data, "a candidate")
        weights.check_game(self.game)
        if weights.version <= self._newest:
            return
        self._newest = weights.version
        try:
            open_evaluator(weights, batch=1)
        except IncompatibleModelError as error:
            log.warning("a candidate is not judged: %s", error)
            return
        self._superseded += self._waiting is not None
        self._waiting = weights

    def round(self, seconds: float, spent: Spent | None = None) -> GateReport:
        """Take the source's newest candidate and play for about `seconds`; 0 plays one ply of every game in progress.
        Return at once if there is nothing to judge.

        spent  what the run has spent so far, for the description of a model that is judged in this round

        A registry that cannot be read or written delays a verdict, for `UNWRITABLE_S` at most.
        """
        self._spent = spent
        self._announce()
        self._collect()
        try:
            report = self._played(seconds)
        except (UnwritableError, UnreachableError) as error:
            return self._refused(error)
        self._unwritable_since = None
        return report

    def _played(self, seconds: float) -> GateReport:
        """Play one round; raise UnwritableError or UnreachableError if the registry does not accept a verdict."""
        if self._trial is None:
            if self._strength.due:
                played = self._strength.round(seconds)
                return replace(self._report(None), strength=(played,) if played else ())
            if self._waiting is None:
                return self._report(None)
            if self._champion is None:
                return self._publish_baseline(self._waiting)
            candidate, self._waiting = self._waiting, None
            self._trial = self._trial_of(candidate, self._champion)
        trial = self._trial
        if not trial.round(seconds):
            return self._report(None)
        if (champion := self._current_champion()) is not trial.champion:
            log.warning("the match of version %s begins anew", trial.candidate.version)
            self._trial = self._trial_of(trial.candidate, champion)
            return self._report(None)
        return self._judge(trial)

    def _refused(self, error: UnwritableError | UnreachableError) -> GateReport:
        """Report that a verdict is not published yet; raise the error if that has lasted too long."""
        now = time.monotonic()
        if self._unwritable_since is None:
            log.warning("a verdict is not published, tried again until it is: %s", error)
            self._unwritable_since = now
        if now - self._unwritable_since > UNWRITABLE_S:
            raise error
        report = self._report(None)
        return replace(report, summary=f"{report.summary}; not published yet: {error}")

    def state(self) -> bytes:
        """Return the unfinished work: the waiting candidate, the match with its candidate, the last report."""
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
            arrays |= {_MATCH + name: array for name, array in self._trial.arrays().items()}
            header |= {"terms": self._terms(self._trial.champion.version), "seconds": self._trial.seconds}
        header["strength"], playing = self._strength.state()
        if playing is not None:
            arrays["playing"] = np.frombuffer(playing.to_bytes(), np.uint8)
        return archive.pack("gate", STATE_FORMAT, arrays, header)

    def restore(self, data: bytes) -> None:
        """Continue from `state()`, as far as the registry still agrees with it.

        A candidate judged after the state was saved is skipped, unless this gate `repeats`: then it is judged again,
        and published as before.  A match continues from its saved games if champion and settings are unchanged;
        otherwise its candidate plays the current champion from the first game.
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
                self._trial = self._trial_of(candidate, self._champion)
                if header["terms"] == self._terms(self._champion.version):
                    self._trial.restore(archive.under(_MATCH, arrays), float(header["seconds"]))
        if strength := header.get("strength"):
            playing = arrays.get("playing")
            weights = None if playing is None else Weights.from_bytes(playing.tobytes(), "a model in the gate state")
            self._strength.restore(strength, weights)
        if "waiting" in arrays:
            self.offer(arrays["waiting"].tobytes())

    def _read_registry(self, last: int) -> None:
        """Read from the registry the champion and the verdicts up to version `last`."""
        models = [model for model in self.registry.models() if model.version <= last]
        self._judged = self._newest = max((model.version for model in models), default=-1)
        self._promotions = sum(model.verdict == "promoted" for model in models)
        self._rejected = [model.version for model in models if model.verdict == "rejected"]
        self._champion, self._champion_elo = None, 0.0
        self._opponents = [model.version for model in models if model.verdict != "rejected"]
        if self._opponents:
            self._take_over(self._standing())

    def _standing(self) -> ModelInfo:
        """Return the newest model that was promoted and not withdrawn, at first the baseline."""
        rollbacks = self.registry.rollbacks()
        return self.registry.get(max(each for each in self._opponents if withdrawal(each, rollbacks) is None))

    def _current_champion(self) -> Weights:
        """Return the champion; a person may have rolled the registry back to another one since the last verdict."""
        assert self._champion is not None
        if (info := self._standing()).version != self._champion.version:
            log.warning("version %s is the champion, and %s no more", info.version, self._champion.version)
            self._take_over(info)
            self._sink.promoted(self._champion.to_bytes())
        return self._champion

    def _take_over(self, info: ModelInfo) -> None:
        """Make `info` the model that candidates must beat.

        It is published again, which changes nothing unless a crash came between the model and `gated.json`.
        """
        self._champion = self.registry.load(info)
        self._champion.check_game(self.game)
        self._champion_elo = _elo_of([self.registry.get(version) for version in self._elders(info)])
        self.registry.publish(self._champion, info.verdict, info.match)

    def _elders(self, info: ModelInfo) -> list[int]:
        """Return the versions whose matches say a champion's Elo, oldest first: its own, or all so far."""
        stated = info.match is None or info.match.get("champion_elo") is not None
        return [version for version in self._opponents if version == info.version or not stated]

    def _announce(self) -> None:
        """Pass the champion, or the baseline, that existed before this gate to the sink, once."""
        if not self._announced and self._champion is not None:
            self._sink.promoted(self._champion.to_bytes())
        self._announced = True

    def _collect(self) -> None:
        if (data := self._source.candidate()) is not None:
            self.offer(data)

    def _publish_baseline(self, candidate: Weights) -> GateReport:
        """Publish the first model, without a match: it is no champion, but the one that the first champion beats."""
        self.registry.publish(candidate, "first", None, self._spent)
        self._opponents.append(candidate.version)
        self._waiting, self._champion, self._judged = None, candidate, candidate.version
        self._strength.judged(candidate, self._opponents, promoted=True)
        self._sink.promoted(candidate.to_bytes())
        return self._report("first")

    def _trial_of(self, candidate: Weights, champion: Weights) -> Trial:
        return Trial(self.config, self.game, self._openings, self._labels, candidate, champion)

    def _terms(self, opponent_version: int) -> dict[str, Any]:
        """Return what must be unchanged for a saved match to continue."""
        config = {name: value for name, value in asdict(self.config).items() if not name.startswith("opponent")}
        return {"config": config, "seed": self._seed, "opponent_version": opponent_version}

    def _judge(self, trial: Trial) -> GateReport:
        """Publish the verdict before telling the sink, so that after a crash no champion is missing in the registry."""
        result = trial.result()
        score = score_of(result)
        verdict = verdict_of(self.config, result)
        assert verdict is not None, f"a match that is done has a verdict, got {result}"
        promoted = verdict == "promoted"
        elo = self._champion_elo + score.elo
        record = {
            **asdict(score),
            "black": result.black,
            "white": result.white,
            "pairs": result.pairs,
            "opponent_version": trial.champion.version,
            "simulations": self.config.simulations,
            "rule": self.config.rule,
            "wins_needed": self.config.wins,
            "games_planned": self.config.games,
            "champion_elo": elo if promoted else self._champion_elo,
            "seconds": round(trial.seconds, 1),
            "truth": asdict(trial.truth) if trial.truth else None,
        }
        self.registry.publish(trial.candidate, verdict, record, self._spent, trial.margin_errors)
        self._judged = trial.candidate.version
        if promoted:
            self._champion, self._champion_elo = trial.candidate, elo
            self._opponents.append(trial.candidate.version)
            self._promotions += 1
            self._sink.promoted(trial.candidate.to_bytes())
        else:
            self._rejected.append(trial.candidate.version)
            self._thin()
        self._strength.judged(trial.candidate, self._opponents, promoted=promoted)
        report = self._last = self._report(verdict)
        self._trial = None
        return replace(report, games=trial.games())

    def _thin(self) -> None:
        """Drop the weights of old rejected candidates; where that fails it is tried again after the next rejection."""
        if self._keep_rejected is None:
            return
        try:
            self.registry.prune(self._rejected, self._keep_rejected)
        except (UnwritableError, UnreachableError) as error:
            log.warning("weights of rejected candidates are left over (registry.keep_rejected): %s", error)

    def _report(self, verdict: Verdict | None) -> GateReport:
        """Return the gate's report, with the running match or else the last one."""
        trial, last = self._trial, self._last
        standing: dict[str, Any] = {
            "verdict": verdict,
            "champion_version": self._champion.version if self._champion and self._promotions else -1,
            "champion_elo": self._champion_elo,
            "promotions": self._promotions,
            "rejections": len(self._rejected),
            "superseded": self._superseded,
        }
        if trial is not None:
            score = score_of(trial.result())
            return report_of_match(
                score,
                candidate_version=trial.candidate.version,
                opponent_version=trial.champion.version,
                match_s=trial.seconds,
                truth=trial.truth,
                summary=self._summary(trial, score, verdict),
                **standing,
            )
        if last is not None:
            return replace(last, **standing)
        first = f"version {self._champion.version} is the baseline, no match yet" if self._champion else "no model yet"
        return GateReport(summary=first, **standing)

    def _summary(self, trial: Trial, score: Score, verdict: Verdict | None) -> str:
        candidate, opponent = trial.candidate.version, trial.champion.version
        if verdict is not None:
            return f"version {candidate} {verdict} against {opponent}: {score.summary}"
        before = f"; before: {self._last.summary}" if self._last else ""
        counts = f"{score.wins}-{score.draws}-{score.losses} of {self.config.games}"
        return f"version {candidate} against {opponent}: {counts}{before}"


def _elo_of(crowned: Sequence[ModelInfo]) -> float:
    """Return the Elo of the last of a run's champions over its first, from the differences where no match says it."""
    elo = 0.0
    for match, path in ((info.match, info.path) for info in crowned if info.match is not None):
        stated: float | None = match.get("champion_elo")
        elo = elo + (match.get("elo") or 0.0) if stated is None else stated
        if stated is None:
            log.warning("%s/model.json has no champion_elo: it is taken to be %+.0f", path, elo)
    return elo


def _labels(config: GateConfig, game: Game) -> Labels | None:
    """Return the solved positions of `config`, always the same ones, or None if it has none."""
    if config.truth_positions == 0 or game.id == TICTACTOE:
        return None
    most = min(config.truth_empties, game.squares // 3)  # with more, 4x4 has too few positions
    return make_labels(game, range(min(game.squares // 6, most), most + 1), config.truth_positions, seed=0)
