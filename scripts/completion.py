"""Completion of `reversi` command lines in a shell, by argcomplete: commands, options, players, runs, overrides.

`eval "$(register-python-argcomplete --no-defaults reversi)"` switches it on in bash and zsh.  The shell then
runs `reversi` with the line so far in its environment; only the parser of the command in that line is built.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

ASKED = "_ARGCOMPLETE"
"""Environment variable with which a shell asks."""

MODELS = ("gated", "latest", "shipped")

PLAYER_BEGINNINGS = ("random", "greedy", "flat-mc:", "uct:", "alphabeta:", "policy:", "mcts:", "gtp:", "nboard:")

ACTOR_GROUPS = ("cpu", "gpu")
"""The groups of actors in conf/cluster/ray.yaml."""


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
        if name == "train":
            _declare_train(command)
        else:
            declare(name, command)
        for action in command._actions:  # where argcomplete looks for completers, too
            if completer := COMPLETERS.get(action.dest) or COMPLETERS.get(str(action.metavar)):
                action.completer = completer  # type: ignore[attr-defined]
    nothing = argcomplete.completers.SuppressCompleter()
    argcomplete.autocomplete(parser, always_complete_options="long", default_completer=nothing)


def _declare_train(command: argparse.ArgumentParser) -> None:
    """Declare the arguments that `reversi train --help` shows; Hydra parses them."""
    command.add_argument("--config-dir", metavar="DIR")
    command.add_argument("--cfg", choices=["job"])
    command.add_argument("--multirun", action="store_true")
    command.add_argument("overrides", nargs="*", metavar="KEY=VALUE")


def files(prefix: str, **_: object) -> list[str]:
    """Return the files and folders that a path may go on with."""
    from argcomplete.completers import FilesCompleter

    return FilesCompleter()(prefix)


def folders(prefix: str, **_: object) -> list[str]:
    """Return the folders that a path may go on with."""
    return [path for path in files(prefix) if path.endswith("/")]


def models(prefix: str, **_: object) -> list[str]:
    """Return the names of models, or folders where the word begins like none of them."""
    return _names(MODELS, prefix) or folders(prefix)


def players(prefix: str, **_: object) -> list[str]:
    """Return how players are named, also the model after `mcts:` and the like."""
    kind, colon, model = prefix.partition(":")
    if colon:
        return [f"{kind}:{each}" for each in models(model) if kind in ("alphabeta", "policy", "mcts")]
    return _names(PLAYER_BEGINNINGS, prefix) + _names(MODELS, prefix) or folders(prefix)


def runs(prefix: str, **_: object) -> list[str]:
    """Return the names of the runs here, or folders where the word begins like none of them."""
    from reversi.runs import RUNS

    return _names(sorted(path.parent.name for path in RUNS.glob("*/config.yaml")), prefix) or folders(prefix)


def ladders(prefix: str, **_: object) -> list[str]:
    """Return the names of the ladders, or files where the word begins like none of them."""
    from scripts.config.compose import LADDERS, conf_folder

    return _names(sorted(path.stem for path in (conf_folder() / LADDERS).glob("*.yaml")), prefix) or files(prefix)


def boards(action: argparse.Action, **_: object) -> list[str]:
    """Return the games or sizes that the argument's help lists."""
    return re.findall(r"reversi\d|tictactoe|\b\d\b", (action.help or "").partition("(default")[0])


def overrides(prefix: str, **_: object) -> list[str]:
    """Return the override's value once it has a key, else keys: those that people change, or all that begin alike."""
    from scripts.config.compose import RESUME, choices_by_group
    from scripts.config.help import SETTINGS

    groups = choices_by_group()
    if not prefix:
        return [f"{key}=" for key in sorted({*groups, *SETTINGS, RESUME})]
    choices = {**settings(), **groups, RESUME: []}
    key, equals, value = prefix.partition("=")
    if not equals:
        return [f"{key}=" for key in sorted(choices)]
    values = OF_PATHS[key](value) if key in OF_PATHS else choices.get(key, [])
    return [f"{key}={each}" for each in values]


def settings() -> dict[str, list[str]]:
    """Return every setting of a job, `group.key`, with its values where it is a choice.

    Read from the sources of the dataclasses, in 30 ms: importing them takes a second, most of it numba's.
    """
    import ast

    def statements(module: str) -> list[ast.stmt]:
        return ast.parse(Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_bytes()).body

    job = statements("scripts.config.job")
    kinds: dict[str, ast.AST] = {}
    modules = [node.module for node in job if isinstance(node, ast.ImportFrom) and "config" in (node.module or "")]
    for node in itertools.chain(job, *map(statements, filter(None, modules))):
        if isinstance(node, ast.ClassDef):
            kinds[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            kinds[node.targets[0].id] = node.value
    found: dict[str, list[str]] = {}
    for key, values in _settings_of(kinds["JobConfig"], "", kinds):
        found[key] = list(dict.fromkeys([*found.get(key, []), *values]))
    del found["begun_from"]  # the program writes it
    return found


def _settings_of(kind: ast.AST, key: str, kinds: dict[str, ast.AST]) -> Iterator[tuple[str, list[str]]]:
    """Yield the settings of a type and their values: of a class its fields, else those of the types that it names."""
    import ast

    if isinstance(kind, ast.ClassDef):
        for base in kind.bases:
            yield from _settings_of(base, key, kinds)
        for field in kind.body:
            if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
                yield from _settings_of(field.annotation, f"{key}.{ast.unparse(field.target)}".lstrip("."), kinds)
        return
    names = [node.id for node in ast.walk(kind) if isinstance(node, ast.Name)]
    if parts := [kinds[name] for name in names if name in kinds]:
        keys = [f"{key}.{group}" for group in ACTOR_GROUPS] if "dict" in names else [key]
        for part in parts:
            for each in keys:
                yield from _settings_of(part, each, kinds)
    elif "Literal" in names:
        yield key, [str(node.value) for node in ast.walk(kind) if isinstance(node, ast.Constant)]
    else:
        yield key, ["true", "false"] if "bool" in names else []


def _names(names: Iterable[str], prefix: str) -> list[str]:
    return [name for name in names if name.startswith(prefix)]


COMPLETERS: dict[str, Callable[..., list[str]]] = {
    "PLAYER": players,
    "RUN": runs,
    "M": models,
    "MODEL": models,
    "GAME": boards,
    "KEY=VALUE": overrides,
    "FILE": files,
    "DIR": folders,
    "start": files,
    "source": files,
    "registry": folders,
    "url": folders,
    "ladder": ladders,
    "size": boards,
    "group": lambda **_: list(ACTOR_GROUPS),
}
"""What completes an argument, by its name or else by what stands for its value in the help; the others take no file
and no name."""

OF_PATHS: dict[str, Callable[..., list[str]]] = {
    "resume": runs,
    "init": models,
    "run.dir": folders,
    "registry.url": folders,
    "gate.openings": files,
    "cluster.token_file": files,
    "cluster.working_dir": folders,
}
"""What completes the values of overrides that name runs, models, files and folders."""
