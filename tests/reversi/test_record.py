"""Records: their bytes round trip, damaged bytes are refused, and every way a game can be false is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from reversi import archive
from reversi.errors import CorruptRecordError
from reversi.formats.transcripts import parse_transcript
from reversi.games.rules import GAMES, RULES_VERSION
from reversi.record import (
    EXPLORED,
    FORMAT,
    GOOD,
    KIND,
    REASONS,
    SEARCHED,
    UNSEARCHED,
    OtherRulesError,
    Records,
    check,
    decode,
    encode,
)
from tests.random_games import game_record, random_records

COLUMNS = [field.name for field in fields(Records) if field.name != "game"]
VICTIM = 2  # the game of `sound()` that each forgery touches
PERFECT_8X8 = (
    "F5D6C3D3C4F4F6F3E6E7D7C5B6D8C6C7D2B5A5A6A7G5E3B4C8G6G4C2E8D1"
    "F7E2G3H4F1E1F2G1B1F8G8B3H3B2H5B7A3A4A1A2C1H2H1G2B8A8G7H8H7H6"
)
PERFECT_6X6 = "c2b4c5d2e4e3d1c1b1d5d6f4b3b2f3f2e2b6a4c6a6a2b5a5e6e5a3a1f5f6e1f1"


def sound() -> Records:
    return random_records("reversi6", 5, seed=11, opening=2)


def assert_equal(a: Records, b: Records) -> None:
    assert a.game == b.game
    for name in COLUMNS:
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right, err_msg=name)


def first_ply(records: Records) -> int:
    return int(records.plies[:VICTIM].sum())


def last_ply(records: Records) -> int:
    return first_ply(records) + int(records.plies[VICTIM]) - 1


def searched_ply(records: Records) -> int:
    return first_ply(records) + 4


def changed(records: Records, column: str, index: Any, value: Any) -> Records:
    array = getattr(records, column).copy()
    array[index] = value
    return replace(records, **{column: array})


def without_ply(records: Records, ply: int) -> Records:
    plies = {
        name: np.delete(getattr(records, name), ply, axis=0) for name in ("actions", "policy", "value", "ply_kind")
    }
    return changed(replace(records, **plies), "plies", VICTIM, records.plies[VICTIM] - 1)


def with_pass_at_the_end(records: Records) -> Records:
    at = last_ply(records) + 1
    appended: dict[str, Any] = {
        "actions": np.insert(records.actions, at, 36),
        "policy": np.insert(records.policy, at, 0, axis=0),
        "value": np.insert(records.value, at, 0),
        "ply_kind": np.insert(records.ply_kind, at, UNSEARCHED),
    }
    return changed(replace(records, **appended), "plies", VICTIM, records.plies[VICTIM] + 1)


def last_result(records: Records) -> float:
    """The end of the victim, as the side sees it that moves last; a draw would be of no use."""
    result = np.sign(records.margin[VICTIM]) * (1 if records.plies[VICTIM] % 2 == 1 else -1)
    assert result != 0
    return float(result)


def with_exact_end(records: Records) -> Records:
    """The victim's last two plies with values that the solver could have given them: better than what was reached."""
    end = changed(records, "value", last_ply(records), last_result(records))
    return changed(changed(end, "value", last_ply(records) - 1, 1), "exact_from", VICTIM, records.plies[VICTIM] - 2)


FORGERIES: list[tuple[str, Callable[[Records], Records]]] = [
    ("bad-start", lambda r: changed(r, "start_own", VICTIM, r.start_opp[VICTIM])),
    ("bad-start", lambda r: changed(r, "start_own", VICTIM, np.uint64(1 << 63))),
    ("bad-start", lambda r: changed(changed(r, "start_own", VICTIM, 3), "start_opp", VICTIM, 0)),
    ("bad-start", lambda r: changed(r, "black_first", VICTIM, 2)),
    ("illegal-move", lambda r: changed(r, "actions", first_ply(r), 0)),
    ("illegal-move", lambda r: changed(r, "actions", first_ply(r), 36)),
    ("illegal-move", lambda r: changed(r, "actions", first_ply(r) + 7, 37)),
    ("illegal-move", lambda r: changed(r, "actions", last_ply(r), 255)),
    ("illegal-move", lambda r: changed(r, "actions", last_ply(r), r.actions[first_ply(r)])),
    ("unfinished", lambda r: without_ply(r, last_ply(r))),
    ("plays-on", with_pass_at_the_end),
    ("wrong-margin", lambda r: changed(r, "margin", VICTIM, r.margin[VICTIM] + 2)),
    ("wrong-margin", lambda r: changed(r, "margin", VICTIM, 127)),
    ("wrong-board", lambda r: changed(r, "final_own", VICTIM, r.final_opp[VICTIM])),
    ("wrong-board", lambda r: changed(r, "final_opp", VICTIM, r.final_opp[VICTIM] ^ np.uint64(1))),
    ("policy-off-rules", lambda r: changed(r, "policy", (first_ply(r), 0), 1)),
    ("policy-off-rules", lambda r: changed(r, "policy", (searched_ply(r), 36), 1)),
    ("no-policy", lambda r: changed(r, "policy", searched_ply(r), 0)),
    ("bad-value", lambda r: changed(r, "value", searched_ply(r), np.nan)),
    ("bad-value", lambda r: changed(r, "value", searched_ply(r), -np.inf)),
    ("bad-value", lambda r: changed(r, "value", searched_ply(r), np.nextafter(np.float16(1), np.float16(2)))),
    ("bad-kind", lambda r: changed(r, "ply_kind", searched_ply(r), 4)),
    ("bad-exact", lambda r: changed(r, "exact_from", VICTIM, -1)),
    ("bad-exact", lambda r: changed(r, "exact_from", VICTIM, r.plies[VICTIM] + 1)),
    ("bad-exact", lambda r: changed(with_exact_end(r), "value", last_ply(r), -last_result(r))),
]


