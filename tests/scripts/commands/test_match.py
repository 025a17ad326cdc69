from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.match import Match
from reversi.formats.ggf import parse_ggf
from reversi.model.registry import Registry
from scripts.bench.setup import Settings, random_weights
from tests.scripts.conftest import Reversi


def test_a_match_prints_its_statistics(reversi: Reversi) -> None:
    answer = reversi("match", "--a", "flat-mc:20", "--b", "random", "--size", 6, "--games", 40, "--json")
    found = json.loads(answer.out)
    assert answer.code == 0
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] == 40
    assert found["score"] == pytest.approx((found["wins"] + found["draws"] / 2) / 40)
    assert found["interval"][0] < found["score"] <= found["interval"][1]
    low, high = found["elo_interval"]
    assert low < found["elo"]
    assert high is None or found["elo"] <= high
    assert found["score"] > 0.6
    assert (found["a"], found["b"]) == ("flat-mc:20", "random")


def test_an_open_end_is_null_in_the_json_and_infinite_in_the_text(reversi: Reversi) -> None:
    match = ["match", "--a", "flat-mc:100", "--b", "random", "--size", 6, "--games", 2]
    found = json.loads(reversi(*match, "--json").out)
    assert (found["wins"], found["elo_interval"][1]) == (2, None)
    assert f", Elo > {found['elo']:+.0f} [{found['elo_interval'][0]:+.0f}, +inf]" in reversi(*match).out


def test_the_seed_decides_everything(reversi: Reversi) -> None:
    def played(seed: int) -> dict[str, Any]:
        printed = reversi("match", "--a", "random", "--b", "greedy", "--games", 60, "--seed", seed, "--json").out
        found: dict[str, Any] = json.loads(printed)
        assert len(found.pop("seconds_per_move")) == 2
        return found

    assert played(1) == played(1)
    assert played(1)["wins"] != played(3)["wins"]


def test_the_same_model_on_both_sides_is_level(reversi: Reversi, registry: Path) -> None:
    common = ["--registry", registry, "--games", 20, "--simulations", 4, "--json"]
    found = json.loads(reversi("match", "--a", "gated", "--b", "mcts:3:4", *common).out)
    assert found["score"] == 0.5


def test_a_match_is_on_the_board_of_the_model(reversi: Reversi, tmp_path: Path) -> None:
    """That of A's, else of B's, else of the judge of the openings; --size overrides."""
    weights = random_weights(Settings(size=4, blocks=1, channels=16))
    Registry(str(tmp_path), create=True).publish(weights, "promoted", None)
    options = ["--registry", tmp_path, "--games", 2, "--json"]
    for a, b, more in (
        ("policy:gated", "random", []),
        ("random", "mcts:0:2", []),
        ("random", "greedy", ["--balanced", "gated", "--bound", 1, "--simulations", 2]),
    ):
        assert json.loads(reversi("match", "--a", a, "--b", b, *options, *more).out)["size"] == 4
    assert json.loads(reversi("match", "--a", "greedy", "--b", "random", *options).out)["size"] == 6
    refused = reversi("match", "--a", "policy:gated", "--b", "random", *options, "--size", 6)
    assert (refused.code, refused.err) == (1, "error: expected a model for reversi6, got version 0 for reversi4\n")


def without_times(printed: str) -> str:
    return re.sub(r"; [^;]+ against [^;]+ a move$", "", printed, flags=re.M)


