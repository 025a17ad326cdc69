"""A match pairs colours, asks each player once a ply, counts right, and stops early without changing the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.match import Match, MatchResult
from evaluator.openings import Openings, random_openings
from evaluator.stats import score_of
from reversi.errors import IllegalMoveError, UsageError
from reversi.games.position import Position
from reversi.games.rules import GAMES, UNFINISHED, Game
from reversi.players import FlatMonteCarloPlayer, Forfeit, GreedyPlayer, Player, RandomPlayer

REVERSI4, REVERSI6 = GAMES["reversi4"], GAMES["reversi6"]


class Recorder:
    """A player that plays as another one and keeps what it was asked."""

    def __init__(self, player: Player) -> None:
        self.name, self._player = player.name, player
        self.asked: list[list[tuple[int, int]]] = []

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        self.asked.append(list(zip(own.tolist(), opp.tolist(), strict=True)))
        return self._player.choose(own, opp)


class First:
    """Plays the first legal action: what it does depends on the position alone."""

    name = "first"

    def __init__(self, game: Game, last: bool = False) -> None:
        self.game, self.index = game, -1 if last else 0

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        positions = (Position(self.game, int(a), int(b)) for a, b in zip(own, opp, strict=True))
        return np.array([position.legal_actions()[self.index] for position in positions], np.int32)


def play(match: Match) -> MatchResult:
    while not match.round(60):
        pass
    return match.result()


def one_by_one(game: Game, a: First, b: First, openings: Openings, games: int) -> list[int]:
    """A's margin in every game, played alone and ply by ply."""
    margins = []
    for number in range(games):
        i = number // 2
        position = Position(game, int(openings.own[i]), int(openings.opp[i]), bool(openings.black_to_move[i]))
        a_is_black = number % 2 == 0
        while not position.is_over:
            player = a if position.black_to_move == a_is_black else b
            position = position.play(position.legal_actions()[player.index])
        margins.append(position.black_margin if a_is_black else -position.black_margin)
    return margins


@pytest.mark.parametrize("plies", [4, 5])
@pytest.mark.parametrize("games_at_once", [2, 10, 400])
def test_a_match_in_lockstep_is_the_same_games_one_by_one(plies: int, games_at_once: int) -> None:
    openings = random_openings(REVERSI6, 30, plies, 1)
    a, b = First(REVERSI6), First(REVERSI6, last=True)
    result = play(Match(REVERSI6, a, b, openings, 60, games_at_once=games_at_once))
    margins = np.sign(one_by_one(REVERSI6, a, b, openings, 60))
    counts = [tuple(int((margins[colour::2] == sign).sum()) for sign in (1, 0, -1)) for colour in (0, 1)]
    assert [result.black, result.white] == counts
    points = (margins + 1).reshape(-1, 2).sum(axis=1)
    assert result.pairs == tuple(np.bincount(points, minlength=5).tolist())
    assert result.remaining == 0


def test_a_player_against_itself_scores_exactly_half() -> None:
    """Every game is played twice with the sides exchanged, so a player without luck gets one point from each pair."""
    player = First(REVERSI6)
    result = play(Match(REVERSI6, player, player, random_openings(REVERSI6, 50, 5, 1), 100))
    assert result.pairs == (0, 0, 50, 0, 0)
    assert result.wins == result.losses
    assert (result.black[0], result.black[1]) == (result.white[2], result.white[1])


def test_a_player_is_asked_once_a_ply_for_all_its_games_and_never_when_forced() -> None:
    a, b = (Recorder(RandomPlayer(REVERSI4, np.random.default_rng(seed))) for seed in (1, 2))
    openings = random_openings(REVERSI4, 50, 5, 1)
    play(Match(REVERSI4, a, b, openings, 100))
    asked = [position for player in (a, b) for batch in player.asked for position in batch]
    assert all(len(Position(REVERSI4, *masks).legal_actions()) > 1 for masks in asked)
    starts = (Position(REVERSI4, *masks) for masks in zip(openings.own.tolist(), openings.opp.tolist(), strict=True))
    free = sum(len(position.legal_actions()) > 1 for position in starts)
    assert len(a.asked[0]) == len(b.asked[0]) == free
    assert max(len(a.asked), len(b.asked)) <= REVERSI4.max_plies


