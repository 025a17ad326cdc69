from __future__ import annotations

import re
from pathlib import Path

import pytest

from reversi.formats.ggf import parse_ggf
from reversi.games.notation import action_name
from tests.scripts.conftest import Reversi

EVERY_MOVE = "".join(f"{column}{row}\n" for column in "abcd" for row in "1234") * 16
"""Enough for a game on 4x4: illegal moves are asked for again."""


def test_the_champion_is_the_default_opponent(reversi: Reversi, registry: Path) -> None:
    answer = reversi("play", "--registry", registry, "--simulations", 4, "--ascii", stdin="c2\n")
    assert answer.code == 0
    assert "against mcts:3:4" in answer.out
    assert "your move: c2\n\n  a b c d e f\n1 - - - - - -\n2 - -[X]- - -\n" in answer.out
    assert "\nmcts:3:4 plays " in answer.out


def test_the_size_is_the_models(reversi: Reversi, registry: Path) -> None:
    assert "  a b c d e f\n" in reversi("play", "latest", "--registry", registry).out
    assert "  a b c d\n" in reversi("play", "greedy", "--size", 4).out


def test_a_whole_game_can_be_scripted(reversi: Reversi) -> None:
    answer = reversi("play", "greedy", "--size", 4, "--seed", 1, "--ascii", stdin=EVERY_MOVE)
    assert answer.code == 0
    standing, game, saved, *asked = answer.out[answer.out.index(" wins ") :].splitlines()
    assert re.fullmatch(r" wins \d+-\d+\. You (win|lose)\.", standing)
    assert game.startswith("The game: ")
    assert saved == "Saved in runs/played.ggf; `reversi replay` shows it."
    assert asked[0].startswith("Again, as White? [y/n] ")


def test_another_game_is_played_with_colours_changed_and_both_are_kept(reversi: Reversi, tmp_path: Path) -> None:
    answer = reversi(
        "play", "greedy", "--size", 4, "--ascii", stdin="resign\nmaybe\n\ny\nresign\nYes\nb1\nresign\nno\n"
    )
    assert answer.code == 0
    lines = answer.out.splitlines()
    sides = [line.split()[2] for line in lines if line.startswith("You are ")]
    assert sides == ["Black", "White", "Black"]
    asked = [line for line in lines if line.startswith("Again")]
    white, black = "Again, as White? [y/n] ", "Again, as Black? [y/n] "
    assert asked == [f"{white}maybe", white, f"{white}y", f"{black}Yes", f"{white}no"]
    kept = [parse_ggf(line) for line in (tmp_path / "runs" / "played.ggf").read_text().splitlines()]
    assert [(game.tags["PB"], len(game.moves)) for game in kept] == [("greedy", 1), ("you", 2)], "none without a move"
    shown = reversi("replay", "--ascii")
    assert shown.out.startswith("Game 2 of 2: ")
    assert reversi("replay", "--all").out.count("The start") == 2


def test_nothing_was_played_here(reversi: Reversi) -> None:
    answer = reversi("replay")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: expected a game or a file of games; none was played here yet")


def test_a_game_that_cannot_be_kept_is_played_all_the_same(reversi: Reversi, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("no folder")
    answer = reversi("play", "greedy", "--size", 4, stdin="b1\nquit\n")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1] == "The game is not saved: runs/played.ggf: File exists."


def test_white_lets_black_begin(reversi: Reversi) -> None:
    answer = reversi("play", "--opponent", "random", "--size", 4, "--color", "white", "--seed", 0, stdin="resign\n")
    assert answer.out.splitlines()[1].startswith("random plays ")
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
    assert lines[1] == "The first move is a2, at random."
    assert lines[2].startswith("uct:50 plays ")
    assert "There is nothing to undo." in lines
    assert lines[-1].startswith("The game: a2")
    moves = {reversi("play", *options[:-1], seed, stdin="").out.splitlines()[1] for seed in range(20)}
    assert len(moves) > 4
    assert reversi("play", "greedy", "--game", "tictactoe", "--size", 6).code == 2


