"""Other people's programs play whole matches in every dialect, and whatever one does wrong costs it its game alone."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evaluator.match import Match, MatchResult
from evaluator.openings import random_openings
from reversi.errors import EngineError, UsageError
from reversi.games.notation import action_name
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.players import GreedyPlayer, HistoryPlayer, Player, RandomPlayer, make_any_player, make_player
from reversi.players.engines import process
from reversi.players.engines.engine import EngineLimits
from reversi.players.engines.player import EnginePlayer, engine_player
from tests.runs.engines.commands import QUICK, program, spec

REVERSI4, REVERSI6, REVERSI8 = (GAMES[f"reversi{size}"] for size in (4, 6, 8))
LUCKY = np.random.default_rng


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that do not listen are ended soon; how they are ended is tested in test_process.py."""
    monkeypatch.setattr(process, "PATIENCE_S", 0.2)


@pytest.fixture
def players() -> Iterator[list[EnginePlayer]]:
    """What is put here is closed after the test."""
    opened: list[EnginePlayer] = []
    yield opened
    for player in opened:
        player.close()


def play(game: Game, a: Player, b: Player, games: int, plies: int = 2) -> tuple[Match, MatchResult]:
    match = Match(game, a, b, random_openings(game, games // 2, plies, 1), games)
    while not match.round(60):
        pass
    return match, match.result()


def margin_of_a(match: Match, number: int) -> int:
    """A's margin by replaying the game; the moves must be legal and the game over."""
    position = Position.start(match.game)
    for action in match.history(number):
        position = position.play(action)
    assert position.is_over
    return position.black_margin if number % 2 == 0 else -position.black_margin


@pytest.mark.parametrize("game", [REVERSI4, REVERSI6, REVERSI8], ids=lambda game: game.name)
@pytest.mark.parametrize(
    ("protocol", "dialect"), [("gtp", "said"), ("gtp", "implied"), ("gtp", "refused"), ("nboard", "said")]
)
def test_a_match_with_a_program_is_played_to_the_end_in_every_dialect(
    game: Game, protocol: str, dialect: str, players: list[EnginePlayer]
) -> None:
    """The program refuses what its own rules refuse, so no forfeit means that both agree on every position."""
    players.append(program(game, protocol, "--dialect", dialect))
    games = {4: 20, 6: 20, 8: 6}[game.size]
    match, result = play(game, players[0], RandomPlayer(game, LUCKY(1)), games, plies=4)
    assert result.forfeits == (0, 0)
    signs = np.sign([margin_of_a(match, number) for number in range(games)])
    assert (result.wins, result.draws, result.losses) == tuple((signs == sign).sum() for sign in (1, 0, -1))
    if game is not REVERSI8:
        passes = [
            ply % 2 == number % 2
            for number in range(games)
            for ply, a in enumerate(match.history(number))
            if a == game.pass_action
        ]
        assert True in passes, "the program passed"
        assert False in passes, "its opponent passed"


def test_two_programs_play_each_other(players: list[EnginePlayer]) -> None:
    players += [program(REVERSI6, "gtp", "--dialect", "refused"), program(REVERSI6, "nboard", "--seed", 5)]
    match, result = play(REVERSI6, *players, games=4)
    assert result.forfeits == (0, 0)
    assert result.remaining == 0
    assert len({tuple(match.history(number)) for number in range(4)}) == 4


@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_we_understand_ourselves(protocol: str, players: list[EnginePlayer]) -> None:
    """The client of a protocol and the engine of the same protocol, with passes."""
    reversi = Path(sys.executable).with_name("reversi")
    players.append(engine_player(f"{protocol}:{reversi} {protocol} --player greedy --size 4", REVERSI4, QUICK))
    match, result = play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=20, plies=4)
    assert result.forfeits == (0, 0)
    assert any(REVERSI4.pass_action in match.history(number) for number in range(20))


def test_a_game_is_told_once_and_then_move_by_move(tmp_path: Path, players: list[EnginePlayer]) -> None:
    """After the handshake: the board is cleared between games, and each ply that is not the program's own is told."""
    log = tmp_path / "log"
    players.append(program(REVERSI6, "gtp", "--log", log))
    match, _ = play(REVERSI6, players[0], GreedyPlayer(REVERSI6, LUCKY(1)), games=6)
    lines = [line.split(" ", 1)[1] for line in log.read_text().splitlines()]
    assert lines[:2] == ["boardsize 6", "clear_board"]
    games = "\n".join(lines[2:]).split("clear_board\n")
    assert len(games) == 6
    for number, told in enumerate(games):
        heard = [line.split() for line in told.split("\n") if line]
        names = [action_name(REVERSI6, action) for action in match.history(number)]
        assert [words[1] for words in heard] == ["black", "white"] * (len(heard) // 2) + ["black"] * (len(heard) % 2)
        for ply, words in enumerate(heard):
            assert words[0] == "genmove" or words[2] == names[ply]
        assert len(heard) == 1 + last_choice(match, number), "the end of the game is not told"


def last_choice(match: Match, number: int) -> int:
    """The last ply in which A had more than one legal action."""
    position, last = Position.start(match.game), -1
    for ply, action in enumerate(match.history(number)):
        if ply % 2 == number % 2 and len(position.legal_actions()) > 1:
            last = ply
        position = position.play(action)
    return last


def test_an_nboard_program_is_given_the_game_once_and_then_moves(tmp_path: Path, players: list[EnginePlayer]) -> None:
    log = tmp_path / "log"
    players.append(program(REVERSI6, "nboard", "--log", log))
    play(REVERSI6, players[0], GreedyPlayer(REVERSI6, LUCKY(1)), games=6)
    lines = [line.split(" ", 1)[1] for line in log.read_text().splitlines()]
    assert lines[:2] == ["nboard 2", "ping 1"]
    games = [line for line in lines if line.startswith("set game")]
    assert len(games) == 6
    assert re.fullmatch(
        r"set game \(;GM\[Othello\].*TY\[6\]BO\[6 --------------O\*----\*O-------------- \*\](B\[..\]W\[..\])+;\)",
        games[0],
    )
    assert sum(line.startswith("move") for line in lines) > 6 * 8


FAULTS = [
    ("crash", "it ended with exit code 7 and complained 'segmentation fault, as it were'"),
    ("killed", "it ended with signal 9"),
    ("illegal", "expected a legal move (one of"),
    ("pass", "expected a legal move (one of"),
    ("garbage", "expected a move in answer to"),
    ("empty", "expected a move in answer to"),
    ("offboard", "expected a move in answer to"),
    ("hang", "it took too long"),
    ("flood", "it took too long (it wrote 'nonsense without end')"),
    ("prose", "it took too long (it wrote 'I would rather not')"),
    ("endless", "it wrote no line but 'xxxx"),
]
SAME = ("flood", "prose", "endless")
"""What the two protocols do not tell apart."""


@pytest.mark.parametrize(
    ("protocol", "fault", "says"),
    [("gtp", *fault) for fault in FAULTS] + [("nboard", *fault) for fault in FAULTS if fault[0] not in SAME],
)
def test_a_program_that_fails_forfeits_its_game_and_plays_the_next(
    protocol: str, fault: str, says: str, caplog: pytest.LogCaptureFixture, players: list[EnginePlayer]
) -> None:
    """The third move goes wrong, in both games of a 4x4 opening; nothing happens to the opponent's score otherwise."""
    slow = fault in ("hang", "flood", "prose")
    limits = EngineLimits(start_s=10.0, move_s=0.8 if slow else 10.0, restarts=2)
    players.append(program(REVERSI4, protocol, "--fault", fault, "--at", 3, limits=limits))
    with caplog.at_level(logging.WARNING, "evaluator.match"):
        match, result = play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=2)
    assert result.forfeits == (2, 0)
    assert (result.wins, result.draws, result.losses) == (0, 0, 2)
    assert result.pairs == (1, 0, 0, 0, 0)
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == [1, 2]
    for record in caplog.records:
        assert says in record.getMessage()
        assert f"is forfeited by {players[0].name}: " in record.getMessage()
    for number in range(2):
        assert 2 + 2 * 2 <= len(match.history(number)) < 12


def test_a_program_that_refuses_a_legal_move_forfeits(players: list[EnginePlayer]) -> None:
    players.append(program(REVERSI4, "gtp", "--fault", "refusal", "--at", 2))
    _, result = play(REVERSI4, RandomPlayer(REVERSI4, LUCKY(1)), players[0], games=4)
    assert result.forfeits == (0, 4)
    assert result.wins == 4


def test_a_forfeit_costs_the_one_game(players: list[EnginePlayer], tmp_path: Path) -> None:
    """It crashes once; the other games end as they do without the crash, whose moves are drawn from the same seed."""
    players.append(program(REVERSI4, "gtp", "--fault", "none", "--at", 4, "--mark", tmp_path / "mark"))
    match, result = play(REVERSI4, players[0], GreedyPlayer(REVERSI4, LUCKY(1)), games=10, plies=4)
    assert result.forfeits == (1, 0)
    assert result.remaining == 0
    assert sum(margin_of_a(match, number) > 0 for number in range(1, 10)) == result.wins


def test_resigning_costs_the_game_and_no_restart(players: list[EnginePlayer], tmp_path: Path) -> None:
    limits = EngineLimits(start_s=10.0, move_s=10.0, restarts=0)
    log = tmp_path / "log"
    players.append(program(REVERSI4, "gtp", "--fault", "resign", "--at", 3, "--log", log, limits=limits))
    _, result = play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=6)
    assert result.forfeits == (6, 0)
    assert len({line.split()[0] for line in log.read_text().splitlines()}) == 1, "one process"


