"""From visits to the action played: temperature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def choose_actions(
    visits: NDArray[Any], temperature: NDArray[np.floating[Any]], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return one action per position, drawn with probability proportional to visits ** (1 / temperature).

    visits       numbers[B, A]  visits, or any weights >= 0; not all 0 in a row, as a finished game has no action
    temperature  floats[B]      1 draws by visits, 0 takes the most visited (the first of equals)

    One number per position is drawn whatever the temperature, so that a game's luck does not depend on the others'.
    """
    weights = visits / visits.max(axis=1, keepdims=True, initial=0)
    greedy = temperature <= 0
    weights **= 1 / np.where(greedy, 1, temperature)[:, None]
    bounds = weights.cumsum(axis=1)
    draw = (1 - rng.random(len(visits)))[:, None] * bounds[:, -1:]  # above 0, so never an action without weight
    drawn = (bounds >= draw).argmax(axis=1)
    actions: NDArray[np.int32] = np.where(greedy, visits.argmax(axis=1), drawn).astype(np.int32)
    return actions
