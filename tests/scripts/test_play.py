from __future__ import annotations

from pathlib import Path

import pytest

from tests.reversi.engines.commands import spec
from tests.scripts.conftest import Reversi


def test_the_champion_is_the_default_opponent(reversi: Reversi, registry: Path) -> None:
    answer = reversi("play", "--registry", registry, "--simulations", 4, "--ascii", stdin="c2\n")
    assert answer.code == 0
    assert "against mcts:3:4" in answer.out
    assert "your move: c2\nmcts:3:4 plays " in answer.out


def test_the_size_is_the_models(reversi: Reversi, registry: Path) -> None:
    assert "  a b c d e f\n" in reversi("play", "latest", "--registry", registry).out
    assert "  a b c d\n" in reversi("play", "greedy", "--size", 4).out


def test_a_whole_game_can_be_scripted(reversi: Reversi) -> None:
    lines = "".join(f"{column}{row}\n" for column in "abcd" for row in "1234") * 16
    answer = reversi("play", "greedy", "--size", 4, "--seed", 1, "--ascii", stdin=lines)
    assert answer.code == 0
    assert "game over" in answer.out
    assert answer.out.splitlines()[-1].startswith("The game: ")


def test_another_program_plays_a_whole_game(reversi: Reversi) -> None:
    lines = "".join(f"{column}{row}\n" for column in "abcd" for row in "1234") * 16
    answer = reversi("play", spec("gtp", "--dialect", "refused"), "--size", 4, "--ascii", stdin="undo\nhint\n" + lines)
    assert answer.code == 0
    assert "game over" in answer.out
    answer = reversi("play", spec("nboard", "--fault", "crash", "--at", 2), "--size", 4, stdin=lines)
    assert answer.code == 1
    assert answer.err.startswith("error: nboard:")
    assert "it ended with exit code 7" in answer.err


def test_white_lets_black_begin(reversi: Reversi) -> None:
    answer = reversi("play", "--opponent", "random", "--size", 4, "--color", "white", "--seed", 0, stdin="resign\n")
    assert answer.out.splitlines()[2].startswith("random plays ")
    assert "You resign; random wins." in answer.out


def test_ctrl_c_ends_politely(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    answer = reversi("play", "greedy")
    assert (answer.code, answer.err) == (130, "")
    assert answer.out.endswith("\nGoodbye.\n")


def test_tic_tac_toe_can_begin_with_a_random_move(reversi: Reversi) -> None:
    options = ("--game", "tictactoe", "--opponent", "uct:50", "--first-random", "--ascii", "--seed", 3)
    answer = reversi("play", *options, stdin="b2\nundo\nundo\nquit\n")
    lines = answer.out.splitlines()
    assert lines[2] == "The first move is a2, at random."
    assert lines[3].startswith("uct:50 plays ")
    assert "There is nothing to undo." in lines
    assert lines[-1].startswith("The game: a2")
    moves = {reversi("play", *options[:-1], seed, stdin="").out.splitlines()[2] for seed in range(20)}
    assert len(moves) > 4
    assert reversi("play", "greedy", "--game", "tictactoe", "--size", 6).code == 2


def test_a_bare_policy_knows_its_game(reversi: Reversi, registry: Path) -> None:
    for player in ("policy:latest", "mcts:latest:4", "mcts:latest"):
        assert "  a b c d e f\n" in reversi("play", player, "--registry", registry).out
