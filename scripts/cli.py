"""`reversi COMMAND`: find the command's module, parse its arguments, turn expected errors into one line and a code.

A command is a module of `scripts/commands` with `EXAMPLES`, `add_arguments(parser)` and `run(args) -> exit code`.  It
is imported when it is called and imports heavy packages inside its functions, so that help and usage errors are
immediate.
`train` is different: its arguments are Hydra overrides and are passed on unparsed.

Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 unreachable, 4 no gated model yet, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from reversi import __version__
from reversi.errors import (
    ReversiError,
    UnknownPlayerError,
    UsageError,
    closest,
    did_you_mean,
    first_line,
    printable,
)
from reversi.extras import missing_package
from reversi.urls import masked
from scripts import completion

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

GROUPS = {
    "Train": {
        "train": "train a model from nothing, or resume a run",
        "status": "show a run or job",
        "watch": "watch a run on a page in a browser",
        "stop": "save and stop a run, and print the resume command",
        "scale": "change the number of actors of a run or job",
        "launch": "submit a training job to a Ray cluster",
        "picture": "draw the learning curves of a run",
        "report": "write a run's page as one file",
        "data": "write the games that a run kept, for other learners",
    },
    "Play": {
        "play": "play in the terminal against any player",
        "serve": "play and analyse in a browser",
        "replay": "step through a recorded game",
        "match": "play a match between two players: score, interval, Elo",
        "rate": "rate many players against each other, with error bars",
    },
    "Analyse": {
        "review": "say what every move of a game lost, and a better one",
        "analyze": "analyze positions from a file or standard input",
        "solve": "solve positions from a file or standard input exactly",
        "label": "create positions with the exact score of every move",
        "prove": "play every game of a player on a small board",
    },
    "Models": {
        "models": "list a registry's models, or roll its champion back",
        "pull": "download the newest gated model from a registry",
        "push": "publish a champion in a folder, a bucket or a hub",
        "export": "write a model as an ONNX file for other programs",
    },
    "Engines": {
        "gtp": "run as an engine for GoGui and other GTP programs",
        "nboard": "run as an engine for NBoard",
    },
    "Check": {
        "bench": "measure the speed of every layer on this machine",
        "perft": "count the leaves of the game tree",
        "signature": "print a number that tells if the search behaves as before",
    },
}
"""Every command with its summary, in the groups and the order of `reversi --help`, whose lines fit 80 columns."""

COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
"""Every command with its summary."""


SPELLINGS = {"analyse": "analyze"}
"""Other spellings of commands."""


class Command(Protocol):
    """What the module of a command provides."""

    EXAMPLES: str
    """Example command lines, one per line; the help starts with them."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Run the command and return the exit code."""


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose help starts with examples and whose errors are raised as UsageError, on one line."""

    examples = ""

    def format_help(self) -> str:
        """Return the examples, then what argparse writes."""
        return f"{self.examples}\n{super().format_help()}"

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write the help; argparse would ignore a full disk."""
        print(message, end="", file=file)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments; an unknown option is answered with the one that is spelled most like it."""
        known, unknown = self.parse_known_args(args, namespace)
        for option in unknown:
            if option.startswith("--"):
                options = re.findall(r"(?<![\w-])--[a-z-]+", super().format_help())
                guess = did_you_mean(closest(option.partition("=")[0], options))
                raise UsageError(f"unknown option {option!r}{guess} see '{self.prog} --help'")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with a reference to the command's help."""
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; the entry point of `reversi`."""
    if completion.ASKED in os.environ:
        completion.complete(COMMANDS, lambda name, parser: command_of(name).add_arguments(parser))
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    try:
        with _no_interrupt_lost():
            code = dispatch(arguments)
        sys.stdout.flush()
    except ReversiError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # whoever pressed Ctrl-C knows; the shell's prompt gets a line of its own
        return 130
    except BrokenPipeError:  # as in `reversi models | head -n 1`
        _drop_output()
        return 130
    except ImportError as error:
        if (absent := missing_package(error)) is not None:
            return _fail(str(absent), absent.exit_code)
        package = (error.name or "").partition(".")[0]
        if package in ("", "reversi", "actors", "learner", "evaluator", "scripts"):
            raise  # a bug of ours
        return _fail(f"expected the package {package}, which cannot be imported: {error}; install it again", 1)
    except MemoryError as error:
        return _fail(f"not enough memory: {first_line(error).partition(' for an array')[0]}", 1)
    except OSError as error:  # a full disk, a folder that is a file, a denied permission
        return _fail(f"{_place_of(error)}: {error.strerror or error}", 1)
    return code


def _place_of(error: OSError) -> object:
    """Return where an error came up: a file, standard output, whose buffer is then dropped, or just the system."""
    if error.filename:
        return error.filename
    try:
        sys.stdout.flush()  # what could not be written is still in its buffer, unless Python runs without buffers
    except OSError:
        _drop_output()
        return "standard output"
    return "the system"


def _drop_output() -> None:
    """Let standard output be /dev/null: Python writes what is in its buffer once more before it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Let every standard stream that the parent process closed, as `reversi solve <&-` does, be /dev/null."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  open until the process ends


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Interrupt again when Ctrl-C came in a `__del__`, as of what numba frees while it loads a kernel: Python prints an
    exception raised there and goes on.  And let what it left half made, as by numba then too, be freed in silence."""
    before = sys.unraisablehook

    def interrupt() -> None:
        """Send the signal to the main thread: `_thread.interrupt_main` would end no system call in which it waits."""
        signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)

    def report(what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            threading.Timer(0.01, interrupt).start()  # in this hook it would be lost again
        else:
            before(what)

    sys.unraisablehook = report
    try:
        yield
    except KeyboardInterrupt as error:
        sys.unraisablehook = lambda what: None
        traceback.clear_frames(error.__traceback__)
        raise
    finally:
        sys.unraisablehook = before


def dispatch(arguments: list[str]) -> int:
    """Run the command that `arguments` begin with; without a command, print the overview."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    name, *rest = arguments
    name = SPELLINGS.get(name, name)
    if name in ("-V", "--version"):
        print(f"reversi {__version__}")
        return 0
    if name not in COMMANDS:
        raise _unknown(name)
    if name == "train":
        return _train(rest)
    try:
        return command_of(name).run(parser_of(name).parse_args(rest))
    except SystemExit as stop:  # argparse ends the process after --help
        return int(stop.code or 0)
    except UnknownPlayerError as error:
        joint = "" if str(error).endswith("?") else ";"
        raise UsageError(f"{error}{joint} see 'reversi {name} --help' for players") from error


