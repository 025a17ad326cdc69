"""`reversi rate`: the table, its files, and what it says of wrong arguments."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from evaluator.labels import Labels
from evaluator.ledger import Entry, Ledger
from evaluator.truth import Truth
from reversi.model.registry import Registry
from scripts.bench.setup import Settings, random_weights
from scripts.rate.truth import Judged, draw
from tests.scripts.conftest import Reversi

OWN = """
size: 6
players: {players}
champions: true
anchor: null
games: 2
one_sided: null
engines: {{start_s: 10, move_s: 10, restarts: 0}}
"""

THREE = ["--size", 4, "--players", "random", "greedy", "flat-mc:20", "--games", 20]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_and_residuals_are_printed(reversi: Reversi) -> None:
    answer = reversi("rate", *THREE)
    assert (answer.code, answer.err) == (0, "")
    title, _, head, *lines = answer.out.splitlines()
    assert title == "reversi4, 20 games a pair, 95 % error bars, random at 0"
    assert head.split() == ["#", "player", "Elo", "+-", "games", "score", "over", "next"]
    table = [line.split() for line in lines[:3]]
    assert {row[1] for row in table} == {"random", "greedy", "flat-mc:20"}
    assert [row[0] for row in table] == ["1", "2", "3"]
    assert ["random", "0", "0", "40"] in [row[1:5] for row in table]
    assert "residuals: observed less expected" in lines[4]
    matrix = [line.split()[2:] for line in lines[6:9]]
    for i in range(3):
        assert matrix[i][i] == "."
        assert all(float(matrix[i][j]) == -float(matrix[j][i]) for j in range(3) if i != j)


def test_json_holds_everything(reversi: Reversi) -> None:
    found = json.loads(reversi("rate", *THREE, "--anchor", "greedy", "--json").out)
    assert (found["size"], found["anchor"], found["games"], found["seed"]) == (4, "greedy", 20, 0)
    by_name = {player["player"]: player for player in found["players"]}
    assert (by_name["greedy"]["elo"], by_name["greedy"]["error"]) == (0, 0)
    assert [player["rank"] for player in found["players"]] == [1, 2, 3]
    assert [player["elo"] for player in found["players"]] == sorted((p["elo"] for p in by_name.values()), reverse=True)
    assert found["players"][-1]["superiority"] is None
    assert all(player["error"] > 0 for name, player in by_name.items() if name != "greedy")
    assert len(found["pairs"]) == 3
    for pair in found["pairs"]:
        assert pair["games"] == 20 == 2 * sum(pair["pairs"])
        expected = 1 / (1 + 10 ** ((by_name[pair["b"]]["elo"] - by_name[pair["a"]]["elo"]) / 400))
        assert pair["expected"] == pytest.approx(expected)
    points = sum(pair["score"] * 20 for pair in found["pairs"] if pair["a"] == "random")
    points += sum((1 - pair["score"]) * 20 for pair in found["pairs"] if pair["b"] == "random")
    assert by_name["random"]["score"] == pytest.approx(points / 40)


def test_truth_judges_players_by_labels(reversi: Reversi, registry: Path) -> None:
    """A search to the end of the game is perfect, random play is not, and only models have a policy."""
    made = reversi("label", "--size", 6, "--empties", "5-7", "--positions", 30, "-o", "labels")
    assert made.code == 0
    players = ["alphabeta:10", "random", "policy:gated", "mcts:gated:8,solve=7"]
    options = ["--registry", registry, "--truth", "labels", "--players", *players]
    text = reversi("rate", *options, "--picture", "truth.svg").out.splitlines()
    assert "mcts:3:8,solve=7: 100.0 %" in Path("truth.svg").read_text(encoding="utf-8")
    assert text[0].startswith("labels: 30 positions of reversi6, 5-7 empty squares, sha256 ")
    rows = {line.split()[0]: line.split()[1:] for line in text[4:8]}
    assert text[3].split()[:9] == ["player", "positions", "outcome", "kept", "+-", "margin", "kept", "regret", "+-"]
    assert rows["alphabeta:10"] == ["30", "100.0", "0.0", "100.0", "0.00", "0.00", "-", "-", "-", "-"]
    assert float(rows["random"][4]) > 1
    assert rows["mcts:3:8,solve=7"][:6] == ["30", "100.0", "0.0", "100.0", "0.00", "0.00"]
    found = {each["player"]: each for each in json.loads(reversi("rate", *options, "--json").out)["players"]}
    assert list(found) == [name.replace("gated", "3") for name in players]
    assert found["random"]["all"]["policy_best"] is None
    assert 0 < found["policy:3"]["all"]["policy_best"] < 1
    assert sum(part["positions"] for part in found["random"]["empties"].values()) == 30
    share = found["random"]["all"]["outcome_kept"]
    assert found["random"]["all"]["outcome_kept_error"] == pytest.approx((share * (1 - share) / 29) ** 0.5)
    assert rows["random"][2] == f"{100 * found['random']['all']['outcome_kept_error']:.1f}"
    assert rows["random"][5] == f"{found['random']['all']['regret_error_discs']:.2f}"
    assert found["alphabeta:10"]["less_first"] is None
    assert found["random"]["less_first"]["outcome_kept"] == pytest.approx(share - 1)
    brief = reversi("rate", *options, "--brief", "--threads", 1).out.splitlines()
    assert len(brief) == 8
    assert brief[:6] == text[:6]
    for alone, shared in zip(brief[6:], text[6:8], strict=True):  # other threads, other batches: sums differ in a bit
        assert alone.split()[:7] == shared.split()[:7]
        assert _numbers(alone) == pytest.approx(_numbers(shared), rel=0.01, abs=0.001)
    assert "empties" not in json.loads(reversi("rate", *options, "--brief", "--json").out)["players"][0]


def _numbers(row: str) -> list[float]:
    return [float(word) for word in row.split()[7:] if word != "-"]


def test_two_players_with_long_names_are_two_rows_of_truth(reversi: Reversi, registry: Path) -> None:
    """Names are cut for the table, but not where options stand, and no row is taken for another."""
    assert reversi("label", "--size", 6, "--empties", "5-6", "--positions", 4, "-o", "labels").code == 0
    players = [f"mcts:gated:8,solve=0,temperature=1.5,c_puct={c}" for c in (0.5, 1.5)]
    twins = [f"mcts:gated:8,solve=0,temperature=1.5,c_puct=1.{zeros}" for zeros in ("0" * 40, "0" * 41)]
    said = reversi("rate", "--registry", registry, "--truth", "labels", "--players", *players, *twins).out.splitlines()
    names = [line.split()[0] for line in said[4:8]]
    assert [name[-10:] for name in names[:2]] == ["c_puct=0.5", "c_puct=1.5"]
    assert names[2] == names[3]
    assert all(name.startswith("mcts:3:8,s") for name in names)


def test_a_second_call_plays_nothing_and_says_the_same(reversi: Reversi) -> None:
    first = reversi("rate", *THREE)
    file = Path("ladder-reversi4.jsonl")
    before = file.read_bytes()
    assert before.count(b"\n") == 3
    assert reversi("rate", *THREE).out == first.out
    assert file.read_bytes() == before
    reversi("rate", *THREE[:-2], "--games", 40, "--results", file)
    assert file.read_bytes().startswith(before)
    assert file.read_bytes().count(b"\n") == 6


def test_one_go_and_two_give_the_same_ratings(reversi: Reversi) -> None:
    reversi("rate", "--size", 4, "--players", "greedy", "random", "--games", 20, "--results", "two")
    two = json.loads(reversi("rate", *THREE, "--results", "two", "--json").out)
    one = json.loads(reversi("rate", *THREE, "--results", "one", "--json", "--workers", 1).out)
    assert {p["player"]: p["elo"] for p in one["players"]} == pytest.approx(
        {p["player"]: p["elo"] for p in two["players"]}
    )


def test_ctrl_c_keeps_what_was_played_and_says_how_to_go_on(reversi: Reversi, monkeypatch: pytest.MonkeyPatch) -> None:
    add, added = Ledger.add, list[Entry]()

    def interrupted(ledger: Ledger, entry: Entry) -> None:
        if len(added) == 2:
            raise KeyboardInterrupt
        added.append(entry)
        add(ledger, entry)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "add", interrupted)
        answer = reversi("rate", *THREE)
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.strip() == "20 games are left; run the same command again to continue"
    assert reversi("rate", *THREE).out == reversi("rate", *THREE, "--results", "another").out


def test_the_picture_has_a_bar_for_every_player(reversi: Reversi) -> None:
    found = json.loads(reversi("rate", *THREE, "--picture", "ladder.svg", "--json").out)
    root = ElementTree.parse("ladder.svg").getroot()
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [f"{p['player']}: {p['elo']:.0f} +- {p['error']:.0f}" for p in found["players"]]
    dots = [float(dot.attrib["cx"]) for dot in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert dots == sorted(dots, reverse=True)
    assert 0 < dots[-1] < dots[0] < float(root.attrib["width"])


def test_a_ladder_of_ones_own_takes_the_champions(reversi: Reversi, registry: Path) -> None:
    """Versions 0 and 3 were champions, 4 was rejected."""
    Path("own.yaml").write_text(OWN.format(players="[random]"), encoding="utf-8")
    common = ["--ladder", "own.yaml", "--results", "results", "--json"]
    found = json.loads(reversi("rate", *common, "--registry", registry).out)
    assert {p["player"] for p in found["players"]} == {"random", "mcts:0:64", "policy:3", "mcts:3:64"}
    assert {p["player"] for p in found["players"] if p["model"]} == {"mcts:0:64", "policy:3", "mcts:3:64"}


def test_the_ladder_of_the_help_is_a_whole_one(reversi: Reversi, registry: Path) -> None:
    """What it leaves out is no champions, the first player as the anchor, all games, and the usual limits."""
    example = [line for line in reversi("rate", "--help").out.splitlines() if line.startswith("    ")]
    lines = [
        line.strip() for line in example if line.strip().split(":")[0] in ("size", "players", "games", "champions")
    ]
    assert len(lines) == 4
    Path("own.yaml").write_text("\n".join(lines[:3]).replace("100", "2"), encoding="utf-8")
    own = ["--ladder", "own.yaml", "--registry", registry, "--results", "results", "--json"]
    found = json.loads(reversi("rate", *own).out)
    assert {p["player"] for p in found["players"]} == {"random", "alphabeta:3", "mcts:3:64"}
    assert (found["size"], found["anchor"], found["games"]) == (6, "random", 20)
    Path("own.yaml").write_text("\n".join(lines).replace("false", "true").replace("100", "2"), encoding="utf-8")
    assert "policy:3" in {p["player"] for p in json.loads(reversi("rate", *own).out)["players"]}


@pytest.fixture(scope="module")
def registry4(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a registry of a 4x4 model."""
    path = tmp_path_factory.mktemp("registry4")
    weights = random_weights(Settings(size=4, blocks=1, channels=16))
    Registry(str(path), create=True).publish(weights, "promoted", None)
    return path


