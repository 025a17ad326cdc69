"""PGN of Othello, as Edax writes it: tags in brackets, then numbered moves and the result.

    [Event "?"]
    [Black "Rose Brian"]
    [White "Tastet Marc"]

    1. F5 D6 2. C3 D3 ... 34-30

A tag FEN gives the position that a game begins from.  Comments and the numbers of annotations are passed over.
"""

from __future__ import annotations

import re

from reversi.errors import NotationError
from reversi.formats.titles import title_of
from reversi.formats.transcripts import Entry
from reversi.games.position import Position

_TAG = re.compile(r'\[\s*([A-Za-z]\w*)\s+"((?:[^"\\\n]|\\.)*)"\s*\]')

_PASSED_OVER = re.compile(r"\{[^}]*\}|;[^\n]*|\$\d+")


def is_pgn(text: str) -> bool:
    """Return whether text begins with a tag."""
    return _TAG.match(text.lstrip()) is not None


def read_pgn(text: str) -> list[Entry]:
    """Return the games; text after moves belongs to the next game from its first tag on."""
    tags = list(_TAG.finditer(text))
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    entries, about = list[Entry](), dict[str, str]()
    for tag, end in zip(tags, ends, strict=True):
        about[tag[1].lower()] = re.sub(r"\\(.)", r"\1", tag[2])
        moves = _PASSED_OVER.sub(" ", text[tag.end() : end]).strip()
        if moves or end == len(text):
            entries.append(_entry(about, moves))
            about = {}
    return entries


def _entry(tags: dict[str, str], moves: str) -> Entry:
    known = {name: value for name, value in tags.items() if value.strip("?. ")}
    place, result = known.get("site", "") or known.get("event", ""), known.get("result", "")
    title = title_of(known.get("black", ""), known.get("white", ""), place, "" if result == "*" else result)
    try:
        return Entry(moves, Position.parse(tags["fen"]) if "fen" in tags else None, title=title)
    except NotationError as error:
        return Entry("", problem=error, title=title)
