from __future__ import annotations

import json

from tests.scripts.conftest import Reversi


def test_a_perfect_player_is_proved_and_another_refuted(reversi: Reversi) -> None:
    perfect = reversi("prove", "--player", "alphabeta:9", "--first-random", "--json")
    found = json.loads(perfect.out)
    assert perfect.code == 0
    assert (found["game"], found["player"], found["first_random"]) == ("tictactoe", "alphabeta:9", True)
    assert found["first"]["losses"] == found["second"]["losses"] == 0
    assert found["first"]["losing_line"] is None
    assert found["first"]["wins"] > found["first"]["draws"] > 0
    short = reversi("prove", "--player", "alphabeta:2")
    assert short.code == 1
    name, first, second = short.out.splitlines()
    assert name == "alphabeta:2, every game of tictactoe:"
    assert "6 lost, such as b2 b1 b3 a2 c2 a1 c1 a3" in first
    assert second.startswith("  moving second")


def test_what_cannot_be_proved_is_one_line(reversi: Reversi) -> None:
    for arguments, words in (
        (
            ("--player", "greedy", "--game", "reversi6"),
            "expected tictactoe or reversi4, small enough to play every game, got reversi6",
        ),
        (("--player", "greedy", "--game", "go"), "game must be one of reversi4, "),
        (("--player", "nobody"), "unknown player"),
        (
            ("--player", "gtp:edax -gtp", "--game", "reversi4"),
            "expected a player of this program, got 'gtp:edax -gtp': "
            "external programs only play games of `play`, `match` and `rate`",
        ),
    ):
        answer = reversi("prove", *arguments)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert words in answer.err
