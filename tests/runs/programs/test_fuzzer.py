"""The fuzzer finds what it is for: wrong exceptions, endless work, memory without bound, crashes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from reversi.errors import CorruptFileError
from tests.fuzz.border import Border, Opened
from tests.fuzz.run import fuzz


def _treacherous(folder: Path) -> Opened:
    """By the number of its input a reader that does everything wrong; call 0 is the sound input."""
    calls = iter(range(1_000_000))
    kept: list[bytes] = []

    def read(data: bytes) -> object:
        call = next(calls)
        if call == 2:
            raise KeyError("a bug")
        if call == 3:
            raise CorruptFileError("refused as it should be")
        if call == 4:
            while True:
                pass
        if call == 5:
            kept.append(bytes(8 << 30))
        if call == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return None

    return [b"sound"], read


def test_every_kind_of_defect_is_found_and_named() -> None:
    """Input 0 is call 1: the first process dies at input 5, and a second one goes on with its own call 1 at input 6."""
    found = fuzz(Border("a treacherous reader", "bytes", _treacherous), inputs=11, seed=1, limit_s=0.2)
    assert (found.inputs, found.accepted) == (11, 1)
    assert dict(found.refused) == {"CorruptFileError": 1}
    said = dict(found.defects)
    assert sorted(said) == [5, 7, 9, 10]
    assert said[5] == "the process ended with exit code -9"
    assert said[7].startswith("KeyError")
    assert said[9].startswith("TookTooLongError")
    assert said[10].startswith("MemoryError")