def test_openings_come_from_a_file(reversi: Reversi, tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("c2b2  # diagonal\n\nc2b4\n")
    answer = reversi("match", "--a", "random", "--b", "greedy", "--games", 4, "--openings", file)
    assert answer.code == 0
    assert answer.out.startswith("random against greedy, reversi6, 4 games, won-drawn-lost ")
    assert reversi("match", "--a", "random", "--b", "greedy", "--games", 6, "--openings", file).code == 2
    whole = reversi("match", "--a", "random", "--b", "greedy", "--openings", file)
    assert without_times(whole.out) == without_times(answer.out), "two games for each opening"


def test_all_statistics_are_in_the_json(reversi: Reversi) -> None:
    found = json.loads(reversi("match", "--a", "flat-mc:20", "--b", "random", "--size", 4, "--games", 40, "--json").out)
    about = ["a", "b", "a_model", "b_model", "openings", "seed", "game", "size"]
    before = ["games", "wins", "draws", "losses", "score", "interval", "elo", "elo_interval"]
    added = ["pairs", "trinomial_interval", "trinomial_elo_interval", "superiority"]
    added += ["as_black", "as_white", "margin", "margin_interval", "seconds_per_move", "forfeits"]
    assert list(found) == [*about, *before, *added]
    assert (found["game"], found["a_model"], found["b_model"]) == ("reversi4", None, None)
    assert sum(found["pairs"]) == 20
    assert sum(n * points / 4 for points, n in enumerate(found["pairs"])) == pytest.approx(20 * found["score"])
    assert found["trinomial_interval"][0] < found["score"] < found["trinomial_interval"][1]
    assert found["forfeits"] == [0, 0]
    assert [sum(counts) for counts in (found["as_black"], found["as_white"])] == [20, 20]
    as_played = zip(found["as_black"], found["as_white"], strict=True)
    assert [sum(pair) for pair in as_played] == [found["wins"], found["draws"], found["losses"]]


def test_colours_discs_and_times_are_a_line(reversi: Reversi, tmp_path: Path) -> None:
    saved = tmp_path / "games.ggf"
    match = ("match", "--a", "flat-mc:1000", "--b", "random", "--size", 6, "--games", 20)
    third = reversi(*match, "--save", saved).out.splitlines()[2]
    found = json.loads(reversi(*match, "--json").out)
    games = [parse_ggf(line) for line in saved.read_text().splitlines()]
    margins = [game.positions[-1].black_margin * (1 if number % 2 == 0 else -1) for number, game in enumerate(games)]
    assert found["margin"] == pytest.approx(sum(margins) / 20)
    low, high = found["margin_interval"]
    assert low < found["margin"] < high
    black, white = ("-".join(map(str, found[colour])) for colour in ("as_black", "as_white"))
    shown = f"margin {found['margin']:+.1f} [{low:+.1f}, {high:+.1f}] discs a game"
    assert without_times(third) == f"as Black {black}, as White {white}; {shown}"
    assert without_times(third) != third
    a_s, b_s = found["seconds_per_move"]
    assert a_s > b_s > 0


def test_models_and_openings_are_identified_as_in_a_ladder(reversi: Reversi, registry: Path, tmp_path: Path) -> None:
    def played(b: str, seed: int) -> dict[str, Any]:
        match = ("match", "--a", "mcts:gated:4", "--b", b, "--size", 6, "--games", 20, "--registry", registry)
        found: dict[str, Any] = json.loads(reversi(*match, "--seed", seed, "--opening-plies", 5, "--json").out)
        return found

    ladder = ("rate", "--size", 6, "--games", 20, "--registry", registry, "--results", tmp_path / "ladder")
    reversi(*ladder, "--players", "greedy", "mcts:gated:4", "--opening-plies", 5, "--seed", 1)
    (batch,) = (json.loads(line) for line in (tmp_path / "ladder").read_text().splitlines())
    found = played("greedy", 1)
    assert (batch["b"], batch["b_model"], batch["a_model"]) == (found["a"], found["a_model"], None)
    assert batch["openings"] == found["openings"] != played("greedy", 2)["openings"]
    other = played("mcts:0:4", 1)
    assert other["a_model"] == found["a_model"] != other["b_model"]
    assert found["b_model"] is None


def test_a_test_stops_the_match_and_says_its_verdict(reversi: Reversi) -> None:
    strong = ["match", "--a", "flat-mc:50", "--b", "random", "--size", 6, "--games", 800, "--sprt", "0,50"]
    found = json.loads(reversi(*strong, "--json").out)
    assert found["games"] < 400
    assert found["sprt"]["verdict"] == "H1"
    assert found["sprt"]["ratio"] >= found["sprt"]["bounds"][1] == pytest.approx(2.944, abs=0.001)
    assert (found["sprt"]["elo0"], found["sprt"]["elo1"]) == (0, 50)
    weak = ["match", "--a", "random", "--b", "flat-mc:50", "--size", 6, "--games", 800, "--sprt", "0,50"]
    assert "SPRT of Elo 0 against 50: H0 accepted, Elo 0 (ratio -" in reversi(*weak).out


def test_a_test_without_enough_games_has_no_verdict(reversi: Reversi) -> None:
    few = ["match", "--a", "random", "--b", "greedy", "--size", 6, "--games", 10, "--sprt=-10,10", "--alpha", 0.01]
    assert json.loads(reversi(*few, "--json").out)["sprt"]["verdict"] is None
    assert "no verdict, more games are needed" in reversi(*few).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sprt", "20"], "expected two Elo differences such as 0,20, got '20'"),
        (["--sprt", "a,b"], "expected two Elo differences such as 0,20"),
        (["--sprt", "20,0"], "the lower one first, got 20 and 0"),
        (["--sprt", "0,20", "--beta", 0.7], "expected an error rate beta between 0 and 0.5, got 0.7"),
        (["--bound", "wide"], "expected a value from 0 to 1, got 'wide'"),
        (["--bound", 0.1], "expected --balanced MODEL with --bound 0.1"),
        (["--alpha", 0.01], "expected --sprt with --alpha"),
        (["--beta", 0.05], "expected --sprt with --beta"),
        (
            ["--openings", "file", "--opening-plies", 0],
            "--openings or --opening-plies, got both: 'file' and 0",
        ),
        (["--opening-plies", 100], "--opening-plies: expected at most 11 plies in reversi4, got 100"),
        (["--games", "x"], "expected a whole number from 0 to 1000000, got 'x'"),
        (["--engine-move", "nan"], "--engine-move: expected seconds above 0 and at most a day, got 'nan'"),
        (["--engine-start", "inf"], "--engine-start: expected seconds above 0 and at most a day, got 'inf'"),
        (["--registry", ""], "--registry: expected a name, got ''"),
        (["--save", ""], "--save: expected a name, got ''"),
    ],
)
def test_a_wrong_test_is_one_line(reversi: Reversi, arguments: list[object], words: str) -> None:
    answer = reversi("match", "--a", "random", "--b", "greedy", "--size", 4, *arguments)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert words in answer.err


