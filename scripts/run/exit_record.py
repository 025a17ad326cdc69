"""How a run ended, as each of its sessions records itself: in the file `ended.json` of the run's folder.

The file is replaced as a whole at the start of a session, from when on it is void, and at the session's end.  So a run
that no process holds and that has no record has died: it was killed, or its machine failed, or no disk took the record.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from reversi.errors import CorruptFileError, ReversiError, RunError, first_line
from reversi.files import read_bytes
from scripts.run.folder import checkpoints_in, is_summarised

if TYPE_CHECKING:
    from scripts.run.session import Session

log = logging.getLogger(__name__)

ENDED = "ended.json"
FORMAT = 1

MAX_BYTES = 1 << 16
"""Size limit of the file."""

NOTHING_KEPT = "stopped before training began; nothing is kept"
"""Message of a session that removed its run's folder, in which nothing had been trained."""

How = Literal["finished", "stopped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Ending:
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
        """The ending for people."""
        if self.how == "finished":
            return "finished"
        loss = "; what came after the last checkpoint is lost" if self.lost else ""
        if self.how == "failed":
            return f"failed: {self.error}{loss}"
        if self.lost:
            return f"stopped at once{loss}"
        return "stopped and saved" if self.trained else "stopped before training continued; nothing is lost"


class EndingRecorder:
    """Records how a session ended, once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ending: Ending | None = None

    def record(self, how: How, error: BaseException | None = None) -> Ending:
        """Write the ending, unless it has been written; return it.

        A disk that does not take it costs the record, which the log then says, and not the run.
        """
        if self._ending is None:
            session, saved = self._session, checkpoints_in(self._session.folder.path)
            self._ending = Ending(
                how=how,
                trained=session.folder.trained,
                lost=session.folder.trained and not session.saved_all,
                checkpoint=saved[-1].name if saved else None,
                error=None if error is None else _line_of(error),
            )
            try:
                session.folder.write_json(ENDED, {"format": FORMAT, **asdict(self._ending)})
            except RunError as refused:
                log.warning("how the run ended is not recorded: %s", refused)
        return self._ending


@contextmanager
def recorded_ending(session: Session) -> Iterator[EndingRecorder]:
    """Make the record of the last session void; an error that leaves the block, or a second signal, is recorded as what
    ended the session if nothing else was recorded before."""
    session.folder.write_json(ENDED, {"format": FORMAT, "how": None})
    recorder = EndingRecorder(session)
    session.interrupt.on_second_signal = lambda: recorder.record("stopped").summary
    try:
        yield recorder
    except BaseException as error:
        if not session.folder.disposable:
            recorder.record("failed", error)
        raise


def with_resume_hint(error: ReversiError, session: Session) -> ReversiError:
    """Return the error that ends a run with how to continue and where to read more."""
    if session.folder.disposable:
        return error
    next_step = session.folder.start_again
    if session.resumable:
        where = "the last checkpoint" if session.folder.checkpoints() else "what redis holds"
        next_step = f"go on from {where} with: {session.resume_command}"
    return type(error)(f"{error}; {next_step}; see {session.folder.path / 'logs' / 'run.log'}")


def read_ending(folder: Path) -> Ending | None:
    """Return how the last session of the run in `folder` ended, None without a record.

    A record is void if it is of another checkpoint than the newest one.  A run of an older version of this program,
    which never recorded its end, has finished if it has a summary as new as its newest checkpoint.
    """
    saved = checkpoints_in(folder)
    if not (folder / ENDED).exists():
        return _finished(saved[-1].name) if saved and is_summarised(folder) else None
    try:
        value = json.loads(read_bytes(folder / ENDED, "how a run ended", MAX_BYTES))
        ending = ending_of(value) if value["format"] == FORMAT and value["how"] is not None else None
    except (CorruptFileError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return ending if ending and ending.checkpoint == (saved[-1].name if saved else None) else None


def ending_of(value: Mapping[str, Any]) -> Ending:
    """Return the ending from its JSON form; ValueError, TypeError or KeyError for another one."""
    ending = Ending(**{name: value[name] for name in ("how", "trained", "lost", "checkpoint", "error")})
    texts, facts = (ending.checkpoint, ending.error), (ending.trained, ending.lost)
    if ending.how not in get_args(How) or not all(type(fact) is bool for fact in facts):
        raise ValueError(f"expected how a run ended, got {value!r}")
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"expected how a run ended, got {value!r}")
    return ending


def _finished(checkpoint: str) -> Ending:
    return Ending(how="finished", trained=True, lost=False, checkpoint=checkpoint, error=None)


def _line_of(error: BaseException) -> str:
    return first_line(error) if isinstance(error, ReversiError) else f"{type(error).__name__}: {first_line(error)}"