def _train(overrides: list[str]) -> int:
    if "-h" in overrides or "--help" in overrides:
        from scripts.config.help import train_help

        print(train_help(), end="")
        return 0
    from scripts.commands import train

    return train.run(overrides)


def _unknown(name: str) -> UsageError:
    """Return the error for a command that does not exist, with the most similar one that does."""
    return UsageError(f"unknown command {name!r}{did_you_mean(closest(name, COMMANDS))} try 'reversi --help'")


def parser_of(name: str) -> CommandParser:
    """Return the parser of a command's arguments; not for `train`, whose arguments are Hydra's."""
    command = command_of(name)
    parser = CommandParser(
        prog=f"reversi {name}",
        description=_wrapped(command.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.examples = "examples:\n" + "".join(f"  {line}\n" for line in command.EXAMPLES.strip().splitlines())
    command.add_arguments(parser)
    return parser


def command_of(name: str) -> Command:
    """Import a command's module."""
    return cast(Command, importlib.import_module(module_of(name)))


def module_of(name: str) -> str:
    """Return the name of a command's module."""
    return f"scripts.commands.{name}"


def _wrapped(text: str) -> str:
    """Return the paragraphs of `text`, wrapped to the width of the terminal; indented ones stay as they are."""
    width = min(shutil.get_terminal_size().columns - 2, 100)
    return "\n\n".join(
        paragraph if paragraph.startswith(" ") else textwrap.fill(" ".join(paragraph.split()), width)
        for paragraph in text.split("\n\n")
    )


def _overview() -> str:
    width = max(map(len, COMMANDS))
    groups = [
        line
        for group, commands in GROUPS.items()
        for line in (f"{group}:", *(f"  {name:<{width}}  {summary}" for name, summary in commands.items()), "")
    ]
    return "\n".join(
        [
            "examples:",
            "  reversi train          # ten minutes from nothing to a gated 6x6 model",
            "  reversi play           # play against it",
            "",
            "usage: reversi COMMAND [arguments]",
            "",
            *groups,
            "exit codes: 0 ok, 1 failed, 2 usage, 3 unreachable, 4 no gated model yet,",
            "130 interrupted",
            "",
            "`reversi COMMAND --help` describes a command.",
        ]
    )


def _fail(message: str, code: int) -> int:
    print("error: " + printable(masked(" ".join(message.split()))), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
