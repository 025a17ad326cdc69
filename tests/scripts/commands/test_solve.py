from __future__ import annotations

import json
from pathlib import Path

import pytest

from reversi.games.position import Position
from tests.scripts.conftest import Reversi

OVER = "X" * 35 + "- O"
PASS = "X" * 34 + "O- O"
LAST = "X" * 34 + "O- X"
HARD = str(Position.start("reversi8"))


def test_every_line_gets_one_line_of_answer(reversi: Reversi) -> None:
    start = str(Position.start("reversi4"))
    answer = reversi("solve", "--json", stdin=f"{LAST}\n{PASS}\n{OVER}\n{start}\n")
    last, passing, over, whole = map(json.loads, answer.out.splitlines())
    assert answer.code == 0
    assert list(last) == ["position", "game", "score", "best", "moves", "line", "nodes", "seconds", "solved"]
    assert (last["score"], last["best"], last["moves"]) == (36, "f6", {"f6": 36})
    assert (passing["score"], passing["best"], passing["moves"]) == (-36, "pass", {"pass": -36})
    assert (last["line"], passing["line"], over["line"]) == (["f6"], ["pass", "f6"], [])
    assert (over["score"], over["best"], over["moves"], over["solved"]) == (-35, None, {}, True)
    assert (whole["position"], whole["score"]) == (start, -8)
    assert set(whole["moves"]) == {"b1", "a2", "d3", "c4"}
    assert set(whole["moves"].values()) == {-8}
    assert whole["nodes"] > 100
    assert whole["seconds"] > 0


def test_empty_squares_can_be_the_winners(reversi: Reversi) -> None:
    start = str(Position.start("reversi4"))
    answer = reversi("solve", "--json", "--empties", "winner", "--size", 4, stdin=start)
    assert json.loads(answer.out)["score"] == -10
    (over,) = reversi("solve", "--empties", "winner", stdin=OVER).out.splitlines()
    assert over.startswith(f"{OVER}  -36  (")


def test_the_best_move_alone_and_the_outcome_alone(reversi: Reversi) -> None:
    start = str(Position.start("reversi4"))
    best = json.loads(reversi("solve", "--json", "--best", stdin=start).out)
    assert best["moves"] == {best["best"]: -8}
    outcome = json.loads(reversi("solve", "--json", "--wdl", stdin=start).out)
    assert (outcome["score"], set(outcome["moves"].values())) == (-1, {-1})


@pytest.mark.parametrize("how", [(), ("--best",), ("--wdl",), ("--empties", "winner")])
def test_the_line_is_perfect_play_to_the_end(reversi: Reversi, how: tuple[str, ...]) -> None:
    found = json.loads(reversi("solve", "--json", *how, stdin=str(Position.start("reversi4"))).out)
    end = Position.start("reversi4")
    for move in found["line"]:
        end = end.play(move)
    assert (found["line"][0], end.is_over) == (found["best"], True)
    if how != ("--wdl",):
        assert end.black_margin == -8, "3 to 11 discs, whoever gets the two empty squares"
    else:
        assert end.black_margin < 0
    assert f"  line: {' '.join(found['line'])}  (" in reversi("solve", *how, stdin=str(Position.start("reversi4"))).out


FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;"


def test_a_line_of_obf_is_checked(reversi: Reversi) -> None:
    lines = (FFO_1, FFO_1.replace("+18", "+17"), FFO_1.replace("G8", "A2"), FFO_1.partition(";")[0])
    answer = reversi("solve", "--empties", "winner", "--best", "--json", stdin="\n".join(lines))
    right, score, move, silent = map(json.loads, answer.out.splitlines())
    assert (right["score"], right["expected"], right["agrees"]) == (18, 18, True)
    assert (score["expected"], score["agrees"]) == (17, False)
    assert (move["best"], move["expected"], move["agrees"]) == ("g8", 18, False)
    assert "agrees" not in silent
    assert answer.code == 1
    assert answer.err == "1 of 3 answers agree with the expected scores\n"


