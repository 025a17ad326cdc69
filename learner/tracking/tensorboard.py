"""TensorBoard event files: `tensorboard --logdir runs` draws every run."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

AGAIN_S = 60.0
"""Pause before events are written again after a disk has refused them: in a file of their own, as TensorBoard reads
none that has a gap."""


class TensorboardTracker:
    """Writes scalars over the learner's steps.  A full disk costs events and never the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None
        self._refused = float("-inf")
        self._open()

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Add one event that holds all of `metrics`."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        if self._writer is None and time.monotonic() - self._refused >= AGAIN_S:
            self._open()
        if self._writer is not None:
            try:
                self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
            except OSError as error:  # of its thread, whose end is told at the next event
                self._refuse(error)

    def close(self) -> None:
        """Write out what is buffered."""
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
