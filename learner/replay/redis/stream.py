"""The streams in Redis: their keys, the format of their entries, and the flow control of producers.

    reversi:KEY:records:0      a stream of deliveries: `records` (the bytes of `record.encode`) and, for reading with
                               redis-cli, `producer` and `sequence`, which the bytes contain too, with a checksum
    reversi:KEY:records:0:word "KEPT ROOM": entries of the stream that have been taken, and 1 if there is room, else 0
    reversi:KEY:gone           a stream of receipts of deliveries that were taken and deleted: a replay restored from an
                               older state counts their games, although their samples are gone
    reversi:KEY:drawn          samples that the learner has drawn since the run began

KEY is unique to the run (`key.py`).  All keys stay when a run ends, since it may be resumed; `remove_run` removes
those of one that will not be.  The consumer group `learner` reads every stream.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learner.replay.deliveries import Receipt
from reversi.errors import CorruptRecordError
from reversi.record import MAX_BYTES, MAX_PRODUCER, decode

GROUP = "learner"

RECORDS = b"records"


def streams(key: str, shards: int) -> list[str]:
    """Return the keys of a run's streams."""
    return [f"reversi:{key}:records:{shard}" for shard in range(shards)]


def flow_control_key(stream: str) -> str:
    """Return the key of the flow-control state of `stream`."""
    return f"{stream}:word"


def receipts_key(key: str) -> str:
    """Return the key of the stream of receipts."""
    return f"reversi:{key}:gone"


def drawn_key(key: str) -> str:
    """Return the key of the number of samples drawn."""
    return f"reversi:{key}:drawn"


def remove_run(client: Any, key: str) -> None:
    """Remove all that a run has on the server.  Errors of redis-py are raised."""
    if keys := list(client.scan_iter(match=f"reversi:{key}:*", count=1000)):
        client.unlink(*keys)


def count_in(value: bytes | None) -> int:
    """Return the stored count; 0 if it is missing or not a number."""
    return int(value) if value is not None and value.isdigit() and len(value) <= 18 else 0


@dataclass(frozen=True)
class FlowControl:
    """The state by which the learner holds back the producers of a stream."""

    kept: int = 0
    """Entries taken that are still in the stream; the others wait to be taken."""

    room: bool = True
    """Whether producers may deliver more."""

    def to_bytes(self) -> bytes:
        """Return the value stored in Redis."""
        return b"%d %d" % (self.kept, self.room)

    @staticmethod
    def from_bytes(data: bytes | None) -> FlowControl:
        """Return the state of `to_bytes`; missing (before the first reading) or invalid data holds nobody back."""
        kept, _, room = (data or b"").partition(b" ")
        if not kept.isdigit() or len(kept) > 18:
            return FlowControl()
        return FlowControl(int(kept), room != b"0")


def entry_of(data: bytes) -> tuple[dict[str, bytes | str | int], str]:
    """Return (fields, producer) of a delivery; unreadable bytes are sent too, for the learner to count and keep."""
    try:
        _, producer, sequence = decode(data, "records to be sent")
    except CorruptRecordError:
        return {"records": data}, ""
    return {"producer": producer, "sequence": sequence, "records": data}, producer


def shard_of(producer: str, shards: int) -> int:
    """Return the number of a producer's stream, the same in every process, so that its deliveries stay in order."""
    return zlib.crc32(producer.encode("utf-8", "surrogatepass")) % shards


def delivery_in(fields: Mapping[bytes, bytes] | None) -> bytes:
    """Return the delivery in an entry; of a foreign entry all its bytes, which cannot be read as records."""
    if not fields:
        return b""
    if RECORDS in fields:
        return fields[RECORDS]
    return b"".join(b"%s=%s\n" % item for item in fields.items())


def receipt_fields(receipt: Receipt) -> list[str | int | bytes]:
    """Return the fields of a receipt's entry: names and values alternate."""
    values = receipt._asdict() | {"producer": receipt.producer.encode("utf-8", "surrogatepass")}
    return [word for field in values.items() for word in field]


def receipt_in(fields: Mapping[bytes, bytes] | None) -> Receipt | None:
    """Return the receipt of an entry, or None if the entry cannot be one of ours."""
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
