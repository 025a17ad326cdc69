"""TensorBoard event files: `tensorboard --logdir runs` draws every run."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

AGAIN_S = 60.0
"""Pause after a failed write before events are written again, to a new file, as TensorBoard cannot read past a gap."""


class TensorboardTracker:
    """Writes scalars over the learner's steps.  A full disk loses events but never ends the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None
        self._refused = float("-inf")
        self._open()

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Add one event with all of `metrics`."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        if self._writer is None and time.monotonic() - self._refused >= AGAIN_S:
            self._open()
        if self._writer is not None:
            try:
                self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
            except OSError as error:  # its writer thread has died, which the next event reports
                self._refuse(error)

    def close(self) -> None:
        """Flush buffered events."""
        if self._writer is not None:
            try:
                self._writer.close()
            except OSError as error:
                self._refuse(error)

    def _open(self) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        try:
            self._writer = EventFileWriter(str(self._folder))
        except OSError as error:
            self._refuse(error)

    def _refuse(self, error: OSError) -> None:
        self._writer, self._refused = None, time.monotonic()
        log.warning("TensorBoard's events are lost for a while: %s", error)