def test_players_with_a_model_meet_on_its_board(reversi: Reversi, registry4: Path) -> None:
    """Unless --size or --ladder says another one, which the model cannot play."""
    options = ["--registry", registry4, "--players", "random", "policy:gated", "--games", 2, "--json"]
    assert json.loads(reversi("rate", *options).out)["size"] == 4
    for other in (("--size", 6), ("--ladder", "dozen")):
        refused = reversi("rate", *options, *other)
        assert refused.code == 1
        assert "expected a model for reversi6, got version 0 for reversi4" in refused.err


def test_without_a_model_such_a_ladder_says_so(reversi: Reversi) -> None:
    Path("own.yaml").write_text(OWN.format(players="[random, greedy]"), encoding="utf-8")
    answer = reversi("rate", "--ladder", "own.yaml", "--size", 4)
    assert answer.code == 0
    assert answer.err.startswith("rating without a model: no run in runs/ has a promoted model of reversi4")


def test_balanced_openings_are_those_of_the_judge(reversi: Reversi, registry: Path) -> None:
    players = ["--players", "random", "greedy", "--games", 4, "--results", "results"]
    judge = ["--balanced", "gated", "--registry", registry, "--simulations", 4]
    assert reversi("rate", *players, *judge, "--bound", 0.9).code == 0
    assert reversi("rate", *players, *judge, "--bound", 0.9).code == 0
    assert Path("results").read_bytes().count(b"\n") == 1
    assert reversi("rate", *players).code == 0
    assert Path("results").read_bytes().count(b"\n") == 2
    refused = reversi("rate", *players, *judge, "--bound", 0)
    assert refused.code == 2
    assert "with a value within 0 of 0, but only" in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--players", "random"], "expected at least two players to rate, got 1"),
        (["--players", "random", "random"], "expected at least two players to rate, got 1"),
        (["--players", "random", "nobody"], "unknown player"),
        (["--players", "random", "greedy", "--games", 3], "games must be even"),
        (["--players", "random", "greedy", "--games", 0], "games must be even"),
        (["--players", "random", "greedy", "--anchor", "flat-mc:5"], "expected one of the players as the anchor"),
        (["--players", "random", "greedy", "--size", 5], "size must be 4, 6 or 8, got 5"),
        (["--players", "random", "greedy", "--bound", 2], "expected a value from 0 to 1, got '2'"),
        (["--players", "random", "greedy", "--one-sided", 0], "expected a whole number from 1"),
        (["--players", "random", "greedy", "--balanced", "gated", "--openings", "x"], "not allowed with"),
        (["--players", "random", "greedy", "--openings", "nowhere"], "expected a file of openings"),
        (["--players", "random", "greedy", "--brief"], "expected --truth FILE with --brief"),
        (["--players", "random", "greedy", "--threads", 2], "expected --truth FILE with --threads"),
    ],
)
def test_wrong_arguments_are_one_line(reversi: Reversi, arguments: list[object], words: str) -> None:
    answer = reversi("rate", "--size", 4, *arguments)
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert not Path("ladder-reversi4.jsonl").exists()


