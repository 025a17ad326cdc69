"""TensorBoard event files: `tensorboard --logdir runs` draws every run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

AGAIN_S = 60.0
"""Pause after a failed write before events are written again, to a new file, as TensorBoard cannot read past a gap."""


LAYOUT = {
    "strength": {
        "champion's Elo above the baseline": ["gate/champion_elo"],
        "candidates' Elo": ["gate/elo", "gate/elo_low", "gate/elo_high"],
        "against fixed opponents": ["strength/[^v].*/score"],
        "promotions and rejections": ["gate/promotions", "gate/rejections"],
    },
    "truth": {
        "results kept": ["gate/truth/outcome_kept"],
        "discs lost": ["gate/truth/regret_discs"],
        "errors of the value": ["gate/truth/value_error", "gate/truth/calibration_error"],
    },
    "losses": {
        "losses": ["learner/losses/.*"],
        "validation": ["learner/validation/.*loss", "learner/validation/top.*"],
        "learning rate": ["learner/learning_rate"],
    },
    "speed": {
        "a second": ["run/simulations_per_s", "run/positions_per_s"],
        "who waits": ["run/actor_waiting_share", "run/actor_idle_share"],
        "replay": ["replay/positions", "replay/window_positions"],
    },
    "health": {
        "memory": ["health/.*/rss_mb", "run/resident_mb"],
        "restarts": ["run/restarts", "health/.*/restarts"],
        "pending": ["health/.*/pending_s"],
    },
}
"""The page `custom scalars`: categories in their order, charts with patterns of tags."""


class TensorboardTracker:
    """Writes scalars over the learner's steps, the configuration as text, and the page `custom scalars`.

    A metric that never changes is no scalar.  A full disk loses events but never ends the run.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        """Write into `folder`, whose name TensorBoard shows as the run's."""
        self._folder, self._config = folder, config
        self._writer: Any = None
        self._refused = float("-inf")
        self._first: dict[str, tuple[int, float, float]] = {}
        """Step, time and value of each metric that has not changed yet."""
        self._changed: set[str] = set()
        self._open()

    def write(self, step: int, elapsed_s: float, metrics: dict[str, float]) -> None:
        """Add one event with those of `metrics` that change in the run."""
        for name, value in metrics.items():
            first = self._first.setdefault(name, (step, time.time(), value))
            if name not in self._changed and value != first[2]:
                self._changed.add(name)
                self._add(first[0], first[1], {name: first[2]})
        changing = {name: value for name, value in metrics.items() if name in self._changed}
        if changing:
            self._add(step, time.time(), changing)

    def _add(self, step: int, wall_time: float, metrics: dict[str, float]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        if self._writer is None and time.monotonic() - self._refused >= AGAIN_S:
            self._open()
        if self._writer is not None:
            try:
                self._writer.add_event(Event(wall_time=wall_time, step=step, summary=Summary(value=values)))
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
            self._writer.add_event(_head(self._config))
        except OSError as error:
            self._refuse(error)

    def _refuse(self, error: OSError) -> None:
        self._writer, self._refused = None, time.monotonic()
        log.warning("TensorBoard's events are lost for a while: %s", error)


def _head(config: Mapping[str, Any]) -> Any:
    """Return an event with the layout of `custom scalars` and the configuration as text."""
    import yaml
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING
    from tensorboard.plugins.custom_scalar import layout_pb2
    from tensorboard.plugins.custom_scalar.metadata import CONFIG_SUMMARY_TAG

    def value(tag: str, plugin: str, content: bytes) -> Any:
        data = SummaryMetadata.PluginData(plugin_name=plugin)
        tensor = TensorProto(dtype=DT_STRING, string_val=[content])
        return Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=data), tensor=tensor)

    lines = layout_pb2.MultilineChartContent
    categories = [
        layout_pb2.Category(
            title=title,
            chart=[
                layout_pb2.Chart(title=name, multiline=lines(tag=[f"^{tag}$" for tag in tags]))
                for name, tags in charts.items()
            ],
        )
        for title, charts in LAYOUT.items()
    ]
    layout = layout_pb2.Layout(category=categories).SerializeToString()
    dumped = yaml.safe_dump(dict(config), sort_keys=False).splitlines()
    text = "\n".join(f"    {line}" for line in dumped).encode()  # as code in Markdown
    values = [value(CONFIG_SUMMARY_TAG, "custom_scalars", layout), value("configuration", "text", text)]
    return Event(wall_time=time.time(), step=0, summary=Summary(value=values))
