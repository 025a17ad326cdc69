"""Game records: finished games as columns, their bytes, and a check that replays every ply.

A record is one finished game.  Records are sent many at a time, column by column, in one archive of kind "records": no
pickle, a bounded size, and nothing in it is trusted before `decode` has checked its shapes and `check` every move.  The
plies of all games are concatenated; game g has the `plies[g]` plies that follow those of the games before it.  In bytes
only SEARCHED plies have a policy: a game without a search takes 4 bytes a ply, on 8x8 a sixteenth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from reversi import archive
from reversi.columns import Columns
from reversi.errors import CorruptFileError, CorruptRecordError
from reversi.games.bitboard import ONE, ZERO, Masks
from reversi.games.rules import (
    GAMES,
    RULES_VERSION,
    UNFINISHED,
    game_named,
    legal_moves,
    outcome,
    play,
    square_of_action,
)
from reversi.kernels.kernel import bare_kernel, kernel

KIND = "records"
FORMAT = 3
"""Version of the byte format; changes when an older program could not read it."""

MAX_BYTES = 256 << 20
"""Largest batch of records that is decoded, 256 MiB: almost four million plies of 8x8."""

BATCH_BYTES = MAX_BYTES - (1 << 20)
"""Size of the columns at which `batches` begins another batch; the rest is for the last game and the header."""

MAX_PRODUCER = 200
"""Longest name of a producer, in characters."""

REACH = 1024
"""How far behind a producer's highest number late and repeated batches are told apart; older ones count as repeated."""

OPENING, SEARCHED, UNSEARCHED, EXPLORED = range(4)
"""Kinds of a ply: OPENING is not trained on, SEARCHED gives policy and value targets, UNSEARCHED only a value.  In an
EXPLORED ply a random move was played, and the value is that of the best one: it trains values too."""

REASONS = (
    "good",
    "bad-start",  # discs overlap or are off the board, or the game is over before its first ply
    "illegal-move",
    "plays-on",  # plies after the end of the game
    "unfinished",
    "wrong-margin",
    "wrong-board",  # the final board is not the one that the plies reach
    "policy-off-rules",  # a visit at an illegal action
    "no-policy",  # a searched ply without a visit
    "bad-value",  # not a number between -1 and 1
    "bad-kind",  # a kind of ply that this format does not have
    "bad-exact",  # `exact_from` is not a ply of the game, or an exact value is below that of the move played
)
"""The findings of `check`, by code; hyphenated, since they are used in file names."""

GOOD, BAD_START, ILLEGAL_MOVE, PLAYS_ON, NO_END, WRONG_MARGIN, WRONG_BOARD = range(7)
POLICY_OFF_RULES, NO_POLICY, BAD_VALUE, BAD_KIND, BAD_EXACT = range(7, 12)

_ONE_HALF_PRECISION = 0x3C00  # the bits of float16 1.0: no magnitude's bits are larger, infinities' and NaNs' neither

Scalar = TypeVar("Scalar", bound=np.generic)
PerGame = Annotated[NDArray[Scalar], "G"]
PerPly = Annotated[NDArray[Scalar], "P"]
PerAction = Annotated[NDArray[Scalar], "PA"]


class OtherRulesError(CorruptRecordError):
    """Valid records that were played under another version of the rules."""


