"""`reversi COMMAND`: finds the command's file, reads its arguments, turns every expected failure into one line and an
exit code.

A command is a module of this package with `EXAMPLES`, `add_arguments(parser)` and `run(args) -> exit code`.  It is
imported when it is asked for and imports what is heavy inside its functions, so that help and usage errors answer at
once.  `train` is different: what follows it are Hydra overrides and go through unread.

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 unreachable, 4 no gated model yet, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn, Protocol, cast

from reversi import __version__
from reversi.errors import ReversiError, UsageError

COMMANDS = {
    "train": "learn from nothing, or resume a run",
    "launch": "submit a training job to a Ray cluster",
    "status": "what a run or a job is doing",
    "stop": "ask a run or a job to save and end",
    "scale": "more or fewer actors for a run or a job that trains",
    "soak": "is the memory of a run flat?",
    "drill": "do harm to a small run and see how it goes on",
    "play": "play in the terminal against any player",
    "match": "two players against each other: score, interval, Elo",
    "rate": "many players against each other: a ladder with error bars",
    "replay": "step through a game that was played",
    "analyze": "judge positions from standard input",
    "solve": "solve positions from standard input exactly",
    "picture": "draw the learning curves of a run",
    "prove": "play all of a player's games out: does it ever lose?",
    "label": "make a set of positions with every move's exact score",
    "gtp": "be an engine for Quarry, GoGui and other GTP programs",
    "nboard": "be an engine for NBoard",
    "pull": "fetch the newest gated model from a registry",
    "models": "list a registry's models and their verdicts",
    "bench": "measure this machine, one row per layer",
    "perft": "count the leaves of the game tree",
    "signature": "one number that says whether the search behaves as before",
}
"""Every command with its summary, in the order of `reversi --help`."""

MODULES = {"bench": "bench.command", "drill": "drill.command"}
"""Commands whose module has another name than they."""

TRAIN_HELP = """\
examples:
  reversi train                                    the default job: 6x6, ten minutes, this machine
  reversi train run.minutes=60 run.name=long       longer, under a name of its own
  reversi train cluster=serial                     everything in one process, for a debugger
  reversi train resume=runs/long                   go on where a stopped run was saved
  reversi train --multirun run.seed=1,2,3          one run after another, by Hydra's syntax for sweeps
  reversi train --cfg job                          print the whole configuration and stop

usage: reversi train [--help] [KEY=VALUE ...]

Learn the game from nothing: self-play, replay, learner and the gate, in a folder runs/NAME.  Everything that can
be set is in conf/, one file per part; KEY=VALUE overrides one value of it, GROUP=CHOICE picks another file (Hydra's
syntax).  Ctrl-C once stops within seconds and leaves a run that can be resumed; twice stops now.
"""


class Command(Protocol):
    """What each command's module offers."""

    EXAMPLES: str
    """Command lines to paste, one per line; help starts with them."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it and return the exit code."""


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose help starts with examples and whose complaint is one line, raised as UsageError."""

    examples = ""

    def format_help(self) -> str:
        """Return the examples, then what argparse writes."""
        return f"{self.examples}\n{super().format_help()}"

    def error(self, message: str) -> NoReturn:
        """Raise UsageError naming the command and where to read more."""
        raise UsageError(f"{self.prog}: {message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; the entry point of `reversi`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = dispatch(arguments)
        if sys.stdout is not None:  # it is None where whoever started us has closed it
            sys.stdout.flush()
    except ReversiError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # `reversi models | head -n 1`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk, a folder that is a file, a denied permission
        return _fail(f"{error.filename or 'the system'}: {error.strerror or error}", 1)
    return code


def dispatch(arguments: list[str]) -> int:
    """Run the command that `arguments` begin with; without one, print the overview."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    name, *rest = arguments
    if name in ("-V", "--version"):
        print(f"reversi {__version__}")
        return 0
    if name not in COMMANDS:
        raise UsageError(f"expected a command ({', '.join(COMMANDS)}), got {name!r}")
    if name == "train":
        return _train(rest)
    try:
        return _module(name).run(parser_of(name).parse_args(rest))
    except SystemExit as stop:  # argparse ends the process after --help
        return int(stop.code or 0)


def _train(overrides: list[str]) -> int:
    if "-h" in overrides or "--help" in overrides:
        print(TRAIN_HELP, end="")
        return 0
    from scripts import train

    return train.run(overrides)


def parser_of(name: str) -> CommandParser:
    """Return the parser of a command's arguments, `train` excepted, which takes Hydra's."""
    command = _module(name)
    parser = CommandParser(
        prog=f"reversi {name}",
        description=_wrapped(command.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.examples = "examples:\n" + "".join(f"  {line}\n" for line in command.EXAMPLES.strip().splitlines())
    command.add_arguments(parser)
    return parser


def _module(name: str) -> Command:
    return cast(Command, importlib.import_module(f"scripts.{MODULES.get(name, name)}"))


def _wrapped(text: str) -> str:
    """Return the paragraphs of `text`, each as wide as the terminal."""
    width = min(shutil.get_terminal_size().columns - 2, 100)
    return "\n\n".join(textwrap.fill(" ".join(paragraph.split()), width) for paragraph in text.split("\n\n"))


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "examples:",
            "  reversi train          # ten minutes from nothing to a gated 6x6 model",
            "  reversi play           # play against it",
            "",
            "usage: reversi COMMAND [arguments]",
            "",
            "commands:",
            *lines,
            "",
            "`reversi COMMAND --help` tells more.",
        ]
    )


def _fail(message: str, code: int) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