POSITION = "--------X-----XX---OOO-------------- X"
"""6x6 after c2b4."""


SGF = "(;GM[2]SZ[6]PB[me/you];B[c2];W[b4])"

LONG = "c2" + 300 * " " + "b4"
"""Longer than the name of any file."""


@pytest.mark.parametrize("start", ["c2b4", "1. c2 b4", LONG, SGF, POSITION, f"{POSITION}; c5:+4", "FILE"])
def test_a_game_goes_on_from_moves_a_position_or_a_file(reversi: Reversi, tmp_path: Path, start: str) -> None:
    if start == "FILE":
        start = str(tmp_path / "game.txt")
        Path(start).write_text("c2-b4\n")
    answer = reversi("play", "greedy", "--start", start, "--ascii", stdin="c5\n")
    assert answer.code == 0
    assert answer.out.startswith("You are Black (X) against greedy.")
    shown = answer.out[answer.out.index("  a b c d e f") :].translate(str.maketrans("*", "-", " []")).splitlines()
    assert [line[1:] for line in shown[1:7]] == [POSITION[row * 6 : row * 6 + 6] for row in range(6)]
    moves = "" if start.startswith("-") else "c2b4"
    assert f": {moves}c5" in answer.out.splitlines()[-2]


def test_the_person_has_the_side_to_move_unless_another_is_asked_for(reversi: Reversi) -> None:
    assert reversi("play", "greedy", "--start", "c2").out.startswith("You are White")
    answer = reversi("play", "greedy", "--start", "c2", "--color", "black")
    assert answer.out.startswith("You are Black")
    assert "greedy plays " in answer.out


def test_the_board_is_the_models_or_that_of_the_start(reversi: Reversi, registry: Path) -> None:
    assert "  a b c d e f g h\n" in reversi("play", "greedy", "--start", "f5d6").out
    assert "  a b c d\n" in reversi("play", "greedy", "--start", "b1").out
    refused = reversi("play", "--start", "f5d6", "--registry", registry)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "error: reversi6: expected a legal move at ply 1, got 'f5'\n"


def test_a_game_that_was_saved_goes_on(reversi: Reversi, tmp_path: Path) -> None:
    half, whole = tmp_path / "half.ggf", tmp_path / "whole.ggf"
    options = ("play", "greedy", "--size", 4, "--seed", 1, "--ascii")
    begun = reversi(*options, stdin=f"b1\nsave {half}\nquit\n").out.splitlines()[-2].removeprefix("The game: ")
    answer = reversi(*options[:2], "--start", half, "--save", whole, stdin=EVERY_MOVE)
    assert f"The game so far: {begun}" in answer.out
    saved = parse_ggf(whole.read_text())
    assert saved.positions[-1].is_over
    names = [action_name(saved.start.game, move.action) for move in saved.moves]
    assert f"\nThe game: {''.join(name for name in names if name != 'pass')}\n" in answer.out
    over = reversi(*options[:2], "--start", whole)
    assert (over.code, over.err) == (2, f"error: expected a game that is not over, got '{whole}'\n")


