"""The words of a GTP command: its number and name, colours and numbers, and what is wrong with them."""

from __future__ import annotations

import math

from reversi.games.notation import parse_side

_DROPPED = {code: None for code in (*range(32), 127) if code != 9} | {9: 32}
"""GTP 2, section 2.2: control characters are dropped, a tab becomes a space."""


class GtpError(Exception):
    """An error response; its message follows the question mark."""


def parse_line(line: str) -> tuple[str, list[str]]:
    """Return a line's command number (as written, "" without one) and its words; a comment or blank line has neither.

    GTP 2, sections 2.2, 2.5 and 2.9: text after # is a comment; control characters are dropped.
    """
    words = line.translate(_DROPPED).partition("#")[0].split()
    numbered = bool(words) and words[0].isascii() and words[0].isdecimal()
    return (words[0], words[1:]) if numbered else ("", words)


def colour_of(words: list[str]) -> bool:
    """Return whether the first word is black; GtpError if it is no colour."""
    colour = parse_side(words[0]) if words else None
    if colour is None:
        got = repr(words[0]) if words else "nothing"
        raise GtpError(f"syntax error: expected black or white, got {got}")
    return colour


def whole(words: list[str], index: int) -> int:
    """Return the whole number at `index`, or raise GtpError."""
    number = real(words, index)
    if number != int(number):
        raise GtpError(f"syntax error: expected a whole number, got {words[index]!r}")
    return int(number)


def real(words: list[str], index: int) -> float:
    """Return the finite number at `index`, or raise GtpError."""
    try:
        number = float(words[index])
    except (IndexError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        got = repr(words[index]) if index < len(words) else "nothing"
        raise GtpError(f"syntax error: expected a number, got {got}")
    return number