@pytest.mark.parametrize("name", GAMES)
def test_random_games_are_true_records(name: str) -> None:
    records = random_records(name, 12, seed=1, opening=3)
    assert check(records).tolist() == [GOOD] * 12


@pytest.mark.parametrize(("name", "transcript", "plies", "margin"), [
    ("reversi8", PERFECT_8X8, 60, 0),
    ("reversi6", PERFECT_6X6, 33, -4),
])  # fmt: skip
def test_the_perfect_lines_are_true_records(name: str, transcript: str, plies: int, margin: int) -> None:
    records = game_record(name, parse_transcript(GAMES[name], transcript), np.random.default_rng(0))
    assert (records.plies[0], records.margin[0]) == (plies, margin)
    assert check(records).tolist() == [GOOD]


@pytest.mark.parametrize(("reason", "forge"), FORGERIES)
def test_a_forged_game_is_named_and_its_neighbours_stay_good(reason: str, forge: Callable[[Records], Records]) -> None:
    named = [REASONS[code] for code in check(forge(sound()))]
    assert named == ["good", "good", reason, "good", "good"]


def test_values_as_good_as_what_was_reached_or_better_can_be_exact() -> None:
    assert not check(with_exact_end(sound())).any()


def test_a_value_of_exactly_one_is_good() -> None:
    records = sound()
    for value in (1.0, -1.0):
        assert not check(changed(records, "value", searched_ply(records), value)).any()


@pytest.mark.parametrize("name", GAMES)
def test_records_come_back_from_their_bytes(name: str) -> None:
    records = random_records(name, 4, seed=2)
    back, producer, sequence = decode(encode(records, "actor-3-1", 77), "here")
    assert_equal(back, records)
    assert (producer, sequence) == ("actor-3-1", 77)
    assert all(getattr(back, column).flags.writeable for column in COLUMNS)


def test_a_batch_without_games_is_a_batch() -> None:
    none = sound().select(np.zeros(5, bool))
    back, _, _ = decode(encode(none, "a", 0), "here")
    assert (len(back), back.positions, len(check(back))) == (0, 0, 0)


@pytest.mark.parametrize("games", [0, 1, 5])
def test_every_position_has_its_game_and_ply(games: int) -> None:
    records = sound().select(np.arange(5) < games)
    game, ply = records.game_and_ply()
    expected = [(g, p) for g, plies in enumerate(records.plies) for p in range(plies)]
    assert list(zip(game.tolist(), ply.tolist(), strict=True)) == expected


def test_games_selected_one_by_one_concatenate_to_the_whole() -> None:
    records = sound()
    parts = [records.select(np.arange(5) == g) for g in range(5)]
    assert [part.positions for part in parts] == records.plies.tolist()
    assert_equal(Records.concatenate(parts), records)


def test_games_of_two_kinds_do_not_concatenate() -> None:
    with pytest.raises(ValueError, match="records of one game"):
        Records.concatenate([sound(), random_records("reversi4", 1, seed=0)])


def test_every_truncation_is_refused() -> None:
    data = encode(random_records("reversi4", 2, seed=3), "a", 0)
    for length in [*range(64), *range(64, len(data), 97), len(data) - 1]:
        with pytest.raises(CorruptRecordError):
            decode(data[:length], "here")


def stored(records: Records) -> dict[str, np.ndarray]:
    """Return the arrays of a delivery: only searched plies have a policy."""
    arrays = {name: getattr(records, name) for name in COLUMNS}
    return arrays | {"policy": records.policy[records.ply_kind == SEARCHED]}


def test_a_ply_without_a_search_takes_four_bytes() -> None:
    records = random_records("reversi6", 20, seed=3)
    idle = replace(records, ply_kind=np.full_like(records.ply_kind, UNSEARCHED), policy=np.zeros_like(records.policy))
    data = encode(idle, "a", 0)
    assert len(data) < 4 * records.positions + 57 * len(records) + 3000  # 57 bytes a game, and the header
    assert_equal(decode(data, "here")[0], idle)


