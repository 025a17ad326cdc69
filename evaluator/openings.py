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
from reversi.games.bitboard import Masks
from reversi.games.notation import parse_transcript
from reversi.games.rules import NO_ACTION, UNFINISHED, Game, game_named, list_actions, outcome, play
from reversi.games.symmetry import canonical, canonical_key
from reversi.kernel import kernel
from reversi.search.chance import random_index, stream

BATCH = 1024
"""Random openings drawn at once."""

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
    found: dict[tuple[int, int], tuple[int, int]] = {}
    played: list[NDArray[np.int8]] = []
    needed = count if least is None else least
    fruitless = drawn = judged = 0  # draws since the last new opening; draws and openings when the rate was last judged
    while len(found) < count:
        own, opp = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
        image, actions = np.empty((BATCH, 2), np.uint64), np.empty((BATCH, plies), np.int8)
        start = np.uint64(game.start_own), np.uint64(game.start_opp)
        kept = _draw(game.id, *start, rng.integers(2**64, dtype=np.uint64), own, opp, image, actions)
        for b in range(kept):
            same = int(image[b, 0]), int(image[b, 1])
            if same not in found and len(found) < count:
                found[same] = int(own[b]), int(opp[b])
                played.append(actions[b].copy())
                fruitless = 0
            fruitless += 1
        fruitless += BATCH - kept
        drawn += BATCH
        too_rare = False
        if drawn > SPELL * len(found):
            too_rare = needed - len(found) > LONGEST_WAIT * max(1, len(found) - judged)
            drawn, judged = 0, len(found)
        if len(found) < count and (too_rare or fruitless > PATIENCE * max(len(found), 20)):
            if least is not None and len(found) >= least:
                break
            raise ConfigError(
                f"expected {least or count} distinct openings of {plies} plies in {game.name}, but found only "
                f"{len(found)}; play more opening plies or fewer games"
            )
    masks = np.array(list(found.values()), np.uint64).reshape(-1, 2)
    black = np.full(len(found), plies % 2 == 0)
    actions = np.array(played, np.int8).reshape(len(found), plies)
    return Openings(np.ascontiguousarray(masks[:, 0]), np.ascontiguousarray(masks[:, 1]), black, actions)


def fewest_plies(game: Game, count: int, least: int | None = None) -> int:
    """Return the smallest number of random plies that gives `count` distinct openings and a quarter more to draw from.

    The fewer random plies, the fewer openings are already lost for one side: 5 for the 200 openings of a 400-game match
    on 6x6 (314 exist) and on 8x8 (322).  If no number does, return the smallest one that gives `least`.
    """
    for plies in range(MOST_PLIES):
        try:
            random_openings(game, count + count // 4, plies, 0)
        except ConfigError:
            continue
        return plies
    if least is not None and least < count:
        return fewest_plies(game, least)
    raise ConfigError(f"expected {count} distinct openings in {game.name}, but it has fewer; play fewer games")


def load_openings(path: Path | str, game: Game | str) -> Openings:
    """Read one opening per line, a transcript such as `f5d6c3`; empty lines and text after a `#` are ignored.

    Raises UsageError with the file and line for an illegal transcript, a finished game or an opening that repeats
    another up to symmetry, and for a file without openings.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()  # with or without a byte order mark
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