def test_no_more_than_games_at_once_are_in_progress_and_pairs_come_in_order() -> None:
    a = Recorder(First(REVERSI6))
    openings = random_openings(REVERSI6, 20, 4, 1)
    match = Match(REVERSI6, a, a, openings, 40, games_at_once=8)
    match.round(0)
    begun = {(int(x), int(y)) for x, y in zip(openings.own[:4], openings.opp[:4], strict=True)}
    assert {position for batch in a.asked for position in batch} <= begun
    play(match)
    assert max(len(batch) for batch in a.asked) <= 8


def test_a_match_stops_when_the_predicate_says_so() -> None:
    openings = random_openings(REVERSI6, 100, 5, 1)
    players = (
        FlatMonteCarloPlayer(REVERSI6, 20, np.random.default_rng(1)),
        RandomPlayer(REVERSI6, np.random.default_rng(2)),
    )
    match = Match(REVERSI6, *players, openings, 200, games_at_once=20, certain=lambda result: result.wins >= 30)
    result = play(match)
    assert match.done
    assert 30 <= result.wins <= 35
    assert result.remaining >= 140
    assert score_of(result).games == 200 - result.remaining


def test_the_first_pairs_are_those_before_the_first_open_one() -> None:
    openings = random_openings(REVERSI6, 20, 5, 1)
    players = (RandomPlayer(REVERSI6, np.random.default_rng(1)), RandomPlayer(REVERSI6, np.random.default_rng(2)))
    match, seen = Match(REVERSI6, *players, openings, 40, games_at_once=12), []
    while not match.round(0):
        result = match.result()
        finished = match.arrays()["margin"] != UNFINISHED
        whole = finished.reshape(-1, 2).all(axis=1).tolist()
        assert sum(result.pairs) == sum(whole)
        assert sum(result.first_pairs) == [*whole, False].index(False)
        seen.append(sum(result.pairs) - sum(result.first_pairs))
    assert max(seen) > 0
    assert match.result().pairs == match.result().first_pairs


def test_rounds_of_any_length_play_the_same_match() -> None:
    def players() -> tuple[Player, Player]:
        return (
            FlatMonteCarloPlayer(REVERSI4, 10, np.random.default_rng(1)),
            RandomPlayer(REVERSI4, np.random.default_rng(2)),
        )

    openings = random_openings(REVERSI4, 40, 5, 1)
    whole = play(Match(REVERSI4, *players(), openings, 80, games_at_once=16))
    match, rounds = Match(REVERSI4, *players(), openings, 80, games_at_once=16), 0
    while not match.round(0):
        rounds += 1
    assert rounds > 20
    assert match.result() == whole


def test_a_match_goes_on_from_its_arrays() -> None:
    openings = random_openings(REVERSI6, 20, 5, 1)
    a, b = First(REVERSI6), First(REVERSI6, last=True)
    whole = Match(REVERSI6, a, b, openings, 40, games_at_once=10)
    for _ in range(45):
        whole.round(0)
    kept = {name: array.copy() for name, array in whole.arrays().items()}
    resumed = Match(REVERSI6, a, b, openings, 40, games_at_once=10)
    resumed.restore(kept)
    assert resumed.result() == whole.result()
    assert 0 < resumed.result().remaining < 40
    assert play(resumed) == play(whole)
    assert [resumed.history(number) for number in range(40)] == [whole.history(number) for number in range(40)]


