"""Every border takes what is sound and survives what is not; a few inputs of each here, a million by command."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from reversi import archive
from reversi.errors import CorruptFileError, NotationError
from reversi.formats.ggf import parse_ggf
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.urls import has_password, masked
from tests.fuzz.border import Border
from tests.fuzz.borders import BORDERS
from tests.fuzz.run import try_one

INPUTS = 60
"""Of a border of weight 1."""

FEWEST = 2

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

quick = settings(
    max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("border", BORDERS, ids=lambda border: border.name)
def test_a_border_takes_sound_input_and_nothing_else_of_what_is_damaged(border: Border, tmp_path: Path) -> None:
    """`try_one` lets through what is no refusal of the border: each of those is a defect."""
    seeds, read = border.open(tmp_path)
    for data in seeds:
        read(data)
    defects = {}
    for index in range(max(FEWEST, round(INPUTS * border.weight))):
        try:
            try_one(border, seeds, read, 0, index)
        except Exception as error:
            defects[index] = repr(error)
    assert defects == {}


def test_no_two_borders_have_a_name_in_common() -> None:
    assert len({border.name for border in BORDERS}) == len(BORDERS) >= 30


@quick
@given(
    contents=st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name != "__metadata__"),
        arrays_of.arrays(
            st.sampled_from([np.uint8, np.int32, np.uint64, np.float32, np.float16]),
            arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=4,
    ),
    header=st.dictionaries(st.text(), JSON, max_size=4),
)
def test_an_archive_comes_back_whatever_it_holds(contents: dict[str, np.ndarray], header: dict[str, object]) -> None:
    arrays, found = archive.unpack(archive.pack("test", 1, contents, header), "test", 1, "here")
    assert found == header
    assert arrays.keys() == contents.keys()
    for name, array in contents.items():
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


@quick
@given(at=st.integers(0, 10_000), bit=st.integers(0, 7), cut=st.booleans())
def test_no_flipped_bit_and_no_cut_gets_past_the_checksum(at: int, bit: int, cut: bool) -> None:
    """The framing may lose blanks at its end; everything that means something is under the checksum."""
    whole = archive.pack("test", 1, {"x": np.arange(40, dtype=np.float32)}, {"seed": 7})
    at %= len(whole)
    damaged = bytearray(whole)
    damaged[at] ^= 1 << bit
    if cut:
        del damaged[at:]
    try:
        arrays, header = archive.unpack(bytes(damaged), "test", 1, "here")
    except CorruptFileError:
        return
    assert header == {"seed": 7}
    assert (arrays["x"] == np.arange(40, dtype=np.float32)).all()


@quick
@given(text=st.text("XO- xo\n0", max_size=80) | st.text(max_size=80))
def test_what_is_read_as_a_position_is_written_the_same(text: str) -> None:
    try:
        position = Position.parse(text)
    except NotationError:
        return
    assert str(position) == text.strip()
    assert Position.parse(str(position)) == position


@quick
@given(choices=st.lists(st.integers(0, 63), max_size=70), name=st.sampled_from(["reversi4", "reversi6", "reversi8"]))
def test_a_game_comes_back_from_ggf(choices: list[int], name: str) -> None:
    from reversi.formats.ggf import GgfGame, GgfMove

    position, moves = Position.start(GAMES[name]), list[GgfMove]()
    for choice in choices:
        if legal := position.legal_actions():
            moves.append(GgfMove(legal[choice % len(legal)]))
            position = position.play(moves[-1].action)
    found = parse_ggf(str(GgfGame(Position.start(GAMES[name]), tuple(moves))))
    assert [move.action for move in found.moves] == [move.action for move in moves]
    assert found.positions[-1] == position


@quick
@given(
    scheme=st.sampled_from(["s3", "ftp", "sftp", "redis", "rediss", "https", "simplecache::s3"]),
    user=st.text("abc.%2", max_size=6),
    password=st.text("Zß!$%:@~/?", min_size=4, max_size=12),
)
def test_a_password_in_a_url_is_seen_and_never_shown(scheme: str, user: str, password: str) -> None:
    url = f"{scheme}://{user}:{password}@host:21/models"
    assert has_password(url)
    shown = "***" if user and scheme in ("s3", "https", "simplecache::s3") else f"{user}:***"
    assert masked(url) == f"{scheme}://{shown}@host:21/models"
    assert password not in masked(f"cannot reach {url}: it is away")
    assert password not in masked(f"https://host/models?X-Amz-Signature={password.replace('&', '')}")


@pytest.mark.parametrize(
    "url",
    [
        "runs/a@b:c/registry",
        "s3://bucket/models",
        "github://me:repository@main/models",
        "/tmp/a:b@c",
        "ftp://me@h",
        "https://h:90/a@b",
        "h://h/?keyfile=a",
    ],
)
def test_a_url_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert not has_password(url)
    assert masked(url) == url


def test_a_header_is_bounded_before_it_is_read() -> None:
    """Sixteen MiB of `[` would be a gigabyte of lists."""
    length = archive.MAX_HEADER_BYTES + 1
    data = length.to_bytes(8, "little") + b"[" * length
    with pytest.raises(CorruptFileError, match=f"at most {archive.MAX_HEADER_BYTES} bytes, got one of {length}"):
        archive.unpack(data, "test", 1, "here")


def test_of_an_input_without_end_a_batch_is_kept_and_of_a_long_line_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from scripts.arguments.positions import read_problems

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * 1_000_000 + b"\n" + b"XO\n" * 9)))
    found = list(read_problems(None, "-", 4))
    assert [len(batch) for batch in found] == [4, 4, 2]
    assert max(len(str(line.problem)) for batch in found for line in batch) < 1200


def test_the_same_seed_makes_the_same_inputs(tmp_path: Path) -> None:
    from tests.fuzz.mutate import mutated

    border = next(border for border in BORDERS if border.name == "records")
    seeds, _ = border.open(tmp_path)
    made = [[mutated(random.Random(f"1 {index}"), "archive", seeds[0]) for index in range(40)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 30