def test_openings_that_a_model_finds_even(reversi: Reversi, registry: Path) -> None:
    arguments = ["--registry", registry, "--balanced", "gated", "--simulations", 4, "--bound", 0.9, "--json"]
    found = json.loads(reversi("match", "--a", "random", "--b", "greedy", "--games", 10, *arguments).out)
    assert found["games"] == 10


def test_saved_games_are_replayed_and_have_the_result(reversi: Reversi, tmp_path: Path) -> None:
    saved = tmp_path / "games.ggf"
    match = ("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 6, "--save", saved, "--json")
    score = json.loads(reversi(*match).out)
    games = [parse_ggf(line) for line in saved.read_text().splitlines()]
    assert [(game.tags["PB"], game.tags["PW"]) for game in games] == [("greedy", "random"), ("random", "greedy")] * 3
    margins = [game.positions[-1].black_margin * (1 if number % 2 == 0 else -1) for number, game in enumerate(games)]
    assert sum(margin > 0 for margin in margins) == score["wins"]
    assert sum(margin < 0 for margin in margins) == score["losses"]
    last = reversi("replay", saved, "--game", 6)
    assert last.code == 0
    assert re.search(r"(wins \d+-\d+|Draw 8-8)\.$", last.out.strip())


def test_tic_tac_toe_is_a_game_too(reversi: Reversi, tmp_path: Path) -> None:
    answer = reversi("match", "--a", "uct:100", "--b", "random", "--game", "tictactoe", "--games", 20, "--json")
    score = json.loads(answer.out)
    assert (answer.code, score["games"], score["size"], score["game"]) == (0, 20, 3, "tictactoe")
    assert score["wins"] > score["losses"]
    for arguments, words in (
        (("--game", "tictactoe", "--save", tmp_path / "no.ggf"), "which writes GGF, got tictactoe"),
        (("--game", "tictactoe", "--size", 6), "expected --game or --size"),
    ):
        refused = reversi("match", "--a", "greedy", "--b", "random", *arguments)
        assert refused.code == 2
        assert words in refused.err


def test_games_are_saved_into_a_pipe_and_it_stays_one(reversi: Reversi, tmp_path: Path) -> None:
    """A device, such as /dev/null, is a special file too; it was replaced by a regular one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert reversi("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 2, "--save", pipe).code == 0
    assert os.read(reading, 1 << 16).count(b"(;GM[Othello]") == 2
    os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_path_that_cannot_be_written_is_refused_before_the_first_game(reversi: Reversi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path, tmp_path / "file" / "games.ggf"):
        answer = reversi("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 2, "--save", path)
        assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1)
        assert answer.err.startswith(f"error: {path}: ")


def test_a_result_is_printed_even_if_the_games_cannot_be_saved(
    reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("reversi.files.write_output", full)
    saved = tmp_path / "games.ggf"
    answer = reversi("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 2, "--save", saved)
    assert (answer.code, answer.err) == (1, f"error: {saved}: No space left on device\n")
    assert answer.out.startswith("greedy against random, reversi4, 2 games, won-drawn-lost ")


def interrupt_after(monkeypatch: pytest.MonkeyPatch, plies: int) -> None:
    """Let Ctrl-C arrive after so many lockstep plies."""
    step, left = Match._step, [plies]

    def interrupted(match: Match) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        step(match)

    monkeypatch.setattr(Match, "_step", interrupted)


def test_ctrl_c_prints_the_score_and_saves_the_games_so_far(
    reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "games.ggf"
    match = ("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 200, "--save", saved)
    interrupt_after(monkeypatch, 5)
    answer = reversi(*match, "--json")
    games = [parse_ggf(line) for line in saved.read_text().splitlines()]
    assert answer.code == 130
    assert answer.err == f"interrupted: {len(games)} of 200 games are finished\n"
    assert 0 < len(games) == json.loads(answer.out)["games"] < 200
    assert all(game.positions[-1].is_over for game in games)


def test_ctrl_c_before_the_first_result_leaves_an_older_file_alone(
    reversi: Reversi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "games.ggf"
    saved.write_text("kept")
    interrupt_after(monkeypatch, 1)
    answer = reversi("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 2, "--save", saved)
    assert (answer.code, answer.out) == (130, "")
    assert answer.err == "interrupted: 0 of 2 games are finished\n"
    assert saved.read_text() == "kept"


def test_a_test_that_ends_the_match_saves_the_finished_games_alone(reversi: Reversi, tmp_path: Path) -> None:
    saved = tmp_path / "games.ggf"
    match = ("match", "--a", "flat-mc:30", "--b", "random", "--size", 4, "--games", 800, "--sprt", "0,100")
    found = json.loads(reversi(*match, "--save", saved, "--json").out)
    games = [parse_ggf(line) for line in saved.read_text().splitlines()]
    assert len(games) == found["games"] < 800
    assert all(game.positions[-1].is_over for game in games)


@pytest.fixture
def plies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a match show its progress after every lockstep ply."""

    def one(match: Match, seconds: float) -> bool:
        match._step()
        return match.done

    monkeypatch.setattr(Match, "round", one)


MATCH = ("match", "--a", "greedy", "--b", "random", "--size", 4, "--games", 8)


@pytest.mark.usefixtures("plies")
def test_progress_is_shown_in_a_terminal_from_the_first_ply(
    reversi: Reversi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    *shown, last = reversi(*MATCH).err.split("\r\033[K")[1:]
    assert last == ""
    assert shown[0] == "0 of 8 games; 8 in progress, at ply 4"
    assert re.fullmatch(r"[1-7] of 8 games, score [01]\.\d{3}; [1-7] in progress, at ply \d+", shown[-1])
    assert len(shown) > 5


@pytest.mark.usefixtures("plies")
def test_progress_off_a_terminal_is_a_line_a_minute(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reversi(*MATCH).err == ""
    monkeypatch.setattr("scripts.commands.match.REPORT_S", 0.0)
    lines = reversi(*MATCH).err.splitlines()
    assert lines[0] == "0 of 8 games; 8 in progress, at ply 4"
    assert len(lines) > 5
