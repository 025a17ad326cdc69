"""The streams in Redis: their keys, what an entry holds, and the word by which the learner holds producers back.

    reversi:KEY:records:0      a stream of entries, each a delivery: `records` (the bytes of `record.encode`) and, for
                               people who look with redis-cli, `producer` and `sequence`; the bytes say both, checked
    reversi:KEY:records:0:word "KEPT ROOM": entries of the stream that have been taken already, and 1 or 0
    reversi:KEY:gone           a stream of receipts, each of a delivery that was taken and deleted from its stream: who
                               takes up an older state counts those games too, though nobody holds them any more
    reversi:KEY:drawn          samples that the learner has drawn since the run began

KEY names the run and no other one (`run_key`).  The group `learner` reads every stream.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from learner.replay.deliveries import Receipt
from reversi.archive import write_atomic
from reversi.errors import CorruptRecordError
from reversi.record import MAX_BYTES, MAX_PRODUCER, decode

GROUP = "learner"

RECORDS = b"records"

KEY_FILE, STARTS_FILE = "redis-key", "redis-starts"


def run_key(folder: Path) -> str:
    """Return the key of the run in `folder`: its name and a number drawn at its first start, kept in the folder.

    A run that takes the name of a deleted one must not find that one's records.
    """
    path = folder / KEY_FILE
    if not path.exists():
        write_atomic(path, f"{folder.name}-{secrets.token_hex(4)}\n".encode())
    return path.read_text(encoding="utf-8").strip()


def count_start(folder: Path) -> int:
    """Return how often the run in `folder` had been started before, and count this start, for good.

    Producers take their names from it: a start that died before its first checkpoint used some already.
    """
    path = folder / STARTS_FILE
    starts = int(path.read_text(encoding="utf-8")) if path.exists() else 0
    write_atomic(path, f"{starts + 1}\n".encode())
    return starts


def streams(key: str, shards: int) -> list[str]:
    """Return the keys of a run's streams."""
    return [f"reversi:{key}:records:{shard}" for shard in range(shards)]


def word_key(stream: str) -> str:
    """Return the key of what the learner says of `stream`."""
    return f"{stream}:word"


def gone_key(key: str) -> str:
    """Return the key of the receipts of what was taken and deleted."""
    return f"reversi:{key}:gone"


def drawn_key(key: str) -> str:
    """Return the key of how many samples were drawn."""
    return f"reversi:{key}:drawn"


def count_in(value: bytes | None) -> int:
    """Return a number as Redis keeps it; 0 for what is none."""
    return int(value) if value is not None and value.isdigit() and len(value) <= 18 else 0


@dataclass(frozen=True)
class Word:
    """What the learner says to the producers of a stream."""

    kept: int = 0
    """Entries that it has taken and keeps in the stream; what is there beyond them waits to be taken."""

    room: bool = True
    """Whether it wants more."""

    def to_bytes(self) -> bytes:
        """Return it as Redis keeps it."""
        return b"%d %d" % (self.kept, self.room)

    @staticmethod
    def from_bytes(data: bytes | None) -> Word:
        """Return the word of `to_bytes`; what is none (nobody has read this stream yet) holds nobody back."""
        kept, _, room = (data or b"").partition(b" ")
        if not kept.isdigit() or len(kept) > 18:
            return Word()
        return Word(int(kept), room != b"0")


def entry_of(data: bytes) -> tuple[dict[str, bytes | str | int], str]:
    """Return (fields, producer) of a delivery; bytes that are none travel too, for the learner to count and keep."""
    try:
        _, producer, sequence = decode(data, "records to be sent")
    except CorruptRecordError:
        return {"records": data}, ""
    return {"producer": producer, "sequence": sequence, "records": data}, producer


def shard_of(producer: str, shards: int) -> int:
    """Return the stream of a producer, the same in every process: its deliveries stay in order."""
    return zlib.crc32(producer.encode("utf-8", "surrogatepass")) % shards


def delivery_in(fields: Mapping[bytes, bytes] | None) -> bytes:
    """Return the delivery of an entry; of a foreign one all its bytes, which nobody can take for records."""
    if not fields:
        return b""
    if RECORDS in fields:
        return fields[RECORDS]
    return b"".join(b"%s=%s\n" % item for item in fields.items())


def receipt_fields(receipt: Receipt) -> list[str | int | bytes]:
    """Return the fields of an entry that holds a receipt: names and values by turns."""
    values = receipt._asdict() | {"producer": receipt.producer.encode("utf-8", "surrogatepass")}
    return [word for field in values.items() for word in field]


def receipt_in(fields: Mapping[bytes, bytes] | None) -> Receipt | None:
    """Return the receipt of an entry; None of what none of ours can be."""
    producer, sequence, *numbers = [(fields or {}).get(name.encode(), b"") for name in Receipt._fields]
    try:
        name = producer.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    if not all(value.isdigit() and len(value) <= 19 for value in (sequence, *numbers)):
        return None
    receipt = Receipt(name, int(sequence), *map(int, numbers))
    most = max(receipt.games, receipt.positions, receipt.rejected)
    return receipt if len(name) <= MAX_PRODUCER and receipt.sequence < 1 << 63 and most <= MAX_BYTES else None
