"""Laws: what any writer writes of a game is read alike by every reader, and quoted as given where it is not."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reversi.errors import ReversiError
from reversi.formats.files import read_archive_of
from reversi.formats.ggf import parse_ggf
from reversi.formats.text import parse_game
from reversi.frontends.web.game import WebGame
from reversi.games.notation import PASS, PASSES, action_name, parse_action
from reversi.games.position import Position
from reversi.games.rules import GAMES
from tests.reversi.formats import writers
from tests.reversi.formats.writers import Moves

quick = settings(max_examples=60, derandomize=True, database=None, deadline=None)

PASSING = "f5f6c4g5h5h4g7h6"
"""Black must pass next."""


@st.composite
def games(draw: st.DrawFn, boards: Sequence[str] = ("reversi8", "reversi6", "reversi4")) -> Moves:
    """Draw the moves of a game, or of its beginning, from the start; on 8x8 often one with a pass."""
    position, moves = Position.start(draw(st.sampled_from(boards))), list[str]()
    if position.game.name == "reversi8" and draw(st.booleans()):
        moves = [PASSING[at : at + 2] for at in range(0, len(PASSING), 2)]
        position = writers.positions(position, moves)[-1]
    for choice in draw(st.lists(st.integers(0, 1000), min_size=1, max_size=70)):
        if position.is_over:
            break
        legal = position.legal_moves()
        moves.append(legal[choice % len(legal)])
        position = position.play(moves[-1])
    return moves


def start_of(moves: Moves) -> Position:
    """Return the start of the first board on which the moves are legal."""
    for name in ("reversi8", "reversi6", "reversi4"):
        try:
            return writers.positions(Position.start(name), moves)[0]
        except ReversiError:
            continue
    raise AssertionError(moves)


def as_file(text: str | bytes, start: Position) -> tuple[Position, list[str]]:
    data = text.encode() if isinstance(text, str) else text
    (found,) = read_archive_of(data, None, "it")
    assert len(found) == 1, text
    assert not found.is_broken(0), found.problem(0)
    return found.positions(0)[0], found.moves(0)


def as_text(text: str, start: Position) -> tuple[Position, list[str]]:
    parsed = parse_game(text)
    return parsed.start, parsed.moves


def on_the_page(text: str, start: Position) -> tuple[Position, list[str]]:
    read = WebGame.from_text(text, start.game)
    return read.positions[0], list(read.moves)


READERS: Sequence[Callable[[str, Position], tuple[Position, list[str]]]] = (as_file, as_text, on_the_page)

WRITERS = [
    writers.ours,
    writers.ggs,
    writers.edax_ggf,
    writers.edax_sgf,
    writers.othellotk,
    writers.quarry,
    writers.edax_pgn,
]


def without_last_pass(moves: Moves) -> list[str]:
    """Return the moves without a pass at their end, which a transcript without passes leaves out."""
    return list(moves[:-1] if moves[-1:] == [PASS] else moves)


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@given(moves=games(), skipped=st.integers(0, 30))
@quick
def test_a_game_of_any_program_is_read_alike(
    write: Callable[[Position, Moves], str], moves: Moves, skipped: int
) -> None:
    at = min(skipped, len(moves) - 1)
    start = writers.positions(start_of(moves), moves)[at]
    text = write(start, moves[at:])
    for read in READERS:
        assert read(text, start) == (start, list(moves[at:]))


@given(moves=games())
@quick
def test_our_ggf_is_what_nboard_reads(moves: Moves) -> None:
    text = writers.ours(start_of(moves), moves)
    assert [action_name(start_of(moves).game, action) for action in parse_ggf(text).actions] == list(moves)


SEPARATORS = ("", " ", "\t", ", ", "-", "\u3000", "\u00a0", " | ", "\u2013")


@given(
    moves=games(),
    word=st.sampled_from(["", *PASSES, *map(str.upper, PASSES)]),
    between=st.sampled_from(SEPARATORS),
    numbers=st.sampled_from(["", "{}.", "{}. ", "{}) ", "({}) ", "{}... "]),
    capitals=st.booleans(),
    wide=st.booleans(),
    quotes=st.sampled_from(["", '"', "'", "\u201c\u201d", "\u300c\u300d"]),
    result=st.sampled_from(["", " 34-30", " (34-30)", "\n34 - 30", " 1-0", " *", " # over", " {over}"]),
)
@quick
def test_a_transcript_in_any_notation_is_read_alike(
    moves: Moves,
    word: str,
    between: str,
    numbers: str,
    capitals: bool,
    wide: bool,
    quotes: str,
    result: str,
) -> None:
    words = [(word if move == PASS else move) for move in moves]
    if not word:
        words = [move for move in words if move]
    if capitals:
        words = [each.upper() for each in words]
    if numbers:
        words = [numbers.format(number) + each for number, each in enumerate(words, 1)]
    unclear = (not between and word in ("tt", "TT")) or (between == "-" and set(word) == {"-"})
    separator = " " if unclear else between
    text = separator.join(words)
    if wide:
        text = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)
    text = f"{quotes[:1]}{text}{quotes[-1:]}{result}"
    expected = list(moves) if word else without_last_pass(moves)
    start = start_of(moves)
    for read in READERS:
        assert read(text, start) == (start, expected), text


@given(moves=games(), width=st.integers(1, 30), ends=st.sampled_from(["\n", "\r\n", "\n  "]))
@quick
def test_a_game_written_over_several_lines_is_one_game(moves: Moves, width: int, ends: str) -> None:
    moves = without_last_pass(moves)
    words = [move for move in moves if move != PASS]
    lines = [" ".join(words[at : at + width]) for at in range(0, len(words), width)]
    start, text = start_of(moves), ends.join(lines)
    for read in (as_text, on_the_page):
        assert read(text, start) == (start, moves)
    numbered = ends.join(f"{at * width // 2 + 1}. {line}" for at, line in enumerate(lines)) if width % 2 == 0 else text
    assert as_text(numbered, start) == (start, moves)


@given(
    many=st.lists(games(["reversi8"]), min_size=2, max_size=5),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
@quick
def test_files_of_many_games_are_read_alike(many: list[Moves], encoding: str) -> None:
    many = [without_last_pass(moves) for moves in many]
    texts = [writers.transcript(moves) for moves in many]
    start = Position.start("reversi8")
    files: list[bytes] = [
        "\n\n".join(texts).encode(encoding),
        writers.eothello(many).encode(encoding),
        "\n".join(writers.ggs(start, moves) for moves in many).encode(encoding),
        "".join(writers.edax_sgf(start, moves) for moves in many).encode(encoding),
        "".join(writers.edax_pgn(start, moves) for moves in many).encode(encoding),
        writers.wthor(many),
    ]
    for data in files:
        for wrapped in (data, gzip.compress(data)):
            (found,) = read_archive_of(wrapped, None, "it")
            assert [found.moves(index) for index in range(len(found))] == many


@given(moves=games(), side=st.sampled_from(["", " ", "  "]), words=st.booleans())
@quick
def test_a_position_in_any_form_is_read_alike(moves: Moves, side: str, words: bool) -> None:
    position = writers.positions(start_of(moves), moves)[-1]
    cells, black = writers.squares(position), position.black_to_move
    named = ("Black to move" if black else "white to play") if words else "X" if black else "O"
    stars = cells.replace("X", "*").replace("-", ".")
    discs = cells.replace("X", "\u25cf").replace("O", "\u25cb").replace("-", "\u30fb")
    wide = "".join(chr(ord(each) + 0xFEE0) for each in cells)
    for text in (
        f"{cells}{side or ('' if not words else ' ')}{named}",
        f"{cells.lower()} {named}",
        f"{cells.translate(str.maketrans('XO', 'bw'))} {named}",
        f"{stars} {named}",
        f"{discs} {named}",
        f"{wide}\u3000{named}",
        f"[{position.game.size} {' '.join(writers.rows(stars))} {'*' if black else 'O'}]",
        f"{'/'.join(writers.rows(cells))} {named}",
        "\n".join([*writers.rows(cells), named]),
        " ".join(cells) + f" {named}",
        writers.fen(position),
        writers.chess_fen(position),
        f'"{position}"',
        f"{position} % a comment",
    ):
        for read in READERS:
            assert read(text, position) == (position, []), text


@given(moves=games(), skipped=st.integers(0, 30), between=st.sampled_from([" ", "; ", ";", "\n"]))
@quick
def test_a_position_with_the_moves_after_it_is_a_game(moves: Moves, skipped: int, between: str) -> None:
    moves = without_last_pass(moves)
    at = min(skipped, len(moves) - 1)
    start = writers.positions(start_of(moves), moves)[at]
    text = f"{start}{between}{' '.join(moves[at:])}"
    for read in READERS if between != "\n" else (as_text, on_the_page):
        assert read(text, start) == (start, list(moves[at:]))


@given(moves=games(), scored=st.booleans(), sentinel=st.booleans())
@quick
def test_obf_as_edax_writes_it_is_read(moves: Moves, scored: bool, sentinel: bool) -> None:
    position = writers.positions(start_of(moves), moves)[-1]
    legal = position.legal_moves() if scored else []
    scores = {move: 12 - 2 * rank for rank, move in enumerate(legal)}
    found = parse_game(writers.edax_obf(position, scores, sentinel=sentinel))
    assert found.start == position
    assert {action_name(position.game, action): score for action, score in found.scores.items()} == scores
    assert found.score == (None if scores else 12)


@given(
    moves=games(),
    at=st.integers(0, 100),
    typo=st.sampled_from(["z9", "F9x", "\uff5a\uff19", "PASSE", "again"]),
)
@quick
def test_what_cannot_be_read_is_quoted_as_it_was_given(moves: Moves, at: int, typo: str) -> None:
    played = without_last_pass(moves)
    at %= len(played) + 1
    if typo == "again":
        typo = played[0].upper() if at else "?"
    text = f"{' '.join(played[:at])} {typo} {' '.join(played[at:])}"
    games = read_archive_of(text.encode(), start_of(moves).game, "it")
    (found,) = games
    problem = found.problem(0) or ""
    assert found.is_broken(0)
    legal = [move for move in found.moves(0) if move != PASS]
    assert legal == [move for move in played if move != PASS][: len(legal)]
    got = problem.rpartition("got ")[2].strip("'\"")
    assert got[:8] in text
    assert got[:1] == typo[:1]


@pytest.mark.parametrize("name", list(GAMES))
@given(word=st.text(max_size=6))
@quick
def test_a_word_is_a_move_or_quoted(name: str, word: str) -> None:
    game = GAMES[name]
    said, action = "", game.pass_action
    try:
        action = parse_action(game, word)
    except ReversiError as error:
        said = str(error)
    assert not said or said.endswith(f"got {word!r}")
    assert parse_action(game, action_name(game, action)) == action


@given(data=st.binary(max_size=300))
@example(data=b"|")
@quick
def test_any_bytes_are_games_or_refused(data: bytes) -> None:
    try:
        found = read_archive_of(data, None, "it")
    except ReversiError:
        return
    for games in found:
        for index in range(len(games)):
            assert games.positions(index)
            assert isinstance(games.problem(index), str | None)
            assert np.all(games.plies >= 0)
