"""What a border is: a place where bytes or text of others come in, what reads them, and how it may refuse them.

A reader may accept or raise one of its `refusals`; anything else that it raises, a long silence, a crash or memory
without bound is a defect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reversi.errors import ReversiError
from tests.fuzz.mutate import Form

Read = Callable[[bytes], object]
Opened = tuple[Sequence[bytes], Read]
"""Sound inputs, and what reads them."""


@dataclass(frozen=True)
class Border:
    """One place where others are read."""

    name: str
    form: Form

    open: Callable[[Path], Opened]
    """Make sound inputs and the reader; the folder is empty and the border's own."""

    refusals: tuple[type[BaseException], ...] = (ReversiError,)
    """What the reader may raise."""

    words: tuple[bytes, ...] = ()
    """Text that means something there."""

    weight: float = 1.0
    """Its share of the inputs; slow readers get fewer."""


def lines_of(*lines: str) -> list[bytes]:
    """Return texts as bytes, each a sound input."""
    return [line.encode() for line in lines]


def decoded(data: bytes) -> str:
    """Return input as the text that a reader of text gets."""
    return data.decode(errors="replace")


def from_file(path: Path, read: Callable[[Path], object], data: bytes) -> object:
    """Return what `read` makes of a file that holds the input."""
    path.write_bytes(data)
    return read(path)