@dataclass(frozen=True, kw_only=True)
class Records(Columns):
    """Finished games of one board; `own` and `opp` are the sides that move first and second in the record."""

    game: str
    """A name in `GAMES`."""

    start_own: PerGame[np.uint64]
    start_opp: PerGame[np.uint64]
    black_first: PerGame[np.uint8]  # 1 if the side that moves first in the record is Black
    plies: PerGame[np.int32]  # passes included
    actions: PerPly[np.uint8]
    policy: PerAction[np.uint8]  # visits, scaled so that the largest is 255; all 0 without a search
    value: PerPly[np.float16]  # root value, the mover's view, -1 to 1; from `exact_from` on that of perfect play
    ply_kind: PerPly[np.uint8]  # OPENING, SEARCHED, UNSEARCHED or EXPLORED
    margin: PerGame[np.int8]  # discs, first mover's minus second's
    final_own: PerGame[np.uint64]  # the first mover's discs at the end
    final_opp: PerGame[np.uint64]
    version: PerGame[np.int32]  # version of the model that played
    seed: PerGame[np.uint64]  # seed that reproduces the game
    exact_from: PerGame[np.int32]  # first ply from which on all values are the solver's; `plies` if none is

    def __len__(self) -> int:
        """Games."""
        return len(self.plies)

    @property
    def positions(self) -> int:
        """Plies of all games together, P."""
        return len(self.actions)

    def game_and_ply(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return two int64[P]: the index of every position's game, and its ply in that game."""
        first = np.cumsum(self.plies) - self.plies
        return np.repeat(np.arange(len(self)), self.plies), np.arange(self.positions) - np.repeat(first, self.plies)

    @property
    def value_bits(self) -> NDArray[np.uint16]:
        """The bits of `value`."""
        return self.value.view(np.uint16)

    def select(self, chosen: NDArray[np.bool_]) -> Records:
        """Return the games where `chosen[g]`, in their order."""
        rows = {"G": chosen, "P": np.repeat(chosen, self.plies)}
        return replace(self, **{name: getattr(self, name)[rows[axes[0]]] for name, (_, axes) in self.COLUMNS.items()})

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the games of all `parts`, at least one, in their order; they must be of one game."""
        games = {part.game for part in parts}
        if len(games) != 1:
            raise ValueError(f"expected records of one game, got {sorted(games)}")
        return super().concatenate(parts)


def encode(records: Records, producer: str, sequence: int) -> bytes:
    """Return the bytes of a batch; (producer, sequence) identifies it, so that a repeated delivery is recognised."""
    columns = {name: np.asarray(getattr(records, name), dtype) for name, (dtype, _) in Records.COLUMNS.items()}
    columns["policy"] = columns["policy"][columns["ply_kind"] == SEARCHED]
    header = {"game": records.game, "rules_version": RULES_VERSION, "producer": producer, "sequence": sequence}
    return archive.pack(KIND, FORMAT, columns, header)


def batches(records: Records, producer: str, first: int) -> Iterator[bytes]:
    """Yield the bytes of `records` in as few batches as `decode` accepts, numbered from `first` on; games in order.

    Equal records give equal batches.
    """
    row_bytes: Counter[str] = Counter()
    for name, (dtype, axes) in Records.COLUMNS.items():
        row_bytes[axes[0]] += dtype.itemsize * math.prod(getattr(records, name).shape[1:])
    sizes = row_bytes["G"] + row_bytes["P"] * records.plies.astype(np.int64)
    batch = np.cumsum(sizes) // BATCH_BYTES
    for sequence, number in enumerate(np.unique(batch), first):
        yield encode(records.select(batch == number), producer, sequence)


def is_encoded(data: bytes) -> bool:
    """Return whether the bytes begin as those of `encode` do."""
    try:
        archive.read_header(data, KIND, FORMAT, "records")
    except CorruptFileError:
        return False
    return True


def decode(data: bytes, where: str) -> tuple[Records, str, int]:
    """Return (records, producer, sequence) of `encode`'s bytes; `where` names their origin in errors.

    The columns are consistent and the arrays writable; `check` verifies that the games follow the rules.
    Raises OtherRulesError for another rules version, CorruptRecordError for any other invalid batch.
    """
    if len(data) > MAX_BYTES:
        raise CorruptRecordError(f"{where}: expected at most {MAX_BYTES} bytes of records, got {len(data)}")
    try:
        arrays, header = archive.unpack(data, KIND, FORMAT, where)
        game, producer, sequence = _checked_header(header, where)
        lengths = _lengths(arrays, GAMES[game].actions, where)
        arrays["policy"] = _every_policy(arrays, lengths, where)
        Records.expect(arrays, lengths, where)
    except CorruptRecordError:
        raise
    except CorruptFileError as error:
        raise CorruptRecordError(str(error)) from error
    columns = {name: np.require(array, requirements=["C", "W"]) for name, array in arrays.items()}
    return Records(game=game, **columns), producer, sequence


def check(records: Records) -> NDArray[np.uint8]:
    """Return uint8[G]: the index in `REASONS` of the first fault of each game; GOOD (0) for none."""
    game = game_named(records.game)
    reasons = np.empty(len(records), np.uint8)
    refute(game.id, np.uint64(game.board_mask), records.arrays(), reasons)
    return reasons


@kernel
def refute(game_id: int, board: np.uint64, records: Records, reasons: NDArray[np.uint8]) -> None:
    """Replay every game and write what refutes it.

    board    squares of the game's board
    records  only the shapes of the columns are trusted, and that `plies` sums to P
    reasons  uint8[G]  written: 0 or the code of the first thing found wrong, a game's plies from first to last

    Cost: one move generation and one flip per ply, one pass over its A policy bytes.
    """
    plies, actions, policy = records.plies, records.actions, records.policy
    value_bits, ply_kind, margin, exact_from = records.value_bits, records.ply_kind, records.margin, records.exact_from
    pass_action = policy.shape[1] - 1
    bit = np.empty(pass_action, np.uint64)
    for action in range(pass_action):
        bit[action] = ONE << np.uint64(square_of_action(game_id, action))
    first = 0
    for g in range(plies.shape[0]):
        own, opp = records.start_own[g], records.start_opp[g]
        reason = GOOD
        off_board = (own | opp) & ~board
        bad_side = records.black_first[g] > 1
        if ((own & opp) | off_board) != ZERO or bad_side or outcome(game_id, own, opp) != UNFINISHED:
            reason = BAD_START
        end = first + plies[g]
        p = first
        while p < end and reason == GOOD:
            legal = legal_moves(game_id, own, opp)
            action = actions[p]
            reason = refute_ply(legal, bit, action, policy[p], value_bits[p], ply_kind[p])
            if legal == ZERO and outcome(game_id, own, opp) != UNFINISHED:
                reason = PLAYS_ON
            if reason == GOOD:
                own, opp = play(game_id, own, opp, action)
            p += 1
        first = end
        if reason == GOOD:
            result = outcome(game_id, own, opp)
            if plies[g] % 2 == 1:
                own, opp = opp, own
                result = result if result == UNFINISHED else -result
            if result == UNFINISHED:
                reason = NO_END
            elif result != margin[g]:
                reason = WRONG_MARGIN
            elif own != records.final_own[g] or opp != records.final_opp[g]:
                reason = WRONG_BOARD
            elif not _is_exact(value_bits[first - plies[g] : first], exact_from[g], margin[g]):
                reason = BAD_EXACT
        reasons[g] = reason


@bare_kernel
def sign_of(value_bits: int) -> int:
    """Return 1, 0 or -1 for the bits of a float16 that is a number."""
    return 0 if value_bits & 0x7FFF == 0 else -1 if value_bits & 0x8000 else 1


@bare_kernel
def _is_exact(value_bits: NDArray[np.uint16], exact_from: int, margin: int) -> bool:
    """Return whether the values from ply `exact_from` on are consistent with perfect play: none is below the result.

    value_bits  uint16[plies]  of one game
    margin      the final margin for the side that moved first
    """
    plies = value_bits.shape[0]
    if not 0 <= exact_from <= plies:
        return False
    reached = int(margin > 0) - int(margin < 0)
    reached = reached if plies % 2 == 0 else -reached  # for the side that would move next
    for ply in range(plies - 1, exact_from - 1, -1):
        result = sign_of(value_bits[ply])
        if result < -reached:
            return False
        reached = result
    return True


@kernel
def refute_ply(
    legal: np.uint64, bit: Masks, action: int, policy: NDArray[np.uint8], value_bits: int, ply_kind: int
) -> int:
    """Return the fault of one ply of an unfinished game, or GOOD.

    legal   squares where the side to move may play; 0 if it must pass
    bit     uint64[A - 1]  the square of each action, as a mask
    policy  uint8[A]       visits; must be 0 at illegal actions
    """
    pass_action = bit.shape[0]
    if action > pass_action:
        return ILLEGAL_MOVE
    if action == pass_action:
        if legal != ZERO:
            return ILLEGAL_MOVE
    elif (legal & bit[action]) == ZERO:
        return ILLEGAL_MOVE
    visited = policy[pass_action] != 0
    allowed = not visited or legal == ZERO
    for a in range(pass_action):
        visited |= policy[a] != 0
        allowed &= policy[a] == 0 or (legal & bit[a]) != ZERO
    if not allowed:
        return POLICY_OFF_RULES
    if ply_kind > EXPLORED:
        return BAD_KIND
    if ply_kind == SEARCHED and not visited:
        return NO_POLICY
    if (value_bits & 0x7FFF) > _ONE_HALF_PRECISION:
        return BAD_VALUE
    return GOOD


def _checked_header(header: Any, where: str) -> tuple[str, str, int]:
    if not isinstance(header, dict):
        raise CorruptRecordError(f"{where}: expected a header of named fields, got {type(header).__name__}")
    game, producer, sequence = (header.get(name) for name in ("game", "producer", "sequence"))
    if header.get("rules_version") != RULES_VERSION:
        got = header.get("rules_version")
        raise OtherRulesError(f"{where}: expected records of rules version {RULES_VERSION}, got {got!r}")
    if not isinstance(game, str) or game not in GAMES:
        raise CorruptRecordError(f"{where}: expected records of one of {', '.join(GAMES)}, got {game!r}")
    if not isinstance(producer, str) or len(producer) > MAX_PRODUCER:
        raise CorruptRecordError(f"{where}: expected a producer's name of at most {MAX_PRODUCER} characters")
    if type(sequence) is not int or not 0 <= sequence < 1 << 63:
        raise CorruptRecordError(f"{where}: expected a sequence number, got {sequence!r}")
    return game, producer, sequence


def _lengths(arrays: dict[str, NDArray[Any]], actions: int, where: str) -> dict[str, int]:
    """Return the lengths of the axes: games, plies of all games, actions."""
    plies = arrays.get("plies", np.empty(0, np.int32))
    if plies.ndim != 1 or plies.dtype != np.int32 or (plies < 0).any():
        raise CorruptRecordError(f"{where}: expected the number of plies of each game, got {plies.dtype} {plies.shape}")
    return {"G": len(plies), "P": int(plies.sum(dtype=np.int64)), "A": actions}


def _every_policy(arrays: dict[str, NDArray[Any]], lengths: dict[str, int], where: str) -> NDArray[np.uint8]:
    """Return uint8[P, A]: the policies of the SEARCHED plies, and zeros for the others."""
    kinds, policies = arrays.get("ply_kind"), arrays.get("policy")
    shape = lengths["P"], lengths["A"]
    if math.prod(shape) > MAX_BYTES:
        raise CorruptRecordError(f"{where}: expected at most {MAX_BYTES // shape[1]} plies, got {shape[0]}")
    if kinds is None or policies is None or kinds.shape != shape[:1] or policies.dtype != np.uint8:
        raise CorruptRecordError(f"{where}: expected a kind for every ply and a policy for every searched one")
    searched = kinds == SEARCHED
    if policies.shape != (np.count_nonzero(searched), shape[1]):
        got = f"{np.count_nonzero(searched)} searched plies and policies of shape {policies.shape}"
        raise CorruptRecordError(f"{where}: expected a policy for every searched ply, got {got}")
    every = np.zeros(shape, np.uint8)
    every[searched] = policies
    return every
