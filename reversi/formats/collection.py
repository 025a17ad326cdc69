"""Games played elsewhere: move lists from files, their replay by the rules, and their conversion to records.

Nothing in a file is trusted: its moves are `MoveLists`, and `replayed` follows each game ply by ply, fills in omitted
passes, and notes the first fault.  Good games can be trained on, as records whose policy is the move played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reversi.errors import IllegalMoveError, NotationError, ReversiError
from reversi.games.bitboard import ONE, ZERO, Masks
from reversi.games.notation import SQUARE, action_name, off_board
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

PASS_IF_DUE = 253
"""In place of `--`: a pass if one is due; otherwise it only separates moves."""

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
    written: Callable[[int, int], str] | None = None
    """Returns the text of a move by the index of its game and its own; None for a format without text."""
    problems: Mapping[int, ReversiError] = field(default_factory=dict)
    """Errors of games that could not be read to their end, by index; their moves are those before the fault."""

    @classmethod
    def from_start(
        cls, game: Game, moves: NDArray[np.uint8], written: Callable[[int, int], str] | None = None
    ) -> MoveLists:
        """Return games that begin at the board's start position."""
        return cls.from_positions(game, moves, [Position.start(game)] * len(moves), written)

    @classmethod
    def from_positions(
        cls,
        game: Game,
        moves: NDArray[np.uint8],
        starts: Sequence[Position],
        written: Callable[[int, int], str] | None = None,
        problems: Mapping[int, ReversiError] | None = None,
    ) -> MoveLists:
        """Return games that begin at `starts`, positions of `game`."""
        return cls(
            game=game,
            moves=moves,
            start_own=np.array([start.own for start in starts], np.uint64),
            start_opp=np.array([start.opp for start in starts], np.uint64),
            black_first=np.array([start.black_to_move for start in starts], np.uint8),
            written=written,
            problems=problems or {},
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
    given: NDArray[np.int32]  # [G] the index in its list of moves of the faulty move, if there is one
    margin: NDArray[np.int8]  # [G] first mover's discs minus second's, if GOOD
    final_own: Masks  # uint64[G] the first mover's discs where the game stopped
    final_opp: Masks  # uint64[G]

    where: str = "the games"
    """The file, for messages."""

    title: Callable[[int], str] = _no_title
    """The file's description of a game (by index): players, year; may be empty."""

    source: Records | None = None
    """The records that the games are, of this program's own files."""

    numbers: NDArray[np.int64] | None = None  # [G] the games' numbers in a file that has others too, from 1

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

    def number(self, index: int) -> int:
        """Return a game's number in its file, from 1."""
        return index + 1 if self.numbers is None else int(self.numbers[index])

    def problem(self, index: int) -> str | None:
        """Return a game's fault with its file, number and ply (both from 1); None for a good game."""
        fault = self.fault(index)
        if fault is None:
            return None
        unread = index in self.lists.problems and not self.plies[index]
        ply = "" if unread else f", ply {self.plies[index] + 1}"
        return f"{self.where}, game {self.number(index)}{ply}: {fault}"

    def fault(self, index: int, at: str = "") -> ReversiError | None:
        """Return why a game is not good, without its place, or with `at` in it; None for a good game."""
        fault = int(self.faults[index])
        if fault == GOOD:
            return None
        if index in self.lists.problems:
            return self.lists.problems[index]
        if fault == STOPS_EARLY:
            return NotationError(f"expected a move{at}, the game stops before its end")
        text = self._given(index)
        if fault == NOT_READ:
            if text is not None and SQUARE.fullmatch(text):
                return off_board(self.game, text)
            return NotationError(f"expected a move like d3{at}, got {'something else' if text is None else repr(text)}")
        expected = "a legal move" if fault == ILLEGAL else "no move after the end"
        return IllegalMoveError(f"expected {expected}{at}, got {text!r}")

    def _given(self, index: int) -> str | None:
        """Return the text of a game's faulty move, None if there is none that could be shown."""
        move = int(self.given[index])
        if self.lists.written is not None:
            return self.lists.written(index, move)
        action = int(self.lists.moves[index, move])
        return action_name(self.game, action) if action <= self.game.pass_action else None

    def is_broken(self, index: int) -> bool:
        """Return whether a game has a fault other than stopping early."""
        return int(self.faults[index]) not in (GOOD, STOPS_EARLY)

    def is_unreadable(self, index: int) -> bool:
        """Return whether nothing of a game could be read."""
        return int(self.faults[index]) == NOT_READ and self.plies[index] == 0 and index not in self.lists.problems

    @property
    def broken(self) -> int:
        """How many games have such a fault."""
        return int((~np.isin(self.faults, (GOOD, STOPS_EARLY))).sum())

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
        """Return the games in `rows` (all good) as records: all visits on the move played; passes are unsearched.

        Games that are records keep their policies and values, and come in the order of the file.
        """
        if self.source is not None:
            chosen = np.zeros(len(self), np.bool_)
            chosen[rows] = True
            return self.source.select(chosen)
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


def replayed(
    lists: MoveLists,
    where: str,
    title: Callable[[int], str] = _no_title,
    numbers: NDArray[np.int64] | None = None,
) -> Collection:
    """Return the games of `lists`, each replayed up to its end or first fault; `where` names the file."""
    count, game = len(lists.moves), lists.game
    collection = Collection(
        lists=lists,
        actions=np.zeros((count, 2 * game.squares), np.uint8),  # there is a move between any two passes
        plies=np.zeros(count, np.int32),
        faults=np.zeros(count, np.uint8),
        given=np.zeros(count, np.int32),
        margin=np.zeros(count, np.int8),
        final_own=lists.start_own.copy(),
        final_opp=lists.start_opp.copy(),
        where=where,
        title=title,
        numbers=numbers,
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
    given: NDArray[np.int32],
    margin: NDArray[np.int8],
    final_own: Masks,
    final_opp: Masks,
) -> None:
    """Replay every game up to its end or its first fault.

    moves    uint8[G, M]        as in `MoveLists`, with any content
    actions  uint8[G, P]        written: the plies, forced passes filled in; P is twice the number of squares
    plies    int32[G]           written: their number
    faults   uint8[G]           written: GOOD, or the fault of the next ply
    given    int32[G]           written for a faulty game: the index of the move at fault
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
            if action == PASS_IF_DUE:
                if legal != ZERO or is_over:
                    continue
                action = pass_action
            if legal == ZERO and not is_over and action < pass_action:
                actions[g, ply] = pass_action
                own, opp = opp, own
                ply += 1
                legal = legal_moves(game_id, own, opp)
            reason = _fault(game_id, pass_action, legal, is_over, action)
            if reason != GOOD:
                given[g] = m
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
