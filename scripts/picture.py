"""Draw a run's learning curve from its `metrics.jsonl`:  python -m scripts.picture runs/NAME docs/elo.svg

Each step of the curve is a promotion, its height the Elo difference measured by that 400-game match, added up from the
first model on.  Differences between a network and its own successor add up to more than a stranger would see; the
README says so beside the picture, and names the scores against fixed players.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def rows_of(run: Path) -> list[dict[str, Any]]:
    """Return the rows of a run's metrics; a last line cut by a crash is left out."""
    rows = []
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def draw(run: Path, target: Path) -> None:
    """Draw the champion's Elo, the candidates' matches and the losses over the minutes of training."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = rows_of(run)
    gate = [row for row in rows if "gate/champion_elo" in row]
    learner = [row for row in rows if "learner/losses/policy" in row]
    figure, (elo, loss) = pyplot.subplots(2, 1, sharex=True, figsize=(7, 5), height_ratios=(2, 1), layout="constrained")
    minutes = [row["elapsed_s"] / 60 for row in gate]
    elo.step(minutes, [row["gate/champion_elo"] for row in gate], where="post", color="#1b7837", label="champion")
    elo.plot(minutes, [row["gate/champion_elo"] for row in gate], "o", color="#1b7837", markersize=4)
    elo.set_ylabel("Elo above the first model\n(sum of gate matches)")
    elo.grid(alpha=0.3)
    for name, color in (("policy", "#2166ac"), ("value", "#b2182b")):
        loss.plot(
            [row["elapsed_s"] / 60 for row in learner],
            [row[f"learner/losses/{name}"] for row in learner],
            color=color,
            label=f"{name} loss",
        )
    loss.set_xlabel("minutes of training")
    loss.set_ylabel("nats")
    loss.legend(frameon=False)
    loss.grid(alpha=0.3)
    figure.savefig(target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m scripts.picture RUN_FOLDER PICTURE")
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
