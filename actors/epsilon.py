"""Epsilon-greedy play: G games at once, the network's best legal action or with probability epsilon a random one.

The positions of all games are evaluated in one batch; then every game continues, through the moves of a random opponent
and forced passes, until the network has to decide again.  A game that ends is replaced at once, so that every batch is
full.  The decisions of the network's side are UNSEARCHED in the record, and Q-learning trains on them; the opponent's
random moves and all passes are OPENING.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.config import EpsilonActorConfig
from actors.games import (
    EndedGames,
    Games,
    begin_games,
    make_games,
    pack_games,
    ply_stream,
    random_action,
    take_ply,
    take_random_ply,
    unpack_games,
)
from actors.source import ActorCounts
from reversi.games.bitboard import ONE, ZERO
from reversi.games.rng import random_uniform
from reversi.games.rules import Game, legal_moves, square_of_action
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.record import UNSEARCHED, Records
from reversi.search.evaluate import Evaluate

_EXPLORES, _MOVE = 0, 1
"""Draws from a ply's stream: whether the move is random, and which."""

FIRST, SECOND, IN_TURNS, EVERY = range(4)
"""Which plies the network decides: those of one side, of sides that alternate from game to game, or all."""


class EpsilonParams(NamedTuple):
    """The parameters of epsilon-greedy play that the kernels read, as scalars."""

    game_id: int
    seed: np.uint64
    seat: int  # FIRST, SECOND, IN_TURNS or EVERY
    random_first: bool
    epsilon: float


