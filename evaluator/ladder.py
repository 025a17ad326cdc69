"""A ladder: a round robin in which all pairs play the same openings, and only the missing games are played.

Games come in batches of `BATCH_GAMES`, so that a longer ladder adds batches and repeats none.  Each is determined only
by the players, its openings and the ladder's seed: whether the results file was made in one call or in many, with
players added later, on any number of workers, it holds the same games.  (Only external programs may play differently
each time.)

Workers are threads: players spend their time in kernels and networks, which release the GIL.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from itertools import combinations

import numpy as np

from evaluator.entrants import Entrant
from evaluator.ledger import BatchKey, Entry, Ledger
from evaluator.match import Match, Pairs
from evaluator.openings import Openings
from evaluator.ratings import Pairing, Ratings, rate
from reversi.errors import UsageError
from reversi.games.rules import Game, game_named
from reversi.players import AnyPlayer

BATCH_GAMES = 20
"""Games that are played, and stored, together; an interruption loses unfinished batches."""

ROUND_S = 0.5
"""Seconds that a batch is played between two checks for a stop."""

KEPT_PLAYERS = 8
"""Models' players that each worker keeps for later batches; a player has its own threads and about 10 MB."""


def in_batches(games: int) -> int:
    """Return `games` rounded up to full batches."""
    return -(-games // BATCH_GAMES) * BATCH_GAMES


@dataclass(frozen=True)
class Batch:
    """A batch of games to play: two entrants, their openings and the key of the result."""

    a: Entrant
    b: Entrant
    openings: Openings
    key: BatchKey

    def seed(self, side: int) -> int:
        """Return the seed of `a` (0) or `b` (1) in this batch."""
        digest = hashlib.sha256(repr((astuple(self.key), side)).encode()).digest()
        return int.from_bytes(digest[:7], "little")


class Ladder:
    """A round robin of `entrants`, at least `games` games per pair, with its results in `ledger`."""

    def __init__(
        self,
        game: Game | str,
        entrants: Sequence[Entrant],
        openings: Openings,
        ledger: Ledger,
        *,
        games: int,
        seed: int,
        one_sided: int | None = None,
    ) -> None:
        """Use the first `games / 2` of `openings` for every pair, `games` rounded up by `in_batches`.

        If there are too few openings for that, all of them: their last batch is then a smaller one.

        one_sided  stop a pair once one player has won all of its games, at least this many; None plays all games.
                   This overstates the winner a little; results already in the ledger count in any case.
        """
        if games < 2 or games % 2:
            raise UsageError(f"games must be even and at least 2 (each opening is played twice), got {games}")
        if len(openings) < games // 2:
            raise UsageError(f"expected at least {games // 2} openings for {games} games a pair, got {len(openings)}")
        if len(entrants) < 2:
            raise UsageError(f"expected at least two players to rate, got {len(entrants)}")
        count = min(in_batches(games) // 2, len(openings))
        self.game, self.entrants, self.games, self.seed = game_named(game), list(entrants), 2 * count, seed
        self._ledger, self._one_sided = ledger, one_sided
        starts = range(0, count, BATCH_GAMES // 2)
        parts = [openings.take(np.arange(start, min(start + BATCH_GAMES // 2, count))) for start in starts]
        self._parts = [(part, part.digest) for part in parts]
        self._couples = [_in_order(a, b) for a, b in combinations(self.entrants, 2)]
        self._own = threading.local()  # reusable players, by name, of each worker
        self._stop = threading.Event()
        self._left = {(a.name, b.name): self._count_left(a, b) for a, b in self._couples}

    @property
    def missing(self) -> int:
        """Games not played yet; fewer may be needed if a pair turns out to be one-sided."""
        return sum(self._left.values())

    def play(self, workers: int) -> Iterator[Entry]:
        """Play the missing games on `workers` threads; yield each batch's result once it is in the ledger.

        The batches of a pair are played one after another, and the pairs take turns.  If the caller stops iterating, or
        after an error, unfinished batches are dropped.
        """
        self._stop.clear()
        with ThreadPoolExecutor(workers, "ladder") as pool:
            waiting: dict[Future[Entry | None], Batch] = {}
            try:
                for a, b in self._couples:
                    if batch := self._next(a, b):
                        waiting[pool.submit(self._play, batch)] = batch
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    finished = []
                    for future in sorted(done, key=lambda future: future.exception() is not None):  # store, then raise
                        batch, entry = waiting.pop(future), future.result()
                        assert entry is not None, "expected a result from a ladder that was not stopped"
                        self._ledger.add(entry)
                        self._left[batch.a.name, batch.b.name] = self._count_left(batch.a, batch.b)
                        finished.append(entry)
                        if following := self._next(batch.a, batch.b):
                            waiting[pool.submit(self._play, following)] = following
                    yield from finished
            finally:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def pairings(self) -> list[Pairing]:
        """Return the results of every pair so far."""
        return [Pairing(a=a.name, b=b.name, pairs=self._pairs(a, b)) for a, b in self._couples]

    def forfeits(self) -> dict[str, int]:
        """Return how many games each entrant lost by forfeit."""
        forfeits = dict.fromkeys((entrant.name for entrant in self.entrants), 0)
        for a, b in self._couples:
            for entry in self._entries(a, b):
                forfeits[a.name] += entry.forfeits[0]
                forfeits[b.name] += entry.forfeits[1]
        return forfeits

    def ratings(self, anchor: str) -> Ratings:
        """Return the ratings from all results so far; `anchor` gets 0."""
        return rate([entrant.name for entrant in self.entrants], self.pairings(), anchor)

    def _entries(self, a: Entrant, b: Entrant) -> list[Entry]:
        """Return the pair's batches in the ledger."""
        entries = (self._ledger.find(self._key(a, b, digest)) for _, digest in self._parts)
        return [entry for entry in entries if entry is not None]

    def _pairs(self, a: Entrant, b: Entrant) -> Pairs:
        """Return the pairs of games that the two have played, by the points of `a`."""
        each = [entry.pairs for entry in self._entries(a, b)]
        zero, half, one, more, two = np.array(each, np.int64).reshape(-1, 5).sum(axis=0).tolist()
        return zero, half, one, more, two

    def _count_left(self, a: Entrant, b: Entrant) -> int:
        """Return how many games of the pair are not played yet."""
        return self.games - 2 * sum(self._pairs(a, b)) if self._next(a, b) else 0

    def _next(self, a: Entrant, b: Entrant) -> Batch | None:
        """Return the pair's next batch to play, or None."""
        pairs = self._pairs(a, b)
        swept = max(pairs[0], pairs[4]) == sum(pairs)
        if self._one_sided is not None and swept and 2 * sum(pairs) >= max(self._one_sided, 1):
            return None
        for part, digest in self._parts:
            key = self._key(a, b, digest)
            if self._ledger.find(key) is None:
                return Batch(a, b, part, key)
        return None

    def _key(self, a: Entrant, b: Entrant, digest: str) -> BatchKey:
        return BatchKey(
            game=self.game.name,
            a=a.name,
            b=b.name,
            a_model=a.digest,
            b_model=b.digest,
            openings=digest,
            seed=self.seed,
        )

    def _play(self, batch: Batch) -> Entry | None:
        """Play a batch; return None if the ladder was stopped before its end."""
        begin = time.monotonic()
        with ExitStack() as stack:
            player_a = self._player(batch.a, batch.seed(0), stack)
            player_b = self._player(batch.b, batch.seed(1), stack)
            match = Match(self.game, player_a, player_b, batch.openings, 2 * len(batch.openings))
            while not match.round(ROUND_S):
                if self._stop.is_set():
                    return None
        result = match.result()
        return Entry(
            key=batch.key,
            black=result.black,
            white=result.white,
            pairs=result.pairs,
            forfeits=result.forfeits,
            seconds=round(time.monotonic() - begin, 3),
        )

    def _player(self, entrant: Entrant, seed: int, stack: ExitStack) -> AnyPlayer:
        """Return the entrant's player, made for this batch or, if reusable, kept by the worker for its next batches."""
        players: dict[str, AnyPlayer] = self._own.__dict__  # the one that was used last is the last
        player = players.pop(entrant.name, None) or entrant.make(seed)
        if entrant.reusable:
            players[entrant.name] = player
            if len(players) > KEPT_PLAYERS:
                del players[next(iter(players))]
        elif close := getattr(player, "close", None):  # an external program, closed after the batch
            stack.callback(close)
        return player


def _in_order(a: Entrant, b: Entrant) -> tuple[Entrant, Entrant]:
    """Return both in the order of their names, so that a pair does not depend on the order of the players."""
    return (a, b) if a.name < b.name else (b, a)
