"""Draw a run's learning curves from its metrics, as `reversi train` does at the end of every run.

The panels depend on the algorithm: for AlphaZero the champion's Elo and the losses; for Q-learning the results against
its opponent; for a Q-network the loss and the mean value; for a policy from games the losses and accuracies, in
training and on the validation games.

Each step of the Elo curve is a promotion, as high as the Elo difference of its match, summed from the first model on.
This overestimates progress, as a network beats its own predecessor by more than it gains against other players.

Of several runs the curves stand in the same panels, each named by its run.
"""

from __future__ import annotations

import argparse

from reversi.errors import UsageError, printable
from reversi.runs import find_run
from scripts.arguments.common import file_path
from scripts.run.learning_curves import PICTURE, picture_of, picture_of_several

EXAMPLES = """
reversi picture runs/long
reversi picture runs/long -o elo.svg
reversi picture runs/a runs/b runs/c -o three.svg
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run and where the picture goes."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folders or names of runs (default: the newest run)")
    where = f"file to write (default: RUN/{PICTURE}; needed for several runs)"
    parser.add_argument("-o", "--output", type=file_path, metavar="FILE", help=where)


def run(args: argparse.Namespace) -> int:
    """Draw the picture and say where it is."""
    folders = list(dict.fromkeys(find_run(name) for name in args.runs or [None]))
    if len(folders) == 1:
        print(printable(str(picture_of(folders[0], args.output or folders[0] / PICTURE))))
        return 0
    if args.output is None:
        raise UsageError("expected -o FILE for a picture of several runs")
    print(printable(str(picture_of_several(folders, args.output))))
    return 0
