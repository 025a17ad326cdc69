"""How a session of a run ended: recorded by the session itself, in the file `ended.json` of the run's folder.

A session replaces the file as a whole at its start, from when on it is void, and at its end.  So a run that no process
holds and that has no record has died: it was killed, or its machine failed, or no disk took the record.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from reversi.errors import CorruptFileError, ReversiError, RunError, first_line
from reversi.files import read_bytes
from scripts.run.folder import RunFolder, checkpoints_in
from scripts.run.interrupt import Interrupt

log = logging.getLogger(__name__)

EXIT_RECORD = "ended.json"
FORMAT = 1

MAX_BYTES = 1 << 16
"""Size limit of the file."""

NOTHING_KEPT = "stopped before training began; nothing is kept"
"""Message of a session that removed its run's folder, in which nothing had been trained."""

How = Literal["finished", "stopped", "failed"]


@dataclass(frozen=True, kw_only=True)
class ExitRecord:
    """How the last session of a run ended."""

    how: How
    """`finished`: training, the last match and the summary are done; `stopped` by a signal; `failed` by an error."""
    trained: bool
    """Whether anything was trained in the session."""
    lost: bool
    """Whether anything that was trained in the session is not in the checkpoint."""
    checkpoint: str | None
    """Name of the newest checkpoint, from which the run can be resumed; None if there is none."""
    error: str | None
    """The error that ended the session, one line."""

    @property
    def summary(self) -> str:
        """The record for people."""
        if self.how == "finished":
            return "finished"
        loss = "; what came after the last checkpoint is lost" if self.lost else ""
        if self.how == "failed":
            return f"failed: {self.error}{loss}"
        if self.lost:
            return f"stopped at once{loss}"
        return "stopped and saved" if self.trained else "stopped before training continued; nothing is lost"


class ExitRecorder:
    """Records how a session ended, once."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._record: ExitRecord | None = None

    def record(self, how: How, error: BaseException | None = None) -> ExitRecord:
        """Write the record, unless it has been written; return it.

        A disk that does not take it costs the record, which the log then says, and not the run.
        """
        if self._record is None:
            folder = self._folder
            self._record = ExitRecord(
                how=how,
                trained=folder.trained,
                lost=folder.trained and not folder.saved_all,
                checkpoint=_newest_checkpoint(folder.path),
                error=None if error is None else _line_of(error),
            )
            try:
                folder.write_json(EXIT_RECORD, {"format": FORMAT, **asdict(self._record)})
            except RunError as refused:
                log.warning("how the run ended is not recorded: %s", refused)
        return self._record


@contextmanager
def recorded_exit(folder: RunFolder, interrupt: Interrupt) -> Iterator[ExitRecorder]:
    """Make the record of the last session void; record an error that leaves the block, or a second signal, as what
    ended this one, if nothing else was recorded before."""
    folder.write_json(EXIT_RECORD, {"format": FORMAT, "how": None})
    recorder = ExitRecorder(folder)
    interrupt.on_second_signal = lambda: recorder.record("stopped").summary
    try:
        yield recorder
    except BaseException as error:
        if not folder.disposable:
            recorder.record("failed", error)
        raise


def read_exit_record(folder: Path) -> ExitRecord | None:
    """Return how the last session of the run in `folder` ended, None without a record.

    A record is void if it is of another checkpoint than the newest one.
    """
    try:
        value = json.loads(read_bytes(folder / EXIT_RECORD, "how a run ended", MAX_BYTES))
        record = exit_record_of(value) if value["format"] == FORMAT and value["how"] is not None else None
    except (CorruptFileError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if record and record.checkpoint == _newest_checkpoint(folder) else None


def exit_record_of(value: Mapping[str, Any]) -> ExitRecord:
    """Return the record from its JSON form; ValueError, TypeError or KeyError for another one."""
    record = ExitRecord(**{name: value[name] for name in ("how", "trained", "lost", "checkpoint", "error")})
    texts, facts = (record.checkpoint, record.error), (record.trained, record.lost)
    if record.how not in get_args(How) or not all(type(fact) is bool for fact in facts):
        raise ValueError(f"expected how a run ended, got {value!r}")
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"expected how a run ended, got {value!r}")
    return record


def _newest_checkpoint(folder: Path) -> str | None:
    return next((path.name for path in reversed(checkpoints_in(folder))), None)


def _line_of(error: BaseException) -> str:
    return first_line(error) if isinstance(error, ReversiError) else f"{type(error).__name__}: {first_line(error)}"
