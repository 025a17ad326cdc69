"""What the help says of players is what the reader of players understands."""

from __future__ import annotations

import re

import pytest

from reversi.players import PREFIXES
from reversi.players.spec import OPTIONS
from scripts import cli
from scripts.arguments.common import PLAYERS


def test_the_help_names_every_player_and_every_option() -> None:
    assert [kind for kind in PREFIXES if not re.search(rf"\b{kind}\b", PLAYERS)] == []
    (options,) = re.findall(r"OPT: (.*)", PLAYERS)
    assert options.split(", ") == list(OPTIONS)


@pytest.mark.parametrize("command", ["match", "play", "rate", "gtp", "nboard", "prove"])
def test_commands_that_take_a_player_explain_players(command: str) -> None:
    assert cli.parser_of(command).format_help().endswith(PLAYERS)


def test_a_wrong_flag_of_train_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--hlep"]) == 2
    assert capsys.readouterr().err == "error: unknown option '--hlep'; see 'reversi train --help'\n"


def test_the_help_of_train_lists_what_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--help"]) == 0
    out = capsys.readouterr().out
    for choice in ("experiment", "reversi8_laptop", "network", "tiny", "cluster", "kuberay"):
        assert choice in out