@pytest.mark.parametrize("fault", ["blank", "banner", "stderr"])
def test_untidy_programs_are_understood(fault: str, players: list[EnginePlayer]) -> None:
    """Blank lines, upper case, chatter; and more on standard error than a pipe holds."""
    for protocol in ("gtp", "nboard"):
        players.append(program(REVERSI4, protocol, "--fault", fault))
        _, result = play(REVERSI4, players[-1], RandomPlayer(REVERSI4, LUCKY(1)), games=4)
        assert result.forfeits == (0, 0)


def test_who_fails_once_more_than_it_is_started_again_gives_up_the_games_that_are_left(
    players: list[EnginePlayer], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits, log = EngineLimits(start_s=10.0, move_s=10.0, restarts=3), tmp_path / "log"
    players.append(program(REVERSI4, "gtp", "--fault", "crash", "--at", 2, "--log", log, limits=limits))
    _, result = play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=10, plies=4)
    assert (result.forfeits, result.losses, result.remaining) == ((10, 0), 10, 0)
    assert len({line.split()[0] for line in log.read_text().splitlines()}) == 4, "processes"
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(" is ")[0] for line in said if " is forfeited by " in line] == [
        f"game {n}" for n in (1, 2, 3, 4)
    ]
    assert [line for line in said if "failed 4 times and gives up all games that are left" in line] == said[3:4]
    assert len(said) == 5, "nothing about each of the other six games"


