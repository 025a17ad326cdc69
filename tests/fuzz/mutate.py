"""Malformed inputs from sound ones: damage to bytes, to JSON, and to archives whose checksum is then made right again.

An archive with a flipped bit never gets past its checksum, so most archives here are signed anew after the damage: what
reads them has to hold out against contents that only lie.  Everything is drawn from one `random.Random`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from reversi import archive

Form = Literal["archive", "json", "text", "bytes"]
"""What a border reads: an archive (see `reversi/archive.py`), JSON, lines of text, or other bytes."""

LONGEST = 1 << 18
"""Bytes of the longest input that is made here; bounds of the readers lie above it and have tests of their own."""

DEEP = "[" * 100_000 + "]" * 100_000
_DEEP_MARK = "deep-nesting-goes-here"

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 255, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 10**400, -(10**400)),
    *(0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), "", " ", "0", "-1", "1e999", "9" * 5000, "x" * 5000),
    *("../../etc/passwd", "/dev/zero", "\x00", "\x1b[31m", "\ud800", "é", "reversi8", "tictactoe", _DEEP_MARK),
    *([], [[]], {}, {"": None}, [None] * 100, list(range(5)), {"kind": "table"}),
)

_ODD_BYTES = (
    b"\x00",
    b"\xff",
    b"\n",
    b"\r",
    b"[",
    b"]",
    b"(",
    b";",
    b"/",
    b":",
    b"=",
    b",",
    b'"',
    b"\x1b",
    b"\xc3\x28",
)
_ODD_NUMBERS = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF)
_DTYPES = ("<u1", "<i1", "<u8", "<i4", "<i8", "<f2", "<f4", "<f8", "?")


def mutated(rng: random.Random, form: Form, seed: bytes, words: Sequence[bytes] = ()) -> bytes:
    """Return a damaged copy of `seed`, a sound input of that form; `words` are worth inserting into text."""
    if form == "archive":
        data = _damaged_archive(rng, seed)
    elif form == "json" and rng.random() < 0.7:
        data = _json_bytes(_edited(rng, json.loads(seed)))
    else:
        data = damaged_bytes(rng, seed, words)
    return data[:LONGEST]


def damaged_bytes(rng: random.Random, data: bytes, words: Sequence[bytes] = ()) -> bytes:
    """Return `data` after one to four blows."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        rng.choice(_BLOWS)(rng, damaged, words)
        del damaged[LONGEST:]
    return bytes(damaged)