def test_a_file_that_is_no_ledger_is_left_alone(reversi: Reversi) -> None:
    file = Path("notes.txt")
    file.write_text("milk, eggs\n")
    answer = reversi("rate", *THREE, "--results", file)
    assert answer.code == 1
    assert "notes.txt:1: expected the result of a batch of games" in answer.err
    assert file.read_text() == "milk, eggs\n"


@pytest.mark.timeout(60)
def test_a_device_is_no_file_of_results(reversi: Reversi) -> None:
    answer = reversi("rate", *THREE, "--results", "/dev/zero")
    expected = "error: /dev/zero: expected results of games, a file of at most 67108864 bytes, got something else\n"
    assert (answer.code, answer.out, answer.err) == (1, "", expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--players", "random", "gtp:edax -gtp"],
            "expected a player of this program, got 'gtp:edax -gtp': "
            "external programs only play games of `play`, `match` and `rate`",
        ),
        (["--size", 6], "expected no --size with --truth"),
        (["--ladder", "edax8"], "expected no --ladder with --truth"),
        (["--one-sided", 4], "expected no --one-sided with --truth"),
        (["--engine-move", 4], "expected no --engine-move with --truth"),
    ],
)
def test_truth_refuses_what_it_cannot_use(reversi: Reversi, arguments: list[object], words: str) -> None:
    """Before the labels are opened, so that nothing is started or measured in vain."""
    answer = reversi("rate", "--truth", "labels", *arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert words in answer.err


def test_the_picture_of_the_truth_has_at_most_five_lines_named_at_their_ends() -> None:
    """The best and the worst are among them, and of two that keep as much the first alone."""
    shares = {"a": 0.90, "b": 0.98, "c": 0.98, "d": 0.99, "e": 0.50, "f": 0.75, "g": 0.755, "h": 0.905}
    truths = {
        name: Judged(each := Truth(positions=9, outcome_kept=share, margin_kept=0.5, regret_discs=1.0), {6: each}, None)
        for name, share in shares.items()
    }
    disc, six, scores = np.ones(1, np.uint64), np.full(1, 6, np.int8), np.zeros((1, 36), np.int8)
    root = ElementTree.fromstring(draw(truths, Labels("reversi6", 1, disc, disc * 2, six, scores)))
    named = [(float(each.attrib["y"]), str(each.text)) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    names = {text[0]: y for y, text in named if text.endswith(" %") and len(text) == len("a: 90.0 %")}
    assert list(names) == sorted(names, key=lambda name: -shares[name])
    assert names.keys() == {"d", "e", "f", "a", "b"}
    heights = sorted(names.values())
    assert min(below - above for above, below in pairwise(heights)) >= 16
