"""TensorBoard event files: `tensorboard --logdir runs` draws every run."""

from __future__ import annotations

import time
from pathlib import Path


class TensorboardTracker:
    """Writes scalars over the learner's steps."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(folder))

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Add one event that holds all of `metrics`."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))

    def close(self) -> None:
        """Write out what is buffered."""
        self._writer.close()
