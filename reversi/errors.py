"""Every error a user can meet, each with the exit code of the command.

A message says what was expected, what was given and what to do, on one line; offending text is quoted with `!r`.
`scripts/cli.py` prints only the message and exits with `exit_code`: 1 failed, 2 usage or configuration, 3 unreachable,
4 no gated model yet.
"""

from __future__ import annotations

from collections.abc import Iterable


class ReversiError(Exception):
    """Base of all errors with an external cause, as opposed to bugs; printed as one line, never as a traceback."""

    exit_code = 1


class NotationError(ReversiError, ValueError):
    """A square, move, position or transcript that cannot be read."""


class IllegalMoveError(ReversiError, ValueError):
    """A well-formed move that the rules do not allow in this position."""


class CorruptFileError(ReversiError):
    """Bytes that are truncated, of another format, or do not match their checksum."""


class CorruptRecordError(CorruptFileError):
    """A batch of game records that cannot be decoded, or that contains a game against the rules."""


class IncompatibleModelError(ReversiError):
    """A model whose board size, planes version, rules version or network kind is not the requested one."""


class TrainingDivergedError(ReversiError):
    """A loss or gradient that is not finite or has exploded; names the step."""


class RunError(ReversiError):
    """A run folder that is missing, already in use, locked by another process, unwritable or full."""


class NameTakenError(RunError):
    """A name that another run has."""


class UnwritableError(RunError):
    """A write that failed because the disk or store is full or unavailable; it can be retried."""


class EngineError(ReversiError):
    """An external program that does not start, does not answer, or violates its protocol or the rules."""


class ConfigError(ReversiError, ValueError):
    """A configuration key or value that is unknown or out of range, or a resource this machine does not have."""

    exit_code = 2


class UsageError(ReversiError):
    """An invalid command-line argument or combination of arguments."""

    exit_code = 2


class MissingPackageError(UsageError):
    """An optional package that is not installed; names the extra that installs it."""


class UnknownPlayerError(UsageError):
    """A specification of a player that names none."""


class UnreachableError(ReversiError):
    """A registry, cluster or server that does not answer."""

    exit_code = 3


class NoGatedModelError(ReversiError):
    """A valid registry without a gated model."""

    exit_code = 4


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like `name`, None if none is like it."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1)), None)


def did_you_mean(guess: str | None) -> str:
    """Return what follows an unknown name in an error, before the names that are known: a question, or a semicolon."""
    return ";" if guess is None else f", did you mean {guess!r}?"


def unreadable(path: object, what: str, error: OSError) -> UsageError:
    """Return the error for a file that a person named and that cannot be opened; `what` was expected there."""
    reason = "it does not exist" if isinstance(error, FileNotFoundError) else error.strerror or error
    return UsageError(f"{path}: expected {what}, but {reason}")


def printable(text: str) -> str:
    """Return `text` with its control characters written out: names of files may hold codes that a terminal obeys."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def first_line(error: object) -> str:
    """Return the first line of an error's message, or the error's type if it has none; some libraries write pages."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
