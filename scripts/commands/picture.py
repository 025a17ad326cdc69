"""Draw a run's learning curves from its metrics, as `reversi train` does at the end of every run.

The panels depend on the algorithm: for AlphaZero the champion's Elo and the losses; for Q-learning the results against
its opponent; for a Q-network the loss and the mean value; for a policy from games the losses and accuracies, in
training and on the validation games.

Each step of the Elo curve is a promotion, as high as the Elo difference of its match, summed from the first model on.
This overestimates progress, as a network beats its own predecessor by more than it gains against other players.
"""

from __future__ import annotations

import argparse

from reversi.runs import find_run
from scripts.arguments.common import file_path
from scripts.run.learning_curves import PICTURE, picture_of

EXAMPLES = """
reversi picture runs/long
reversi picture runs/long -o elo.svg
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run and where the picture goes."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's folder or name (default: the newest run)")
    parser.add_argument(
        "-o", "--output", type=file_path, metavar="FILE", help=f"file to write (default: RUN/{PICTURE})"
    )


def run(args: argparse.Namespace) -> int:
    """Draw the picture and say where it is."""
    folder = find_run(args.run)
    print(picture_of(folder, args.output or folder / PICTURE))
    return 0