def _flip(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    if data:
        at = rng.randrange(len(data))
        data[at : at + 1] = rng.choice(_ODD_BYTES)


def _number(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    width = rng.choice((2, 4, 8))
    at = rng.randrange(max(1, len(data) - width))
    data[at : at + width] = (rng.choice(_ODD_NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")


def _cut(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _remove(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    first, last = _part(rng, data)
    del data[first:last]


def _repeat(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    first, last = _part(rng, data)
    times = rng.choice((1, 1, 2, 10, 1000))
    data[last:last] = data[first:last] * min(times, LONGEST // max(1, last - first))


def _swap(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    data[a:c] = data[b:c] + data[a:b]


def _insert(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice((1, 2, 8, 64)))


def _word(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(words or _ODD_BYTES) * rng.choice((1, 1, 1, 2, 100))


def _digits(rng: random.Random, data: bytearray, words: Sequence[bytes]) -> None:
    """Put an odd number where a number stands."""
    places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if places:
        at = rng.choice(places)
        data[at : at + 1] = rng.choice(
            (b"-1", b"0", b"99", b"1e308", b"nan", b"inf", b"9" * 5000, "٣".encode(), b"1.5")
        )


_BLOWS: tuple[Callable[[random.Random, bytearray, Sequence[bytes]], None], ...] = (
    *(_flip, _flip, _set, _number, _cut, _remove, _repeat, _swap, _insert, _word, _word, _digits),
)


def _part(rng: random.Random, data: bytearray) -> tuple[int, int]:
    first = rng.randrange(len(data) + 1)
    return first, min(len(data), first + rng.choice((1, 2, 4, 16, 256, 1 << 16)))


def _edited(rng: random.Random, value: Any) -> Any:
    """Return a JSON value with one to three places changed: replaced, removed, renamed or added."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = _edited_once(rng, value)
    return value


def _edited_once(rng: random.Random, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(ODD_VALUES)
    if isinstance(value, list):
        changed = list(value)
        at = rng.randrange(len(changed))
        blow = rng.randrange(4)
        if blow == 0:
            del changed[at]
        elif blow == 1:
            changed.insert(at, rng.choice(ODD_VALUES))
        else:
            changed[at] = _edited_once(rng, changed[at])
        return changed
    named = dict(value)
    key = rng.choice(list(named))
    blow = rng.randrange(6)
    if blow == 0:
        del named[key]
    elif blow == 1:
        named[rng.choice(("", "x", "version", "__metadata__", "a" * 300))] = named.pop(key)
    elif blow == 2:
        named[key] = named[rng.choice(list(named))]
    else:
        named[key] = _edited_once(rng, named[key])
    return named


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value).replace(f'"{_DEEP_MARK}"', DEEP).encode()


def _damaged_archive(rng: random.Random, seed: bytes) -> bytes:
    """Return an archive with damaged bytes, with a header of safetensors that lies, or signed anew after a change."""
    draw = rng.random()
    if draw < 0.2:
        return damaged_bytes(rng, seed)
    length = int.from_bytes(seed[:8], "little")
    frame = json.loads(seed[8 : 8 + length])
    if draw < 0.45:  # shapes, dtypes and offsets that overlap or lie outside
        text = _json_bytes(_edited(rng, frame))
        return len(text).to_bytes(8, "little") + text + seed[8 + length :]
    from safetensors.numpy import load

    about = json.loads(frame["__metadata__"][archive.METADATA_KEY])
    arrays, header = dict(sorted(load(seed).items())), about["header"]  # safetensors gives them in any order
    if draw < 0.7 or not arrays:
        header = _edited(rng, header)
    else:
        arrays = _damaged_arrays(rng, arrays)
    signed = archive.pack(about["kind"], about["format"], arrays, header)
    if _DEEP_MARK.encode() in signed:
        text = json.loads(signed[8 : 8 + int.from_bytes(signed[:8], "little")])
        text["__metadata__"][archive.METADATA_KEY] = text["__metadata__"][archive.METADATA_KEY].replace(
            f'"{_DEEP_MARK}"', DEEP
        )
        frame_bytes, rest = json.dumps(text).encode(), signed[8 + int.from_bytes(signed[:8], "little") :]
        return len(frame_bytes).to_bytes(8, "little") + frame_bytes + rest
    return signed


def _damaged_arrays(rng: random.Random, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays of which one is of another type, shape or content, or has another name, or is gone."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    blow = rng.randrange(8)
    changed = dict(arrays)
    if blow == 0:
        del changed[name]
    elif blow == 1:
        changed[rng.choice(("", "x", "../x", "é"))] = changed.pop(name)
    elif blow == 2:
        with np.errstate(all="ignore"):
            changed[name] = array.astype(rng.choice(_DTYPES))
    elif blow == 3:
        rows = np.atleast_1d(array)
        changed[name] = rng.choice((rows[:0], rows.reshape(-1), array[None], rows[:1], np.repeat(rows, 2, 0)))
    elif blow == 4:
        changed[name] = np.zeros(rng.choice(((), (0,), (0, 1 << 40), (1, 1, 1, 1, 1))), array.dtype)
    elif blow == 5 and array.dtype.kind == "f":
        changed[name] = np.full_like(array, rng.choice((np.nan, np.inf, -np.inf, 2.0, -0.0)))
    else:
        raw = bytearray(array.tobytes())
        for _ in range(rng.choice((1, 1, 8, 64))):
            if raw:
                raw[rng.randrange(len(raw))] = rng.randrange(256)
        changed[name] = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
    return changed
