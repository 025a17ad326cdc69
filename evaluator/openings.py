"""Openings: distinct positions from which two players play twice, once with each colour.

From a single start position two strong players repeat one game, and on 6x6 White wins it; many distinct openings with
swapped colours measure strength instead.  Two openings are the same if a symmetry of the board maps one to the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.errors import ConfigError, IllegalMoveError, NotationError, UsageError, unreadable
from reversi.formats.encodings import decoded
from reversi.formats.transcripts import parse_transcript
from reversi.games.bitboard import Masks
from reversi.games.rng import random_index, scramble, stream
from reversi.games.rules import NO_ACTION, UNFINISHED, Game, game_named, list_actions, outcome, play
from reversi.games.symmetry import canonical, canonical_key
from reversi.kernels.kernel import kernel

BATCH = 1024
"""Random openings drawn at once."""

PARENTS = 256
"""Positions whose successors are looked at together."""

MOST_PLIES = 12
"""Most random plies tried when their number is not given."""

PATIENCE = 50
"""Consecutive draws without a new opening, per opening already found, after which the openings count as exhausted."""

SPELL = 10
"""Draws, per opening already found, by whose new openings it is judged whether the rest can be found."""

LONGEST_WAIT = 100
"""Drawing ends in an error if the rest, at the present rate, would take more than this many times `SPELL` draws."""


@dataclass(frozen=True)
class Openings:
    """Positions to start games from; none is finished and no two are equal up to symmetry."""

    own: Masks  # uint64[openings]  discs of the side to move
    opp: Masks  # uint64[openings]
    black_to_move: NDArray[np.bool_]  # [openings]
    actions: NDArray[np.int8]  # [openings, plies]  the plies from the game's start, NO_ACTION after the last one

    def __len__(self) -> int:
        return len(self.own)

    @property
    def digest(self) -> str:
        """The SHA-256 of the positions."""
        arrays = self.own.astype("<u8"), self.opp.astype("<u8"), self.black_to_move.astype(np.uint8)
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()

    def take(self, rows: NDArray[np.integer[Any]]) -> Openings:
        """Return the openings with the given numbers, in that order."""
        return Openings(self.own[rows], self.opp[rows], self.black_to_move[rows], self.actions[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[Openings]) -> Openings:
        """Return the openings of all `parts`, at least one and of equally many plies, in their order."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))


def random_openings(
    game: Game | str, count: int, plies: int | None, seed: int | Sequence[int], least: int | None = None
) -> Openings:
    """Return `count` openings of `plies` uniformly random plies from the game's start, forced passes included.

    plies  None means `fewest_plies`
    least  how many are enough if the game has fewer than `count` distinct unfinished positions there; None: `count`

    Raises ConfigError if the game has fewer than that.
    """
    game = game_named(game)
    if plies is None:
        plies = fewest_plies(game, count, least)
    rng = np.random.default_rng(seed)
    images, slots = np.empty((count, 2), np.uint64), np.zeros(2 << count.bit_length(), np.int64)
    rows = np.empty(BATCH, np.int64)
    parts = [(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty((0, plies), np.int8))]
    needed = count if least is None else least
    found = 0
    fruitless = drawn = judged = 0  # draws since the last new opening; draws and openings when the rate was last judged
    while found < count:
        own, opp = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
        image, actions = np.empty((BATCH, 2), np.uint64), np.empty((BATCH, plies), np.int8)
        start = np.uint64(game.start_own), np.uint64(game.start_opp)
        kept = _draw(game.id, *start, rng.integers(2**64, dtype=np.uint64), own, opp, image, actions)
        if new := _add_new(image[:kept], images, found, slots, rows):
            parts.append((own[rows[:new]], opp[rows[:new]], actions[rows[:new]]))
            fruitless = -int(rows[new - 1])
            found += new
        fruitless += BATCH
        drawn += BATCH
        too_rare = False
        if drawn > SPELL * found:
            too_rare = needed - found > LONGEST_WAIT * max(1, found - judged)
            drawn, judged = 0, found
        if found < count and (too_rare or fruitless > PATIENCE * max(found, 20)):
            if least is not None and found >= least:
                break
            raise ConfigError(
                f"expected {least or count} distinct openings of {plies} plies in {game.name}, but found only "
                f"{found}; play more opening plies or fewer games"
            )
    own, opp, played = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Openings(own, opp, np.full(found, plies % 2 == 0), played)


def fewest_plies(game: Game, count: int, least: int | None = None) -> int:
    """Return the smallest number of random plies that gives `count` distinct openings and a quarter more to draw from.

    The fewer random plies, the fewer openings are already lost for one side: 5 for the 200 openings of a 400-game match
    on 6x6 (314 exist) and on 8x8 (322).  If no number does, return the smallest one that gives `least`.
    """
    wanted = count + count // 4
    there: Masks | None = np.array([[game.start_own, game.start_opp]], np.uint64)
    for plies in range(MOST_PLIES):
        if there is None or len(there) >= wanted:
            there = None  # from here on only drawing can say whether there are enough that are not too rare
            try:
                random_openings(game, wanted, plies, 0)
            except ConfigError:
                continue
            return plies
        there = _after_a_ply(game, there, wanted)  # where these are all and too few, nothing need be drawn
    if least is not None and least < count:
        return fewest_plies(game, least)
    raise ConfigError(f"expected {count} distinct openings in {game.name}, but it has fewer; play fewer games")