class EpsilonPlay:
    """G unfinished games and the network that decides in them; `play` continues all of them.  A `GameSource`."""

    finished = False
    """Epsilon play never runs out of games."""

    def __init__(self, game: Game, config: EpsilonActorConfig, evaluate: Evaluate, seed: int) -> None:
        """`evaluate` takes up to `config.games` positions a call; all randomness comes from `seed` (64 bits)."""
        self.game, self.config, self.seed = game, config, seed
        self._evaluate = evaluate
        self._seat = EVERY if config.opponent == "self" else ("first", "second", "both").index(config.side)
        self.games = make_games(game, config.games)
        self._ended = EndedGames(game, config.games, seed)
        self._results = ActorCounts()
        self._begun = 0
        self._begin(np.arange(config.games))

    @property
    def counts(self) -> ActorCounts:
        """Counts over all games so far; each decision is one position evaluated."""
        asked = int(self.games.state["asked"].sum())
        return self._results + ActorCounts(positions=asked, asked=asked)

    def epsilon(self, progress: float) -> float:
        """Return the probability of a random move: linear from `epsilon` to `final_epsilon`."""
        config = self.config
        if progress >= config.epsilon_share:
            return config.final_epsilon
        return config.epsilon + (config.final_epsilon - config.epsilon) * max(progress, 0.0) / config.epsilon_share

    def round(self, progress: float, version: int) -> Records | None:
        """Play until `round_games` games have ended, with the scheduled epsilon at `progress`."""
        return self.play(self.config.round_games, version, self.epsilon(progress))

    def play(self, ended: int, version: int, epsilon: float) -> Records | None:
        """Play until at least `ended` games have ended; return them.

        version  of the network, stored in the records
        epsilon  probability of a random move, 0 to 1
        """
        params, missing = self._params(epsilon), ended
        while missing > 0:
            state = self.games.state
            own, opp = np.ascontiguousarray(state["leaf_own"]), np.ascontiguousarray(state["leaf_opp"])
            decide(self.games, params, *self._evaluate(own, opp))
            play_on(self.games, params)
            missing -= self._replace_ended(version)
        records = self._ended.take(version)
        if records is not None and self._seat != EVERY:
            self._results += results_of(records)
        return records

    def clear_cache(self) -> None:
        """Do nothing: evaluations are not cached."""

    def arrays(self, *, cache: bool = True) -> dict[str, NDArray[Any]]:
        """Return the state of the games in progress, without their policies, which are all 0."""
        games = pack_games(self.games)
        del games["policies"]
        results = self._results
        return {
            **games,
            "begun": np.array([self._begun]),
            "results": np.array([results.wins, results.draws, results.losses]),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the games of `arrays()`; the shapes must be this actor's own."""
        unpack_games(self.games, {**arrays, "policies": self.games.policies})
        self._begun = int(arrays["begun"][0])
        wins, draws, losses = map(int, arrays["results"])
        self._results = ActorCounts(wins=wins, draws=draws, losses=losses)

    def _params(self, epsilon: float) -> EpsilonParams:
        return EpsilonParams(self.game.id, np.uint64(self.seed), self._seat, self.config.random_first, epsilon)

    def _replace_ended(self, version: int) -> int:
        """Set the ended games aside and begin others, until all games wait; return how many ended."""
        count = 0
        while len(rows := np.flatnonzero(self.games.state["over"])):
            self._ended.put(self.games, rows, version)
            self._begin(rows)
            count += len(rows)
        return count

    def _begin(self, rows: NDArray[np.int64]) -> None:
        """Begin games in `rows` and play each to the network's first decision."""
        start_own, start_opp = np.uint64(self.game.start_own), np.uint64(self.game.start_opp)
        begin_games(
            self.games,
            self.game.id,
            rows,
            first_number=self._begun,
            start_own=start_own,
            start_opp=start_opp,
            seed=np.uint64(self.seed),
            opening_plies=0,
        )
        self._begun += len(rows)
        play_on(self.games, self._params(0.0))


def results_of(records: Records) -> ActorCounts:
    """Return wins, draws and losses of the network's side; in every game it is one side."""
    game, ply = records.game_and_ply()
    moves_second = np.bincount(game[(records.ply_kind == UNSEARCHED) & (ply % 2 == 1)], minlength=len(records)) > 0
    margin = np.where(moves_second, -records.margin, records.margin)
    return ActorCounts(wins=int((margin > 0).sum()), draws=int((margin == 0).sum()), losses=int((margin < 0).sum()))


@kernel
def decide(games: Games, params: EpsilonParams, logits: NDArray[np.float32], value: NDArray[np.float32]) -> None:
    """Play in every game its best legal action, or with probability epsilon a random legal one; all games must wait.

    logits  float32[G, A]  action values of the games' positions; the first of equal ones is best
    value   float32[G]     utility for the side to move, stored in the record
    """
    for g in range(games.state.shape[0]):
        state = games.state[g]
        ply = state.plies
        legal = legal_moves(params.game_id, state.own, state.opp)
        start = ply_stream(params.seed, state.number, ply)
        explores = random_uniform(start, _EXPLORES) < params.epsilon
        if explores or (params.random_first and ply == 0):
            action = random_action(params.game_id, legal, start, _MOVE)
        else:
            action = _best_action(params.game_id, legal, logits[g])
        state.asked += 1
        state.waits = False
        take_ply(games, params.game_id, g, action, UNSEARCHED)
        games.values[g, ply] = min(max(value[g], np.float32(-1)), np.float32(1))


@kernel
def play_on(games: Games, params: EpsilonParams) -> None:
    """Play every game that does not wait until the network has to decide in it or it is over."""
    for g in range(games.state.shape[0]):
        state = games.state[g]
        while not state.over and not state.waits:
            can_move = legal_moves(params.game_id, state.own, state.opp) != ZERO
            if can_move and _is_decided_by_network(params.seat, state.number, state.plies):
                state.leaf_own, state.leaf_opp = state.own, state.opp
                state.waits = True
            else:
                take_random_ply(games, params.game_id, g, ply_stream(params.seed, state.number, state.plies), _MOVE)


@bare_kernel
def _is_decided_by_network(seat: int, number: int, ply: int) -> bool:
    """Return whether the network decides this ply; passes are plies, so the sides alternate."""
    if seat == EVERY:
        return True
    side = number % 2 if seat == IN_TURNS else seat
    return bool(ply % 2 == side)


@bare_kernel
def _best_action(game_id: int, legal: np.uint64, logits: NDArray[np.float32]) -> int:
    """Return the legal action with the largest logit, the first of equal ones; there is a legal square."""
    best = -1
    for action in range(logits.shape[0] - 1):
        is_legal = (legal >> np.uint64(square_of_action(game_id, action))) & ONE
        if is_legal != ZERO and (best < 0 or logits[action] > logits[best]):
            best = action
    return best
