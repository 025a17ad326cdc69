"""The token bucket: the one number that lets the learner wait for actors, or actors for the learner.

A new position adds `reuse` tokens, a drawn sample takes one; so each position is trained on at most `reuse` times on
average, whatever the speeds of the two sides.  An empty bucket holds the learner back, a full one the actors, and
nobody sleeps for a guessed time.
"""

from __future__ import annotations


class TokenBucket:
    """Tokens are samples that may still be drawn.

    `capacity` is where the actors are told to wait, not where tokens are lost: positions that were under way when the
    bucket filled are still paid for, so it may stand above its capacity by what is in flight.
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
        """Pay for `count` new positions."""
        self.tokens += count * self.reuse

    def take(self, samples: int) -> bool:
        """Take a token for each of `samples` if there are as many, else take none; whether they were taken."""
        if samples > self.tokens:
            return False
        self.tokens -= samples
        return True