def test_failures_are_forgotten_after_many_moves(
    players: list[EnginePlayer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reversi.players.engines.player.FORGIVEN_AFTER", 2)
    limits, log = EngineLimits(start_s=10.0, move_s=10.0, restarts=1), tmp_path / "log"
    players.append(program(REVERSI4, "gtp", "--fault", "crash", "--at", 3, "--log", log, limits=limits))
    _, result = play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=6, plies=4)
    assert result.remaining == 0
    assert len({line.split()[0] for line in log.read_text().splitlines()}) > 2, "processes"


def test_a_program_that_does_not_come_up_again_goes_on_forfeiting(players: list[EnginePlayer], tmp_path: Path) -> None:
    limits = EngineLimits(start_s=10.0, move_s=10.0, restarts=4)
    players.append(program(REVERSI4, "gtp", "--fault", "exit", "--at", 2, "--mark", tmp_path / "mark", limits=limits))
    _, result = play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=4)
    assert result.forfeits == (4, 0)


@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_a_program_that_does_not_come_up_is_an_error_at_once(protocol: str) -> None:
    said = "it ended with exit code 3 and complained 'no licence found'"
    with pytest.raises(EngineError, match=said) as error:
        program(REVERSI4, protocol, "--fault", "exit")
    assert str(error.value).startswith(f"{protocol}:")
    with pytest.raises(EngineError, match="it took too long"):
        program(REVERSI4, protocol, "--seconds", 30, limits=EngineLimits(start_s=0.3))


def test_a_slow_start_is_waited_for(players: list[EnginePlayer]) -> None:
    players.append(program(REVERSI4, "gtp", "--seconds", 0.5, limits=EngineLimits(start_s=10, move_s=5)))
    assert play(REVERSI4, players[0], RandomPlayer(REVERSI4, LUCKY(1)), games=2)[1].forfeits == (0, 0)


def test_a_board_it_does_not_play_is_an_error_at_once() -> None:
    with pytest.raises(EngineError, match=r"expected 'boardsize 4' to be accepted, got '\? unacceptable size'"):
        program(REVERSI4, "gtp", "--fault", "size")
    with pytest.raises(EngineError, match="expected an answer to 'ping 1'"):
        program(REVERSI4, "nboard", "--fault", "deaf", limits=EngineLimits(start_s=0.3))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gtp:", "expected a program and its arguments after gtp:, got ''"),
        ("gtp", "expected a program and its arguments after gtp:, got ''"),
        ("nboard:no-such-program -x", "expected a program after nboard:, but there is no 'no-such-program'"),
        ("gtp:'unclosed", "No closing quotation"),
    ],
)
def test_what_names_no_program_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_any_player(name, REVERSI8, seed=1)
    with pytest.raises(UsageError, match="expected a game that gtp knows, got tictactoe"):
        make_any_player(spec("gtp"), GAMES["tictactoe"], seed=1)


def test_limits_are_checked() -> None:
    for wrong in ({"start_s": 0.0}, {"move_s": -1.0}, {"restarts": -1}):
        with pytest.raises(ValueError, match="expected times above 0 and restarts from 0"):
            EngineLimits(**wrong)  # type: ignore[arg-type]


def test_only_programs_are_asked_for_histories(players: list[EnginePlayer]) -> None:
    players.append(program(REVERSI6, "gtp"))
    assert isinstance(players[0], HistoryPlayer)
    assert not isinstance(make_player("greedy", REVERSI6, seed=1), HistoryPlayer)


@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_a_program_is_no_player_where_positions_alone_are_known(protocol: str) -> None:
    with pytest.raises(UsageError, match=f"expected a player of this program, got '{protocol}:"):
        make_player(spec(protocol), REVERSI6, seed=1)
    assert not hasattr(EnginePlayer, "choose")
