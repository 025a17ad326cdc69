"""Games played elsewhere: move lists from files, their replay by the rules, and their conversion to records.

Nothing in a file is trusted: its moves are `MoveLists`, and `replayed` follows each game ply by ply, fills in omitted
passes, and notes the first fault.  Good games can be trained on, as records whose policy is the move played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, Masks
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rng import scramble
from reversi.games.rules import UNFINISHED, Game, legal_moves, outcome, play, square_of_action
from reversi.games.symmetry import SYMMETRIES, action_table, transform_mask
from reversi.kernels.kernel import kernel
from reversi.record import SEARCHED, UNSEARCHED, Records

END_OF_MOVES = 255
"""Follows the last move of a game."""

UNREADABLE = 254
"""In place of text in a file that is not a move of this board."""

GOOD, NOT_READ, ILLEGAL, GOES_ON, STOPS_EARLY = range(5)
"""The findings of `replayed`: a legal, finished game, or the fault of the ply at which it stopped."""


@dataclass(frozen=True, kw_only=True)
class MoveLists:
    """G games of one board as written in a file, at most M moves each."""

    game: Game
    moves: NDArray[np.uint8]  # [G, M] actions, END_OF_MOVES after the last; passes may be written or omitted
    start_own: Masks  # uint64[G] the side that moves first; a valid position
    start_opp: Masks  # uint64[G]
    black_first: NDArray[np.uint8]  # [G] 1 if the side that moves first is Black
    unreadable: Mapping[int, str] = field(default_factory=dict)
    """What is written, by index of the game, in place of the move that is UNREADABLE; not of every format."""
    problems: Mapping[int, str] = field(default_factory=dict)
    """Errors of games that could not be read to their end, by index; their moves are those before the fault."""

    @classmethod
    def from_start(cls, game: Game, moves: NDArray[np.uint8], unreadable: Mapping[int, str] | None = None) -> MoveLists:
        """Return games that begin at the board's start position."""
        count = len(moves)
        own, opp = np.full(count, game.start_own, np.uint64), np.full(count, game.start_opp, np.uint64)
        black_first = np.ones(count, np.uint8)
        return cls(
            game=game,
            moves=moves,
            start_own=own,
            start_opp=opp,
            black_first=black_first,
            unreadable=unreadable or {},
        )


def _no_title(index: int) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """G replayed games: each up to its end or its first fault, passes included."""

    lists: MoveLists
    """The moves that were replayed."""

    actions: NDArray[np.uint8]  # [G, P]
    plies: NDArray[np.int32]  # [G]
    faults: NDArray[np.uint8]  # [G] GOOD or the fault
    given: NDArray[np.uint8]  # [G] the faulty move, END_OF_MOVES if there is none
    margin: NDArray[np.int8]  # [G] first mover's discs minus second's, if GOOD
    final_own: Masks  # uint64[G] the first mover's discs where the game stopped
    final_opp: Masks  # uint64[G]

    where: str = "the games"
    """The file, for messages."""

    title: Callable[[int], str] = _no_title
    """The file's description of a game (by index): players, year; may be empty."""

    def __len__(self) -> int:
        """Games, the bad ones included."""
        return len(self.plies)

    @property
    def game(self) -> Game:
        """The board."""
        return self.lists.game

    @property
    def is_good(self) -> NDArray[np.bool_]:
        """Which games are legal and finished."""
        good: NDArray[np.bool_] = self.faults == GOOD
        return good

    def problem(self, index: int) -> str | None:
        """Return a game's fault with its file, number (from 1) and ply (from 1); None for a good game."""
        if self.faults[index] == GOOD:
            return None
        where = f"{self.where}, game {index + 1}"
        if index in self.lists.problems:
            at = f", ply {self.plies[index] + 1}" if self.plies[index] else ""
            return f"{where}{at}: {self.lists.problems[index]}"
        given = int(self.given[index])
        name = action_name(self.game, given) if given <= self.game.pass_action else "none"
        what = {
            NOT_READ: f"expected a move like d3, got {self._unreadable(index)}",
            ILLEGAL: f"expected a legal move, got {name}",
            GOES_ON: f"expected no move after the end, got {name}",
            STOPS_EARLY: "expected a move, the game stops before its end",
        }[int(self.faults[index])]
        return f"{where}, ply {self.plies[index] + 1}: {what}"

    def _unreadable(self, index: int) -> str:
        text = self.lists.unreadable.get(index)
        return "something else" if text is None else repr(text)

    def is_broken(self, index: int) -> bool:
        """Return whether a game has a fault other than stopping early."""
        return int(self.faults[index]) not in (GOOD, STOPS_EARLY)

    def is_unreadable(self, index: int) -> bool:
        """Return whether nothing of a game could be read."""
        return int(self.faults[index]) == NOT_READ and self.plies[index] == 0 and index not in self.lists.problems

    def moves(self, index: int) -> list[str]:
        """Return the names of a game's plies, passes included."""
        return [action_name(self.game, int(action)) for action in self.actions[index, : self.plies[index]]]

    def positions(self, index: int) -> list[Position]:
        """Return every position of a game, from the start to the last."""
        lists = self.lists
        own, opp = int(lists.start_own[index]), int(lists.start_opp[index])
        positions = [Position(self.game, own, opp, bool(lists.black_first[index]))]
        for action in self.actions[index, : self.plies[index]]:
            positions.append(positions[-1].play(int(action)))
        return positions

    def fingerprints(self) -> Masks:
        """Return a hash of each game's start and plies, equal for a game and its symmetric images."""
        hashes, lists = np.empty(len(self), np.uint64), self.lists
        table = action_table(self.game)
        fingerprint(self.game.id, table, lists.start_own, lists.start_opp, self.actions, self.plies, hashes)
        return hashes

    def records(self, rows: NDArray[np.int64]) -> Records:
        """Return the games in `rows` (all good) as records: all visits on the move played; passes are unsearched."""
        plies = self.plies[rows]
        actions = self.actions[rows][np.arange(self.actions.shape[1]) < plies[:, None]]
        moves = np.flatnonzero(actions != self.game.pass_action)
        policy = np.zeros((len(actions), self.game.actions), np.uint8)
        policy[moves, actions[moves]] = 255
        kinds = np.full(len(actions), UNSEARCHED, np.uint8)
        kinds[moves] = SEARCHED
        return Records(
            game=self.game.name,
            start_own=self.lists.start_own[rows],
            start_opp=self.lists.start_opp[rows],
            black_first=self.lists.black_first[rows],
            plies=plies,
            actions=actions,
            policy=policy,
            value=np.zeros(len(actions), np.float16),
            ply_kind=kinds,
            margin=self.margin[rows],
            final_own=self.final_own[rows],
            final_opp=self.final_opp[rows],
            version=np.full(len(rows), -1, np.int32),
            seed=np.zeros(len(rows), np.uint64),
            exact_from=plies,
        )


