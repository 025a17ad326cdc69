"""Every error a user can meet, each with the exit code a command ends with.

A message says what was expected, what was given and what to do, on one line; offending text is quoted with `!r`.
`scripts/cli.py` prints the message alone and exits with `exit_code`: 1 failed, 2 usage or configuration,
3 unreachable, 4 no gated model yet.
"""

from __future__ import annotations


class ReversiError(Exception):
    """Base of all errors that are the world's fault and not a bug; printed as one line, never as a traceback."""

    exit_code = 1


class NotationError(ReversiError, ValueError):
    """A square, move, position or transcript that cannot be read."""


class IllegalMoveError(ReversiError, ValueError):
    """A well-formed move that the rules do not allow in this position."""


class CorruptFileError(ReversiError):
    """Bytes that are truncated, of another format, or do not match their checksum."""


class CorruptRecordError(CorruptFileError):
    """A batch of game records that cannot be decoded, or a game in it that the rules refute."""


class IncompatibleModelError(ReversiError):
    """A model of another board size, planes version, rules version or network kind than what is asked for."""


class TrainingDivergedError(ReversiError):
    """A loss or gradient that is no longer finite, or exploded; names the step and the last good checkpoint."""


class RunError(ReversiError):
    """A run folder that is missing, taken, held by another process, unwritable or full."""


class UnwritableError(RunError):
    """A disk or store that did not take what was to be written, as it is full or away; it can be tried again."""


class EngineError(ReversiError):
    """Another program that does not start, answer, follow its protocol or play by the rules."""


class ConfigError(ReversiError, ValueError):
    """A configuration key or value that is unknown or out of range, or a resource this machine does not have."""

    exit_code = 2


class UsageError(ReversiError):
    """A command-line argument that names nothing."""

    exit_code = 2


class UnreachableError(ReversiError):
    """A registry, cluster or server that does not answer."""

    exit_code = 3


class NoGatedModelError(ReversiError):
    """A registry that is fine but holds no gated model yet."""

    exit_code = 4


def first_line(error: object) -> str:
    """Return the first line of an error's message, or the error's type if it has none; some libraries write pages."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
