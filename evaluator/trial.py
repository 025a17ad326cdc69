"""`Trial`: one candidate's match against the champion, from its openings to its last game, in rounds of seconds.

Before the first game the champion's search judges the openings and the candidate is checked on solved positions, some
20 s on one core for a large network on 8x8; after the last one the errors of a new champion's margins are measured in
its games, in some seconds.  A round does as much of that as fits, so that the gate always answers within seconds.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from numpy.typing import NDArray

from evaluator.config import GateConfig
from evaluator.contestants import Contestants
from evaluator.gate_openings import GateOpenings, slices
from evaluator.labels import Labels
from evaluator.margin_errors import measured_errors, played_positions
from evaluator.match import Match, MatchResult
from evaluator.openings import Openings
from evaluator.saved_games import ggf_of
from evaluator.truth import Truth, ask, joined, truth_of
from reversi.games.rules import TICTACTOE, Game
from reversi.model.info import Verdict
from reversi.model.margin_errors import MarginErrors
from reversi.model.weights import Weights
from reversi.players import AlphaBetaModelPlayer, Player

MOST_MEASURED = 50
"""Most positions for each number of empty squares of which the errors of margins are measured: 0.4 s in all for
patterns."""


def verdict_of(config: GateConfig, result: MatchResult) -> Verdict | None:
    """Return the verdict on the candidate, None while the remaining games can still decide it.

    A verdict is that of the full match, whatever the results of the remaining games.
    """
    half_points = 2 * result.wins + (result.draws if config.rule == "score" else 0)
    if half_points >= 2 * config.wins:
        return "promoted"
    return "rejected" if half_points + 2 * result.remaining < 2 * config.wins else None


class Trial:
    """A match, being set up, running or finished, and its players."""

    def __init__(
        self,
        config: GateConfig,
        game: Game,
        openings: GateOpenings,
        labels: Labels | None,
        candidate: Weights,
        champion: Weights,
    ) -> None:
        """Nothing is computed before the first round.

        labels  solved positions on which the candidate is checked, None for none
        """
        self._config, self._game, self._openings = config, game, openings
        self._contestants = Contestants(config, game)
        self.candidate, self.champion = candidate, champion
        self.truth: Truth | None = None
        """The candidate's results on the solved positions, once they are complete."""
        self.seconds = 0.0
        """Seconds of play so far."""
        self.margin_errors: MarginErrors | None = None
        """The errors of the candidate's expected margins, once it is promoted."""
        self._match: Match | None = None
        self._setting_up = self._set_up(labels)
        self._measuring = self._measure()

    def round(self, seconds: float) -> bool:
        """Set up, play or measure for about `seconds`; return whether all is done, and the verdict certain.

        0 completes the set-up, if that is due, and plays one ply of every game in progress; after the last one it
        measures all: such a run repeats exactly.
        """
        deadline = time.monotonic() + seconds
        for _ in self._setting_up:
            if seconds and time.monotonic() >= deadline:
                return False
        assert self._match is not None
        begin = time.monotonic()
        done = self._match.round(max(0.0, deadline - begin))
        self.seconds += time.monotonic() - begin
        if not done:
            return False
        return not any(seconds and time.monotonic() >= deadline for _ in self._measuring)

    def result(self) -> MatchResult:
        """Return the result of the finished games so far."""
        if self._match is not None:
            return self._match.result()
        none = (0, 0, 0)
        return MatchResult(games=self._config.games, black=none, white=none, pairs=(0, 0, 0, 0, 0))

    def games(self) -> str:
        """Return the finished games as GGF; none of tic-tac-toe, which GGF has no name for."""
        return ggf_of(self._match) if self._match is not None and self._game.id != TICTACTOE else ""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the games for a checkpoint; none before the openings are chosen."""
        return self._match.arrays() if self._match is not None else {}

    def restore(self, arrays: dict[str, NDArray[Any]], seconds: float) -> None:
        """Continue from `arrays()` of a match that was played for `seconds`."""
        self.seconds = seconds
        if arrays:
            drawn = self._openings.drawn(self.candidate.version)  # any will do: the arrays contain those chosen
            self._match = self._match_of(self._contestants.playing(self.champion), drawn)
            self._match.restore(arrays)

    def _set_up(self, labels: Labels | None) -> Generator[None, None, None]:
        """Choose the openings and check the candidate; yields between parts that take at most some seconds."""
        if self._match is None:
            opponent = self._contestants.playing(self.champion)
            judge = self._contestants.judging(self.champion) if isinstance(opponent, AlphaBetaModelPlayer) else opponent
            yield
            self._match = self._match_of(opponent, (yield from self._openings.choose(self.candidate.version, judge)))
            yield
        if labels is not None:
            self.truth = yield from self._truth(labels)

    def _truth(self, labels: Labels) -> Generator[None, None, Truth]:
        """Check the candidate's moves without the solver, which would get all of these positions right."""
        player = self._contestants.searching(self.candidate, self._config.truth_simulations, solve_empties=0)
        answers = []
        for rows in slices(len(labels)):
            answers.append(ask(player, labels, rows))
            yield
        return truth_of(labels, joined(answers))

    def _measure(self) -> Generator[None, None, None]:
        """Measure the errors of a new champion's margins in the games of its match."""
        config, game = self._config, self._game
        wanted = game.counts_discs and config.truth_positions and verdict_of(config, self.result()) == "promoted"
        if self._match is None or not wanted:
            return
        yield
        self.margin_errors = yield from measured_errors(
            game,
            [played_positions(game, each.actions)[each.opening_plies :] for each in self._match.finished_games()],
            self._contestants.analysing(self.candidate),
            simulations=config.truth_simulations,
            positions=min(MOST_MEASURED, config.truth_positions),
        )

    def _match_of(self, opponent: Player, openings: Openings) -> Match:
        config = self._config
        return Match(
            self._game,
            self._contestants.playing(self.candidate),
            opponent,
            openings,
            config.games,
            games_at_once=config.games_at_once,
            certain=lambda result: verdict_of(config, result) is not None,
        )
