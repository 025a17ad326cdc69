"""The help of `reversi train`: examples, experiments with a sentence each, and the settings that people change."""

from __future__ import annotations

import re
import shutil
import textwrap

from scripts.config.compose import choices_by_group, conf_folder

BEGINNING = """\
examples:
  reversi train                               the default job: 6x6, ten minutes
  reversi train run.minutes=60 run.name=long  longer, with a name
  reversi train experiment=reversi8_patterns  another experiment
  reversi train resume=runs/long              go on with a run that was stopped
  reversi train --config-dir my experiment=x  your own, my/experiment/x.yaml
  reversi train --multirun run.seed=1,2,3     one run after another
  reversi train --cfg job                     print the configuration, and exit

usage: reversi train [--help] [KEY=VALUE ...]
"""

MEANING = """\
Train a model from nothing by self-play, replay, learner and gate, in a folder runs/NAME. Ctrl-C once saves the run \
and stops within seconds; twice stops at once. The configuration is in conf/, a group for each part: GROUP=CHOICE \
selects a file of a group, KEY=VALUE sets a single value, in Hydra's syntax.
"""

SETTINGS = {
    "run.minutes": "how long to train; null: no limit",
    "run.name": "the run's folder in runs/",
    "game": "reversi4, reversi6, reversi8 or tictactoe",
    "network": "tiny, small, base or large; patterns for CPUs",
    "search.simulations": "simulations for each move of self-play",
    "actors.count": "processes that play; null: as many as fit",
    "learner.device": "auto, cpu or cuda",
    "gate.games": "games of the match that a candidate must win",
    "init": "a model to begin with: shipped, a folder or a URL",
    "tracking.port": "port of the run's page while it trains",
}
"""The settings that people change, with their meanings."""

ENDING = """\
The comments in conf/ describe every choice. The meaning, unit and range of every key are in the docstrings of the \
configuration dataclasses, to which scripts/config/job.py leads; docs/architecture.md has the parts.
"""


def train_help() -> str:
    """Return the help of `reversi train`, for the width of the terminal."""
    width = min(shutil.get_terminal_size().columns - 1, 100)
    groups = choices_by_group()
    experiments = {name: sentence_of(name) for name in groups.pop("experiment")}
    return "\n".join(
        [
            BEGINNING,
            textwrap.fill(MEANING, width),
            "\nexperiments:",
            *_table(experiments, width),
            "\nsettings that people change:",
            *_table(SETTINGS, width),
            "\nother groups:",
            *_table({group: ", ".join(choices) for group, choices in groups.items()}, width),
            "",
            textwrap.fill(ENDING, width),
            "",
        ]
    )


def sentence_of(experiment: str) -> str:
    """Return the first sentence of an experiment's comment, which says what it is."""
    text = (conf_folder() / "experiment" / f"{experiment}.yaml").read_text()
    comment = " ".join(line.removeprefix("# ") for line in text.splitlines()[1:] if line.startswith("# "))
    return re.split(r"\.(?: |$)", comment, maxsplit=1)[0]


def _table(rows: dict[str, str], width: int) -> list[str]:
    """Return a line for each row, wrapped where it is longer than `width`."""
    first = max(map(len, rows))
    lines = (f"  {name:<{first}}  {text}" for name, text in rows.items())
    return [textwrap.fill(line, width, subsequent_indent=" " * (first + 4), break_on_hyphens=False) for line in lines]