@pytest.mark.parametrize("how", [(), ("--best",), ("--wdl",)])
@pytest.mark.parametrize("listed", ["a2:-8; b1:-8", "d3:-8", "c4:-8; a2:-10; b1:-10; d3:-10"])
def test_moves_that_are_as_good_as_ours_agree(reversi: Reversi, listed: str, how: tuple[str, ...]) -> None:
    """All four first moves on 4x4 lose by 8; a line that says otherwise of ours is wrong."""
    answer = reversi("solve", "--json", *how, stdin=f"{Position.start('reversi4')}; {listed}\n")
    found = json.loads(answer.out)
    assert found["agrees"] is (how == ("--wdl",) or "-10" not in listed or found["best"] == "c4")
    assert answer.code == (0 if found["agrees"] else 1)


def test_a_listed_move_that_is_worse_than_its_score_does_not_agree(reversi: Reversi) -> None:
    """With every move scored, g8 is known to be the only one worth 18."""
    answer = reversi("solve", "--empties", "winner", "--json", stdin=FFO_1.replace("H1:+12", "H1:+18"))
    assert json.loads(answer.out)["agrees"] is False


def test_what_agrees_is_no_error_and_what_was_not_solved_is_not_judged(reversi: Reversi) -> None:
    answer = reversi("solve", "--empties", "winner", "--wdl", stdin=FFO_1)
    assert (answer.code, answer.err) == (0, "1 of 1 answers agree with the expected scores\n")
    assert answer.out.rstrip().endswith("as expected")
    wrong = reversi("solve", "--empties", "winner", "--best", stdin=FFO_1.replace("+18", "+16"))
    assert wrong.out.rstrip().endswith("NOT as expected: +16 by g8")
    given_up = reversi("solve", "--nodes", 10, "--json", stdin=FFO_1)
    assert json.loads(given_up.out)["agrees"] is None
    assert (given_up.code, given_up.err) == (0, "")


def test_limits_give_no_score(reversi: Reversi) -> None:
    for limit in (("--nodes", 1000), ("--seconds", 0.05)):
        answer = reversi("solve", "--json", *limit, stdin=HARD)
        found = json.loads(answer.out)
        assert answer.code == 0
        assert (found["solved"], found["score"], found["best"], found["line"]) == (False, None, None, [])
        assert found["seconds"] < 5
    assert "not solved" in reversi("solve", "--nodes", 1000, stdin=HARD).out


STARTED = "OOOX--XOXO---XOOO---XO----OXOX----XO X"


def test_moves_of_a_line_are_scored_within_what_is_left_of_the_limits(reversi: Reversi) -> None:
    """Without a limit e4 alone takes some 244,000 positions, and b5, the other best move, more than as many again."""
    whole = json.loads(reversi("solve", "--best", "--json", stdin=f"{STARTED}; b5:-30").out)
    alone = json.loads(reversi("solve", "--best", "--json", stdin=STARTED).out)
    assert (whole["moves"], whole["agrees"]) == ({"e4": -30, "b5": -30}, True)
    assert whole["nodes"] > 2 * alone["nodes"]
    limit = alone["nodes"] + 1000
    found = json.loads(reversi("solve", "--best", "--nodes", limit, "--json", stdin=f"{STARTED}; b5:-30").out)
    assert (found["score"], found["moves"], found["agrees"]) == (-30, {"e4": -30}, None)
    assert found["nodes"] <= limit + 41_000


def test_the_limit_can_be_as_large_as_the_hardest_known_problems_need(reversi: Reversi) -> None:
    answer = reversi("solve", "--nodes", 8_500_000_000, "--json", stdin=LAST)
    assert (answer.code, json.loads(answer.out)["score"]) == (0, 36)


