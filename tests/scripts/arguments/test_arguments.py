"""What the help says of players is what the reader of players understands."""

from __future__ import annotations

import re

import pytest

from reversi.players import PREFIXES
from reversi.players.spec import OPTIONS
from scripts import cli
from scripts.arguments.common import ENGINES, PLAYERS


def test_the_help_names_every_player_and_every_option() -> None:
    assert [kind for kind in PREFIXES if not re.search(rf"\b{kind}\b", PLAYERS)] == []
    (options,) = re.findall(r"OPT: (.*)", PLAYERS)
    assert options.split(", ") == list(OPTIONS)


@pytest.mark.parametrize("command", ["match", "play", "rate"])
def test_commands_that_take_a_player_explain_players(command: str) -> None:
    assert cli.parser_of(command).format_help().endswith(PLAYERS)


@pytest.mark.parametrize("command", ["gtp", "nboard", "serve", "prove"])
def test_where_positions_alone_are_known_no_engines_are_offered(command: str) -> None:
    assert ENGINES in PLAYERS
    assert cli.parser_of(command).format_help().endswith(PLAYERS.replace(ENGINES, ""))


def test_only_engines_have_a_protocol_that_sets_a_limit() -> None:
    helps = {name: " ".join(cli.parser_of(name).format_help().split()) for name in ("gtp", "nboard", "serve")}
    assert ["set by the protocol" in text for text in helps.values()] == [True, True, False]
    assert "default 4000 without --seconds, 400 for --player" in helps["serve"]


def test_a_wrong_flag_of_train_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--hlep"]) == 2
    assert (
        capsys.readouterr().err == "error: unknown option '--hlep', did you mean '--help'? see 'reversi train --help'\n"
    )


def test_the_help_of_train_lists_what_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--help"]) == 0
    out = capsys.readouterr().out
    for choice in ("experiment", "reversi8_laptop", "network", "tiny", "cluster", "kuberay"):
        assert choice in out
