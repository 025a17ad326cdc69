"""Labels: positions with the exact score of every legal move, made from a seed by the solver.

The positions come from games that are neither random nor perfect: each ply is random with some probability, otherwise
chosen by flat Monte Carlo with few playouts.  Positions are distinct up to symmetry, have at least two legal moves, and
are spread evenly over the numbers of empty squares; each game gives at most one.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reversi import archive
from reversi.errors import CorruptFileError, UsageError
from reversi.files import write_output
from reversi.games.bitboard import Masks
from reversi.games.rules import (
    GAMES,
    RULES_VERSION,
    UNFINISHED,
    Game,
    game_named,
    legal_actions_mask,
    outcomes,
    play_batch,
)
from reversi.games.symmetry import canonical_key
from reversi.kernels.threads import Threads
from reversi.players.flat_mc import flat_monte_carlo
from reversi.solver.search import NO_SCORE
from reversi.solver.solver import solve_batch

KIND, FORMAT = "labels", 1

RANDOM_SHARE = 0.25
"""Probability that a ply is uniformly random."""

PLAYOUTS = 24
"""Playouts of flat Monte Carlo for each of the other plies: about three per move."""

FEWEST_EMPTIES = 2
"""Fewest empty squares of a position: with one there is no choice."""

GAMES_AT_ONCE = 256
"""Games played in lockstep; each gives at most one position."""

PATIENCE = 20
"""Rounds of games by whose new positions it is judged whether the rest can be found."""

LONGEST_WAIT = 1000
"""Drawing ends in an error once the rest, at the present rate, would take this many times `PATIENCE` rounds or more."""

SOLVED_AT_ONCE = 8
"""Positions per thread solved between two progress reports."""

Progress = Callable[[int, int, str], None]
"""Receives the number of positions done, of all positions, and what was done: drawn or solved."""


def _silent(done: int, of: int, what: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Labels:
    """B positions of one game, in increasing order of their empty squares."""

    game: str
    seed: int
    own: Masks  # uint64[B]     discs of the side to move
    opp: Masks  # uint64[B]     discs of the other side
    empties: NDArray[np.int8]  # [B]     empty squares
    scores: NDArray[np.int8]  # [B, A]   own - opp at the end after each action, NO_SCORE where it is illegal

    def __len__(self) -> int:
        return len(self.own)

    @property
    def hash(self) -> str:
        """SHA-256 of the game, the rules version and the arrays, in hexadecimal: equal labels have equal hashes."""
        digest = hashlib.sha256(f"{self.game} {RULES_VERSION} {len(self)}".encode())
        for array in (self.own, self.opp, self.empties, self.scores):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def make_labels(
    game: Game | str,
    empties: range,
    positions: int,
    seed: int,
    threads: int = 1,
    progress: Progress = _silent,
) -> Labels:
    """Draw positions with every number of empty squares in `empties`, and solve them.

    The result depends on the seed, not on the threads.  Raises UsageError if the game cannot have these numbers of
    empty squares with a choice of moves, or has too few such positions.
    """
    game = game_named(game)
    most = game.squares - game.start_own.bit_count() - game.start_opp.bit_count()
    if not empties or min(empties) < FEWEST_EMPTIES or max(empties) > most:
        expected = f"from {FEWEST_EMPTIES} to {most} empty squares in {game.name}"
        raise UsageError(f"expected {expected}, got {_name_of(empties)}")
    own, opp = draw_positions(game, empties, positions, seed, threads, progress)
    scores = np.full((len(own), game.actions), NO_SCORE, np.int8)
    chunks = -(-len(own) // (SOLVED_AT_ONCE * threads))
    done = 0
    for chunk in range(chunks):
        rows = slice(chunk, None, chunks)  # easy and hard ones in every chunk
        scores[rows] = solve_batch(game, own[rows].copy(), opp[rows].copy(), threads=threads)
        done += len(own[rows])
        progress(done, len(own), "solved")
    counts = game.squares - np.bitwise_count(own | opp)
    return Labels(game.name, seed, own, opp, counts.astype(np.int8), scores)


def draw_positions(
    game: Game, empties: range, positions: int, seed: int, threads: int, progress: Progress = _silent
) -> tuple[Masks, Masks]:
    """Return (own, opp), both uint64[positions]: equally many for each number of empty squares, within one.

    Raises UsageError once new positions have become too rare to find the rest.
    """
    rng, pool = np.random.default_rng(seed), Threads(threads)
    share, extra = divmod(positions, len(empties))
    wanted = {count: share + int(i < extra) for i, count in enumerate(empties)}
    drawn_by_count: dict[int, dict[tuple[int, int], tuple[int, int]]] = {count: {} for count in empties}
    have, games = 0, 0
    latest: deque[int] = deque(maxlen=PATIENCE)  # new positions of each round
    while lacking := [count for count in empties if len(drawn_by_count[count]) < wanted[count]]:
        if len(latest) == PATIENCE and sum(latest) * LONGEST_WAIT <= positions - have:
            raise UsageError(
                f"expected {positions} distinct positions of {game.name}, but found only {have} in {games} games: "
                f"too few with {', '.join(map(str, lacking))} empty squares"
            )
        targets = np.resize(lacking, GAMES_AT_ONCE)
        for g, position in _play_to(game, targets, rng, pool).items():
            known, same = drawn_by_count[int(targets[g])], canonical_key(game, *position)
            if same not in known and len(known) < wanted[int(targets[g])]:
                known[same] = position
        latest.append(sum(map(len, drawn_by_count.values())) - have)
        have, games = have + latest[-1], games + GAMES_AT_ONCE
        progress(have, positions, "drawn")
    rows = [position for count in sorted(empties) for position in drawn_by_count[count].values()]
    masks = np.array(rows, np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(masks[:, 0]), np.ascontiguousarray(masks[:, 1])


def _play_to(
    game: Game, targets: NDArray[np.int64], rng: np.random.Generator, threads: Threads
) -> dict[int, tuple[int, int]]:
    """Play a game for each target; return by game the first position with that many empty squares and several moves.

    A game without one, because it ends earlier or all moves there are forced, is left out.
    """
    own, opp = np.full(len(targets), game.start_own, np.uint64), np.full(len(targets), game.start_opp, np.uint64)
    playing, reached = np.arange(len(targets)), dict[int, tuple[int, int]]()
    legal, result = np.zeros((len(targets), game.actions), np.bool_), np.zeros(len(targets), np.int16)
    while len(playing):
        here_own, here_opp = own[playing], opp[playing]
        outcomes(game.id, here_own, here_opp, result[: len(playing)])
        legal_actions_mask(game.id, here_own, here_opp, legal[: len(playing)])
        left = game.squares - np.bitwise_count(here_own | here_opp) - targets[playing]
        choices = legal[: len(playing)].sum(1)
        for i in np.flatnonzero((left == 0) & (choices > 1)):
            reached[int(playing[i])] = int(here_own[i]), int(here_opp[i])
        going = (result[: len(playing)] == UNFINISHED) & ((left > 0) | ((left == 0) & (choices == 1)))
        playing = playing[going]
        if len(playing):
            own[playing], opp[playing] = _next(
                game, here_own[going], here_opp[going], legal[: len(going)][going], rng, threads
            )
    return reached


def _next(
    game: Game, own: Masks, opp: Masks, legal: NDArray[np.bool_], rng: np.random.Generator, threads: Threads
) -> tuple[Masks, Masks]:
    """Return the unfinished positions one ply later."""
    wins, tried = flat_monte_carlo(game, own, opp, PLAYOUTS, seed=int(rng.integers(2**63)), threads=threads)
    judged = np.where(tried > 0, wins / np.maximum(tried, 1), -np.inf).argmax(1)
    drawn = np.where(legal, rng.random(legal.shape), -1.0).argmax(1)
    actions = np.where(rng.random(len(own)) < RANDOM_SHARE, drawn, judged).astype(np.int32)
    play_batch(game.id, own, opp, actions)
    return own, opp


def save_labels(labels: Labels, path: Path) -> None:
    """Write the labels as an archive, atomically."""
    header: archive.Header = {
        "game": labels.game,
        "rules_version": RULES_VERSION,
        "seed": labels.seed,
        "positions": len(labels),
        "empties": sorted({int(count) for count in labels.empties}),
        "sha256": labels.hash,
    }
    arrays: archive.Arrays = {"own": labels.own, "opp": labels.opp, "empties": labels.empties, "scores": labels.scores}
    write_output(path, archive.pack(KIND, FORMAT, arrays, header))


def load_labels(path: Path) -> Labels:
    """Read labels back; raises CorruptFileError if they are damaged, of other rules or inconsistent."""
    arrays, header = archive.read(path, KIND, FORMAT)
    if header.get("rules_version") != RULES_VERSION:
        raise CorruptFileError(
            f"{path}: expected labels of rules version {RULES_VERSION}, got {header.get('rules_version')!r}"
        )
    with archive.believing(str(path)):
        game = GAMES[header["game"]]
        labels = Labels(game.name, int(header["seed"]), *(arrays[name] for name in ("own", "opp", "empties", "scores")))
        sound = _is_sound(game, labels) and labels.hash == header["sha256"]
    if not sound:
        raise CorruptFileError(f"{path}: expected positions with a score for every legal move, got others")
    return labels


def _is_sound(game: Game, labels: Labels) -> bool:
    """Return whether the arrays have their shapes, positions are valid and exactly the legal actions have scores."""
    b = len(labels)
    expected = {
        "own": (np.uint64, (b,)),
        "opp": (np.uint64, (b,)),
        "empties": (np.int8, (b,)),
        "scores": (np.int8, (b, game.actions)),
    }
    for name, (dtype, shape) in expected.items():
        array = getattr(labels, name)
        if array.dtype != dtype or array.shape != shape:
            return False
    discs = labels.own | labels.opp
    if np.any(labels.own & labels.opp) or np.any(discs & ~np.uint64(game.board_mask)):
        return False
    legal = np.zeros((b, game.actions), np.bool_)
    legal_actions_mask(game.id, labels.own, labels.opp, legal)
    in_range = np.abs(np.where(legal, labels.scores, 0).astype(np.int64)).max(initial=0) <= game.squares
    counted = np.array_equal(game.squares - np.bitwise_count(discs), labels.empties)
    return bool(counted and in_range and np.array_equal(labels.scores != NO_SCORE, legal))


def _name_of(empties: range) -> str:
    return f"{min(empties)}-{max(empties)}" if empties else "none"