def test_bad_lines_are_answered_in_their_place(reversi: Reversi) -> None:
    lines = ["nonsense", LAST, "", "---------  X", "\x00", HARD]
    answer = reversi("solve", "--size", 6, "--json", "--threads", 1, stdin="\n".join(lines))
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 1
    assert ["error" in each for each in found] == [True, False, True, True, True]
    assert [each["line"] for each in found if "error" in each] == [1, 4, 5, 6]
    assert answer.err == "error: 4 of 5 lines could not be parsed as positions\n"


def test_positions_may_come_from_a_file_as_moves_and_in_other_symbols(reversi: Reversi, tmp_path: Path) -> None:
    game = "b1a1a2"
    position = Position.start("reversi4").play("b1").play("a1").play("a2")
    other = str(position).replace("-", ".").replace("X", "*").lower().replace(" ", "   ")
    (tmp_path / "list").write_text(f"# three times the same\n{game}\n\n{position}\n{other} # again\n")
    answer = reversi("solve", "--json", tmp_path / "list")
    assert (answer.code, answer.err) == (0, "")
    assert [json.loads(line)["position"] for line in answer.out.splitlines()] == [str(position)] * 3
    after = str(Position.start("reversi8").play("f5").play("d6"))
    for written in ("f5d6", "1. f5 d6", "1.f5, 2.d6", "f5-d6", f"(;GM[2]C[{600 * 'x'}];B[f5];W[d6])"):
        assert reversi("solve", "--nodes", 1, "-", stdin=written).out.startswith(after)
    assert reversi("solve", stdin="f5d6zz").out == "error: reversi8: expected a move like d3 at ply 3, got 'zz'\n"
    missing = reversi("solve", tmp_path / "none")
    assert missing.code == 2
    assert missing.err == f"error: {tmp_path}/none: expected a file of positions, but it does not exist\n"


def test_games_of_archives_with_comments_and_a_byte_order_mark_are_read(reversi: Reversi, tmp_path: Path) -> None:
    cells = str(Position.start("reversi4")).replace("X", "*")
    lines = [
        f"1 (;GM[Othello]PB[a#1]PW[#]BO[4 {cells}]B[B1]W[A1];) # one",
        "(;GM[2]SZ[4]PB[a\\]#1];B[b1];W[a1])# two",
        "b1a1# three",
        "# (;GM[2])",
    ]
    text = "\ufeff" + "\n".join(lines)
    (tmp_path / "list").write_text(text)
    for answer in (reversi("solve", "--json", "--nodes", 1, stdin=text), reversi("solve", "--json", tmp_path / "list")):
        assert (answer.code, answer.err) == (0, "")
        found = [json.loads(line)["position"] for line in answer.out.splitlines()]
        assert found == [str(Position.start("reversi4").play("b1").play("a1"))] * 3
    assert reversi("solve", stdin="\ufeff\n\ufeff# none\n") == reversi("solve", stdin="")


def test_tictactoe_is_no_position_to_solve(reversi: Reversi) -> None:
    answer = reversi("solve", stdin="--------- X")
    assert (answer.code, answer.out.startswith("error: expected a game on reversi8 or reversi6 or ")) == (1, True)


def test_wrong_arguments_are_named(reversi: Reversi) -> None:
    for arguments in (("--size", 5), ("--nodes", 0), ("--seconds", -1), ("--empties", "mine"), ("--threads", 0)):
        answer = reversi("solve", *arguments)
        assert answer.code == 2
        assert str(arguments[1]) in answer.err


def test_more_lines_than_are_read_ahead_are_answered(reversi: Reversi) -> None:
    answer = reversi("solve", "--json", stdin=f"{LAST}\nnonsense\n" * 1500)
    assert [json.loads(line).get("score") for line in answer.out.splitlines()] == [36, None] * 1500
    assert answer.err == "error: 1500 of 3000 lines could not be parsed as positions\n"
