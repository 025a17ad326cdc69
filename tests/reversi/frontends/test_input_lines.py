from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from reversi.frontends.input_lines import LONGEST_LINE, MOST_WAITING, InputLines
from tests.reversi.frontends.stubs import lines_of


def every(lines: InputLines) -> list[str]:
    found = []
    while (line := lines.next()) is not None:
        found.append(line)
    return found


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], []),
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a\r\nb"], ["a", "b"]),
        ([b"one", b" line\nnext", b"\n\n"], ["one line", "next", ""]),
        ([b"\xff\n"], ["\ufffd"]),
    ],
)
def test_lines_are_cut_where_they_end(parts: list[bytes], expected: list[str]) -> None:
    lines = lines_of(parts)
    assert every(lines) == expected
    assert lines.next() is None


def test_an_endless_line_is_cut_and_memory_stays_bounded() -> None:
    found = every(lines_of([b"x" * 50_000] * 40 + [b"\nnext\n"]))
    assert found == ["x" * LONGEST_LINE, "next"]


def test_a_flood_waits_until_it_is_read() -> None:
    given = 0

    def flood() -> Iterator[bytes]:
        nonlocal given
        for number in range(3 * MOST_WAITING):
            given += 1
            yield b"%d\n" % number

    lines = lines_of(flood())
    assert lines.next() == "0"
    threading.Event().wait(0.05)
    assert given <= MOST_WAITING + 3
    assert every(lines) == [str(number) for number in range(1, 3 * MOST_WAITING)]


def test_what_waits_can_be_seen_before_it_is_taken() -> None:
    arrived = threading.Event()

    def read() -> Iterator[bytes]:
        yield b"go\n"
        arrived.wait(100)
        yield b"ping 1\n"

    lines = lines_of(read())
    assert lines.next() == "go"
    assert not lines.holds(lambda line: line == "ping 1")
    arrived.set()
    for _ in range(10_000):
        if lines.holds(lambda line: line == "ping 1"):
            break
        threading.Event().wait(0.01)
    assert lines.holds(lambda line: line == "ping 1")
    assert not lines.holds(lambda line: line == "quit")
    assert every(lines) == ["ping 1"]


def test_what_is_closed_stops_reading_a_flood() -> None:
    before = set(threading.enumerate())
    lines = lines_of(b"%d\n" % number for number in range(3 * MOST_WAITING))
    (reader,) = set(threading.enumerate()) - before
    assert lines.next() == "0"
    lines.close()
    reader.join(100)
    assert not reader.is_alive()
    assert lines.next() is None