def test_an_explored_ply_is_sound_and_keeps_its_kind_and_value() -> None:
    records = random_records("reversi6", 20, seed=3)
    chosen = (records.ply_kind == SEARCHED) & (np.arange(records.positions) % 2 == 0)
    kind, policy = np.where(chosen, EXPLORED, records.ply_kind), np.where(chosen[:, None], 0, records.policy)
    explored = replace(records, ply_kind=kind.astype(np.uint8), policy=policy.astype(np.uint8))
    assert not check(explored).any()
    back = decode(encode(explored, "a", 0), "here")[0]
    assert int((back.ply_kind == EXPLORED).sum()) == int(chosen.sum()) > 100
    assert_equal(back, explored)


def test_the_policies_of_a_delivery_are_those_of_its_searched_plies() -> None:
    records = sound()
    header = {"game": "reversi6", "rules_version": RULES_VERSION, "producer": "a", "sequence": 0}
    for policy in (records.policy, stored(records)["policy"][1:]):
        data = archive.pack(KIND, FORMAT, stored(records) | {"policy": policy}, header)
        with pytest.raises(CorruptRecordError, match=r"expected a policy for every searched ply, got .* of shape"):
            decode(data, "here")


def test_every_flipped_bit_is_refused() -> None:
    data = encode(random_records("reversi4", 2, seed=3), "a", 0)
    sound_back, rng, refused = decode(data, "here")[0], np.random.default_rng(4), 0
    for position in rng.integers(0, len(data), 600):
        damaged = bytearray(data)
        damaged[position] ^= 1 << rng.integers(8)
        try:
            back, producer, sequence = decode(bytes(damaged), "here")
        except CorruptRecordError:
            refused += 1
        else:  # the archive's own padding: what it holds is intact
            assert_equal(back, sound_back)
            assert (producer, sequence) == ("a", 0)
    assert refused > 500


def test_foreign_bytes_are_refused() -> None:
    records = sound()
    arrays = stored(records)
    header = {"game": "reversi6", "rules_version": RULES_VERSION, "producer": "a", "sequence": 0}

    def packed(kind: str = KIND, number: int = FORMAT, without: str = "", **changes: Any) -> bytes:
        kept = {name: array for name, array in arrays.items() if name != without}
        return archive.pack(kind, number, kept, header | changes)

    def with_column(name: str, array: np.ndarray) -> bytes:
        return archive.pack(KIND, FORMAT, arrays | {name: array}, header)

    assert len(decode(packed(), "here")[0]) == 5
    nested = json.dumps({"__metadata__": 0})[:-2] + "[" * 100_000
    foreign = {
        "here: expected a records archive with a header of at most": b"not an archive\n",
        "got 100025 bytes that cannot be read": len(nested).to_bytes(8, "little") + nested.encode(),
        "expected a records archive of format 3, got 'weights'": packed(kind="weights"),
        "of format 3, got 'records' of 2": packed(number=2),
        "expected the columns": packed(without="seed"),
        "one of reversi4, reversi6, reversi8, tictactoe, got 'go'": packed(game="go"),
        "tictactoe, got None": packed(game=None),
        "got \\['reversi6'\\]": packed(game=["reversi6"]),
        "expected a producer's name": packed(producer="x" * 201),
        "name of at most": packed(producer=7),
        "expected a sequence number, got -1": packed(sequence=-1),
        "expected a sequence number, got True": packed(sequence=True),
        "expected a policy for every searched ply, got .* 37\\)": packed(game="reversi8"),
        "expected the number of plies": with_column("plies", records.plies - 40),
        "got int64": with_column("plies", records.plies.astype(np.int64)),
        "expected a kind for every ply": with_column("plies", records.plies + np.int32(1)),
        "expected value as float16": with_column("value", records.value.astype(np.float32)),
        "expected margin as int8 \\(5,\\), got int8 \\(4,\\)": with_column("margin", records.margin[:4]),
        "expected the columns.*'x'": with_column("x", records.margin),
    }  # fmt: skip
    for message, data in foreign.items():
        with pytest.raises(CorruptRecordError, match=message):
            decode(data, "here")


def test_records_of_other_rules_have_their_own_error() -> None:
    records = sound()
    header = {"game": "reversi6", "rules_version": RULES_VERSION + 1, "producer": "a", "sequence": 0}
    data = archive.pack(KIND, FORMAT, {name: getattr(records, name) for name in COLUMNS}, header)
    with pytest.raises(OtherRulesError, match=f"rules version {RULES_VERSION}, got {RULES_VERSION + 1}"):
        decode(data, "here")


def test_plies_whose_sum_overflows_are_refused() -> None:
    records = sound()
    many = np.full(5, 2**31 - 1, np.int32)
    header = {"game": "reversi6", "rules_version": RULES_VERSION, "producer": "a", "sequence": 0}
    arrays = {name: getattr(records, name) for name in COLUMNS} | {"plies": many}
    with pytest.raises(CorruptRecordError, match=r"expected at most .* plies, got 10737418235"):
        decode(archive.pack(KIND, FORMAT, arrays, header), "here")
