"""Completion of `reversi` command lines in a shell, by argcomplete: commands, options, players, runs, overrides.

`eval "$(register-python-argcomplete reversi)"` switches it on in bash and zsh.  The shell then runs `reversi` with
the line so far in its environment; only the parser of the command in that line is built.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ASKED = "_ARGCOMPLETE"
"""Environment variable with which a shell asks."""

PLAYER_BEGINNINGS = ("random", "greedy", "flat-mc:", "uct:", "alphabeta:", "policy:", "mcts:", "gtp:", "nboard:")


def complete(commands: dict[str, str], declare: Callable[[str, argparse.ArgumentParser], None]) -> None:
    """Answer the shell, and end the process.

    commands  every command with its summary
    declare   adds the arguments of a command to a parser
    """
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    parser = argparse.ArgumentParser(prog="reversi", add_help=False)
    choices = parser.add_subparsers()
    for name, summary in commands.items():
        command = choices.add_parser(name, help=summary)
        if words[1:2] != [name]:
            continue
        if name in ("train", "launch"):
            command.add_argument("overrides", nargs="*").completer = overrides  # type: ignore[attr-defined]
        else:
            declare(name, command)
            _offer(command)
    argcomplete.autocomplete(parser, always_complete_options="long")


def _offer(command: argparse.ArgumentParser) -> None:
    """Give the arguments that name players and runs their completers."""
    found = {"PLAYER": players, "RUN": runs}
    for action in command._actions:  # where argcomplete looks for completers, too
        if action.metavar in found:
            action.completer = found[str(action.metavar)]  # type: ignore[attr-defined]


def players(**_: object) -> list[str]:
    """Return how players are named."""
    return ["gated", "latest", "shipped", *PLAYER_BEGINNINGS]


def runs(**_: object) -> list[str]:
    """Return the names of the runs here."""
    from reversi.runs import RUNS

    return sorted(path.parent.name for path in RUNS.glob("*/config.yaml"))


def overrides(prefix: str, **_: object) -> Iterable[str]:
    """Return what an override of a training job may begin with, or its value once it has a key."""
    from scripts.config.compose import choices_by_group
    from scripts.config.help import SETTINGS

    groups = choices_by_group()
    key, equals, _value = prefix.partition("=")
    if equals:
        values = runs() if key == "resume" else groups.get(key, [])
        return [f"{key}={value}" for value in values]
    return [f"{key}=" for key in sorted({*groups, *SETTINGS, "resume"})]