def replayed(lists: MoveLists, where: str, title: Callable[[int], str] = _no_title) -> Collection:
    """Return the games of `lists`, each replayed up to its end or first fault; `where` names the file."""
    count, game = len(lists.moves), lists.game
    collection = Collection(
        lists=lists,
        actions=np.zeros((count, 2 * game.squares), np.uint8),  # there is a move between any two passes
        plies=np.zeros(count, np.int32),
        faults=np.zeros(count, np.uint8),
        given=np.full(count, END_OF_MOVES, np.uint8),
        margin=np.zeros(count, np.int8),
        final_own=lists.start_own.copy(),
        final_opp=lists.start_opp.copy(),
        where=where,
        title=title,
    )
    follow(
        game.id,
        game.pass_action,
        lists.moves,
        actions=collection.actions,
        plies=collection.plies,
        faults=collection.faults,
        given=collection.given,
        margin=collection.margin,
        final_own=collection.final_own,
        final_opp=collection.final_opp,
    )
    collection.faults[list(lists.problems)] = NOT_READ
    return collection


@kernel
def follow(
    game_id: int,
    pass_action: int,
    moves: NDArray[np.uint8],
    actions: NDArray[np.uint8],
    plies: NDArray[np.int32],
    faults: NDArray[np.uint8],
    given: NDArray[np.uint8],
    margin: NDArray[np.int8],
    final_own: Masks,
    final_opp: Masks,
) -> None:
    """Replay every game up to its end or its first fault.

    moves    uint8[G, M]        as in `MoveLists`, with any content
    actions  uint8[G, P]        written: the plies, forced passes filled in; P is twice the number of squares
    plies    int32[G]           written: their number
    faults   uint8[G]           written: GOOD, or the fault of the next ply
    given    uint8[G]           written for a faulty game: the move at fault
    margin   int8[G]            written for a good game: for the first mover
    final_own, final_opp  uint64[G]  read: the start; written: the last board, the first mover's discs in `final_own`
    """
    for g in range(moves.shape[0]):
        own, opp = final_own[g], final_opp[g]
        ply, reason = 0, GOOD
        for m in range(moves.shape[1]):
            action = moves[g, m]
            if action == END_OF_MOVES:
                break
            legal = legal_moves(game_id, own, opp)
            is_over = outcome(game_id, own, opp) != UNFINISHED
            if legal == ZERO and not is_over and action < pass_action:
                actions[g, ply] = pass_action
                own, opp = opp, own
                ply += 1
                legal = legal_moves(game_id, own, opp)
            reason = _fault(game_id, pass_action, legal, is_over, action)
            if reason != GOOD:
                given[g] = action
                break
            actions[g, ply] = action
            own, opp = play(game_id, own, opp, action)
            ply += 1
        result = outcome(game_id, own, opp)
        if reason == GOOD and (result == UNFINISHED or ply == 0):
            reason = STOPS_EARLY
        if reason == GOOD:
            margin[g] = result if ply % 2 == 0 else -result
        plies[g], faults[g] = ply, reason
        final_own[g], final_opp[g] = (own, opp) if ply % 2 == 0 else (opp, own)


@kernel
def _fault(game_id: int, pass_action: int, legal: np.uint64, is_over: bool, action: int) -> int:
    """Return the fault of a move in a position with the `legal` squares, or GOOD."""
    if action > pass_action:
        return NOT_READ
    if is_over:
        return GOES_ON
    if action == pass_action:
        return GOOD if legal == ZERO else ILLEGAL
    return GOOD if (legal >> np.uint64(square_of_action(game_id, action))) & ONE != ZERO else ILLEGAL


@kernel
def fingerprint(
    game_id: int,
    table: NDArray[np.int32],
    start_own: Masks,
    start_opp: Masks,
    actions: NDArray[np.uint8],
    plies: NDArray[np.int32],
    out: Masks,
) -> None:
    """Fill `out` (uint64[G]) with a hash of each game, uniform in 64 bits and equal for its eight images.

    table    int32[8, A]  the image of each action under each symmetry
    actions  uint8[G, P]  the first `plies[g]` are used
    """
    for g in range(plies.shape[0]):
        smallest = ~ZERO
        for s in range(SYMMETRIES):
            own, opp = transform_mask(game_id, start_own[g], s), transform_mask(game_id, start_opp[g], s)
            state = scramble(scramble(own) + opp)
            for ply in range(plies[g]):
                state = scramble(state + np.uint64(table[s, actions[g, ply]]) + ONE)
            smallest = min(smallest, state)
        out[g] = scramble(smallest)  # the minimum of eight hashes alone would not be uniform