def test_a_game_is_saved_however_it_ends(reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "game.ggf"
    options = ("play", "greedy", "--size", 4, "--save", file)
    assert reversi(*options, stdin="b1\nresign\n").code == 0
    assert "RE[-16.000:r]" in file.read_text()
    assert len(parse_ggf(file.read_text()).moves) == 2
    assert reversi(*options, stdin="").code == 0
    assert parse_ggf(file.read_text()).moves == ()
    typed = iter(["b1"])

    def interrupted(prompt: str) -> str:
        for line in typed:
            return line
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    assert reversi(*options).code == 130
    assert len(parse_ggf(file.read_text()).moves) == 2


def test_a_hint_has_the_models_values_and_exact_scores_near_the_end(reversi: Reversi, registry: Path) -> None:
    model = ("play", "mcts:gated:4", "--registry", registry, "--ascii")
    hints = [line for line in reversi(*model, stdin="hint 2\n").out.splitlines() if " visit" in line]
    assert len(hints) == 2
    assert all(re.fullmatch(r"  [a-f][1-6]   [+-]\d+\.\d discs, \d+ visits? +([a-f][1-6] ?)+", hint) for hint in hints)
    solved = reversi("play", "greedy", "--size", 4, "--ascii", stdin="hint\n").out.splitlines()
    assert sum(bool(re.match(r"  [a-d][1-4]   [+-]\d+ discs, exact ", line)) for line in solved) == 3
    assert "Values by model 3:\n" in reversi(*model, stdin="hint 2\n").out


@pytest.mark.parametrize("size", [6, 8])
def test_a_player_without_a_model_is_helped_by_the_shipped_one(reversi: Reversi, size: int) -> None:
    said = reversi("play", "greedy", "--size", size, stdin="hint 2\n").out.splitlines()
    hints = said[said.index("your move: hint 2") + 1 :][:3]
    assert hints[0] == "Values by the shipped model:"
    assert all(re.match(r"  [a-h][1-8]   [+-]\d+\.\d discs ", hint) for hint in hints[1:])
    tictactoe = reversi("play", "greedy", "--game", "tictactoe", stdin="hint 2\n").out
    assert "greedy would play " in tictactoe


def test_without_colours_discs_are_letters(reversi: Reversi) -> None:
    answer = reversi("play", "greedy", "--size", 4, stdin="b1\n").out
    assert answer.startswith("You are Black (X) against greedy.\n")
    assert "\n2 * O X -\n" in answer


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--start", "c2c2"], 1, "error: reversi6: expected a legal move at ply 2, got 'c2'"),
        (["--start", "hello"], 1, "expected a position, moves like f5d6c3, or a game in GGF or SGF, got 'hello'"),
        (["--start", "XX O"], 1, "expected 9, 16, 36 or 64 squares"),
        (["--start", POSITION, "--size", 8], 1, "expected 64 squares"),
        (["--start", "c2", "--first-random"], 2, "expected --start or --first-random, got both"),
        (["--start", ""], 2, "expected a name, got ''"),
        (["--start", "nowhere.ggf"], 2, "nowhere.ggf: expected a file of games, but it does not exist"),
        (["--start", "X" * 36 + " O"], 2, "expected a game that is not over"),
        (["--start", __file__], 2, "test_play.py: expected a file of one game, got "),
        (["--save", "/"], 1, "error: /: Is a directory"),
        (["--save", "x.ggf", "--game", "tictactoe"], 2, "expected a game of Reversi with --save"),
    ],
)
def test_a_wrong_start_is_one_line(reversi: Reversi, arguments: list[object], code: int, words: str) -> None:
    answer = reversi("play", "greedy", *arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1)
    assert words in answer.err


def test_a_start_is_one_game_without_a_fault(reversi: Reversi, tmp_path: Path) -> None:
    games = tmp_path / "games.txt"
    for text, words in (
        ("c2\nc2b4\n", "expected a file of one game, got 2 games"),
        ("c2c2\n", "expected a legal move, got 'c2'"),
    ):
        games.write_text(text)
        answer = reversi("play", "greedy", "--start", games)
        assert answer.err.startswith(f"error: {games}")
        assert words in answer.err


@pytest.mark.parametrize(
    "command",
    [
        "play someone",
        "match --a someone --b random",
        "rate --players random greedy --anchor someone",
        "gtp --player someone",
    ],
)
def test_an_unknown_player_is_explained_by_the_help_of_the_command(reversi: Reversi, command: str) -> None:
    answer, name = reversi(*command.split(), "--size", 6), command.split()[0]
    assert answer.code == 2
    assert answer.err == f"error: unknown player 'someone'; see 'reversi {name} --help' for players\n"
    assert "players:\n  random, greedy" in reversi(name, "--help").out


def test_a_bare_policy_knows_its_game(reversi: Reversi, registry: Path) -> None:
    for player in ("policy:latest", "mcts:latest:4", "mcts:latest"):
        assert "  a b c d e f\n" in reversi("play", player, "--registry", registry).out