def test_a_history_leads_from_the_start_to_the_end_of_its_game() -> None:
    openings = random_openings(REVERSI4, 30, 5, 1)
    players = (RandomPlayer(REVERSI4, np.random.default_rng(seed)) for seed in (1, 2))
    match = Match(REVERSI4, *players, openings, 60, games_at_once=10)
    result, won = play(match), 0
    for number in range(60):
        history = match.history(number)
        assert history[:5] == openings.actions[number // 2].tolist()
        position = Position.start(REVERSI4)
        for action in history:
            position = position.play(action)
        assert position.is_over
        won += (position.black_margin if number % 2 == 0 else -position.black_margin) > 0
    assert won == result.wins
    assert any(REVERSI4.pass_action in match.history(number) for number in range(60))


class Moody:
    """Follows games; plays the first legal action and gives up before ply `until` where it is White."""

    name = "moody"

    def __init__(self, game: Game, until: int) -> None:
        self.game, self.until = game, until
        self.asked: list[list[int]] = []

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        raise AssertionError("asked for a bare position")

    def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
        self.asked += [list(history) for history in histories]
        return [self.answer(history) for history in histories]

    def answer(self, history: Sequence[int]) -> int | Forfeit:
        if len(history) % 2 and len(history) < self.until:
            return Forfeit("a mood")
        position = Position.start(self.game)
        for action in history:
            position = position.play(action)
        return position.legal_actions()[0]


def test_a_player_who_follows_games_is_told_them_one_after_another_and_may_forfeit() -> None:
    openings = random_openings(REVERSI6, 10, 4, 1)
    for moody_is_a in (True, False):
        moody, other = Moody(REVERSI6, until=7), First(REVERSI6, last=True)
        match = Match(REVERSI6, *((moody, other) if moody_is_a else (other, moody)), openings, 20, games_at_once=20)
        result = play(match)
        assert result.forfeits == ((10, 0) if moody_is_a else (0, 10))
        lost_with_white = result.white if moody_is_a else result.black[::-1]
        assert lost_with_white == (0, 0, 10)
        assert result.remaining == 0
        starts = [history[:4] for history in moody.asked]
        changes = sum(earlier != later for earlier, later in pairwise(starts))
        assert changes == 9, "one opening after the other"
        resumed = Match(REVERSI6, *((moody, other) if moody_is_a else (other, moody)), openings, 20)
        resumed.restore(match.arrays())
        assert resumed.result() == result
        assert resumed.done


def test_forfeits_can_decide_a_match() -> None:
    openings = random_openings(REVERSI6, 10, 4, 1)
    moody = Moody(REVERSI6, until=7)
    match = Match(REVERSI6, moody, First(REVERSI6), openings, 20, certain=lambda result: result.forfeits[0] == 3)
    result = play(match)
    assert result.forfeits == (3, 0)
    assert result.remaining == 14


def test_an_illegal_move_of_one_who_follows_games_is_an_error() -> None:
    class Cheat(Moody):
        def answer(self, history: Sequence[int]) -> int | Forfeit:
            return 0

    with pytest.raises(IllegalMoveError, match="legal move of moody in game 1, got 'a1'"):
        play(Match(REVERSI6, Cheat(REVERSI6, 0), First(REVERSI6), random_openings(REVERSI6, 1, 4, 1), 2))


def test_flat_monte_carlo_beats_greedy_beats_nothing() -> None:
    openings = random_openings(REVERSI6, 50, 5, 1)
    strong = FlatMonteCarloPlayer(REVERSI6, 60, np.random.default_rng(1))
    greedy, weak = GreedyPlayer(REVERSI6, np.random.default_rng(2)), RandomPlayer(REVERSI6, np.random.default_rng(3))
    assert score_of(play(Match(REVERSI6, strong, weak, openings, 100))).interval[0] > 0.8
    assert score_of(play(Match(REVERSI6, strong, greedy, openings, 100))).interval[0] > 0.7


def test_a_wrong_number_of_games_or_openings_is_refused() -> None:
    player, openings = First(REVERSI6), random_openings(REVERSI6, 4, 4, 1)
    for games in (0, 7, -2):
        with pytest.raises(UsageError, match=f"games must be even .* got {games}"):
            Match(REVERSI6, player, player, openings, games)
    with pytest.raises(UsageError, match="expected at least 5 openings for 10 games, got 4"):
        Match(REVERSI6, player, player, openings, 10)


def test_a_player_of_another_board_is_refused() -> None:
    ours, other = (GreedyPlayer(game, np.random.default_rng(1)) for game in (REVERSI6, REVERSI4))
    for players in ((ours, other), (other, ours)):
        with pytest.raises(UsageError, match=r"^expected a player of reversi6, got 'greedy' of reversi4$"):
            Match(REVERSI6, *players, random_openings(REVERSI6, 1, 4, 1), 2)


def test_an_illegal_move_names_the_player() -> None:
    class Cheat:
        name = "cheat"

        def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
            return np.zeros(len(own), np.int32)

    with pytest.raises(IllegalMoveError, match="legal move of cheat in game 1, got 'a1'"):
        play(Match(REVERSI6, Cheat(), Cheat(), random_openings(REVERSI6, 1, 4, 1), 2))


def test_a_game_can_be_given_by_name() -> None:
    by_name = Match("reversi6", First(REVERSI6), First(REVERSI6), random_openings("reversi6", 2, 4, 1), 4)
    by_game = Match(REVERSI6, First(REVERSI6), First(REVERSI6), random_openings(REVERSI6, 2, 4, 1), 4)
    assert by_name.game is REVERSI6
    assert play(by_name) == play(by_game)