def _after_a_ply(game: Game, images: Masks, most: int) -> Masks:
    """Return the distinct unfinished positions a ply after others, up to `most`: uint64[P, 2], canonical as these."""
    found, slots = np.empty((most, 2), np.uint64), np.zeros(2 << most.bit_length(), np.int64)
    image = np.empty((PARENTS * game.actions, 2), np.uint64)
    rows, count = np.empty(len(image), np.int64), 0
    for begin in range(0, len(images), PARENTS):
        children = _children(game.id, images[begin : begin + PARENTS], image)
        count += _add_new(image[:children], found, count, slots, rows)
    return found[:count]


def load_openings(path: Path | str, game: Game | str) -> Openings:
    """Read one opening per line, a transcript such as `f5d6c3`; empty lines and text after a `#` are ignored.

    Raises UsageError with the file and line for an illegal transcript, a finished game or an opening that repeats
    another up to symmetry, and for a file without openings.
    """
    try:
        lines = decoded(Path(path).read_bytes(), errors="strict").splitlines()
    except OSError as error:
        raise unreadable(path, "a file of openings", error) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected a file of openings, but it is not text") from error
    game = game_named(game)
    seen: dict[tuple[int, int], int] = {}
    rows: list[tuple[int, int, bool]] = []
    played: list[list[int]] = []
    for number, line in enumerate(lines, start=1):
        transcript = line.partition("#")[0].strip()
        if not transcript:
            continue
        try:
            actions = parse_transcript(game, transcript)
            own, opp = _follow(game, actions)
        except (NotationError, IllegalMoveError) as error:
            raise UsageError(f"{path}:{number}: {error}") from error
        if outcome(game.id, own, opp) != UNFINISHED:
            raise UsageError(f"{path}:{number}: expected an opening, got a finished game {transcript!r}")
        earlier = seen.setdefault(canonical_key(game, own, opp), number)
        if earlier != number:
            raise UsageError(f"{path}:{number}: expected distinct openings, got that of line {earlier} up to symmetry")
        rows.append((int(own), int(opp), len(actions) % 2 == 0))
        played.append(actions)
    if not rows:
        raise UsageError(f"{path}: expected one opening per line such as f5d6c3, got none")
    own_masks, opp_masks, black_to_move = zip(*rows, strict=True)
    longest = max(map(len, played))
    padded = np.array([actions + [NO_ACTION] * (longest - len(actions)) for actions in played], np.int8)
    return Openings(np.array(own_masks, np.uint64), np.array(opp_masks, np.uint64), np.array(black_to_move), padded)


def _follow(game: Game, actions: list[int]) -> tuple[np.uint64, np.uint64]:
    """Return (own, opp) after legal actions from the game's start."""
    own, opp = np.uint64(game.start_own), np.uint64(game.start_opp)
    for action in actions:
        own, opp = map(np.uint64, play(game.id, own, opp, action))
    return own, opp


@kernel
def _draw(
    game_id: int,
    start_own: np.uint64,
    start_opp: np.uint64,
    seed: np.uint64,
    own: Masks,
    opp: Masks,
    image: NDArray[np.uint64],
    played: NDArray[np.int8],
) -> int:
    """Play P uniformly random plies B times; return how many positions are unfinished.

    own, opp  uint64[B]     written: those positions, at the front
    image     uint64[B, 2]  written: their canonical (own, opp)
    played    int8[B, P]    written: the actions that lead there
    """
    actions = np.empty(65, np.int64)
    kept = 0
    for b in range(own.shape[0]):
        state = stream(seed, b)
        here, there = start_own, start_opp
        for ply in range(played.shape[1]):
            if outcome(game_id, here, there) != UNFINISHED:
                break
            action = actions[random_index(state, ply, list_actions(game_id, here, there, actions))]
            here, there = play(game_id, here, there, action)
            played[kept, ply] = action
        if outcome(game_id, here, there) == UNFINISHED:
            own[kept], opp[kept] = here, there
            image[kept, 0], image[kept, 1], _ = canonical(game_id, here, there)
            kept += 1
    return kept


@kernel
def _children(game_id: int, parents: Masks, image: Masks) -> int:
    """Play every action in unfinished positions; return how many of the positions after it are unfinished.

    parents  uint64[P, 2]  (own, opp)
    image    uint64[B, 2]  written: the canonical (own, opp) of those, with repetitions; B is P times the actions
    """
    actions = np.empty(65, np.int64)
    kept = 0
    for p in range(parents.shape[0]):
        for number in range(list_actions(game_id, parents[p, 0], parents[p, 1], actions)):
            own, opp = play(game_id, parents[p, 0], parents[p, 1], actions[number])
            if outcome(game_id, own, opp) == UNFINISHED:
                image[kept, 0], image[kept, 1], _ = canonical(game_id, own, opp)
                kept += 1
    return kept


@kernel
def _add_new(image: Masks, images: Masks, found: int, slots: NDArray[np.int64], rows: NDArray[np.int64]) -> int:
    """Add the openings that are not there yet to those found, as long as there is room; return how many there are.

    image   uint64[B, 2]  canonical (own, opp)
    images  uint64[C, 2]  of those found; written from row `found` on
    slots   int64[S]      hash table, a power of two above 2 C: a row of `images` plus one, 0 if free; written
    rows    int64[B]      written: the rows of `image` that were added
    """
    new, last = 0, np.uint64(slots.shape[0] - 1)
    for b in range(image.shape[0]):
        if found + new == images.shape[0]:
            break
        slot = scramble(scramble(image[b, 0]) + image[b, 1]) & last
        while slots[slot] != 0:
            row = slots[slot] - 1
            if images[row, 0] == image[b, 0] and images[row, 1] == image[b, 1]:
                break
            slot = (slot + np.uint64(1)) & last
        if slots[slot] == 0:
            images[found + new, 0], images[found + new, 1] = image[b, 0], image[b, 1]
            slots[slot] = found + new + 1
            rows[new] = b
            new += 1
    return new
