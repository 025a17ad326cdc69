"""The token bucket: a count that makes the learner wait for the actors, or the actors for the learner.

A new position adds `reuse` tokens, a drawn sample takes one; so each position is trained on at most `reuse` times on
average, whatever the speeds of the two sides.  An empty bucket makes the learner wait, a full one the actors.
"""

from __future__ import annotations


class TokenBucket:
    """Tokens are samples that may still be drawn.

    At `capacity` the actors are told to wait, but no tokens are lost: positions in transit when the bucket filled still
    add theirs, so it may exceed its capacity by that much.
    """

    def __init__(self, reuse: float, capacity: int) -> None:
        self.reuse = reuse
        self.capacity = capacity
        self.tokens = 0.0

    @property
    def full(self) -> bool:
        """Whether actors should wait for the learner."""
        return self.tokens >= self.capacity

    def add_positions(self, count: int) -> None:
        """Add the tokens of `count` new positions."""
        self.tokens += count * self.reuse

    def take(self, samples: int) -> bool:
        """Take a token for each of `samples` and return True, or take none and return False if there are too few."""
        if samples > self.tokens:
            return False
        self.tokens -= samples
        return True
