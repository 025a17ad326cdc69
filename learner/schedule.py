"""What depends on steps or on time: the learning rate (warm-up and cosine), publications and candidates."""

from __future__ import annotations

import math

from learner.config import NetworkLearnerConfig, TrainingConfig


def schedule(config: NetworkLearnerConfig, step: int, progress: float) -> float:
    """Return the factor of a network's learning rate for step `step`, counted from 0: `annealed` after a warm-up."""
    return min(1.0, (step + 1) / (config.warmup_steps + 1)) * annealed(config, progress)


def annealed(config: TrainingConfig, progress: float) -> float:
    """Return the factor of the learning rate at the run's `progress`, 0 to 1: a cosine to `final_learning_rate`."""
    cosine = (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0))) / 2
    return config.final_learning_rate + (1 - config.final_learning_rate) * cosine


def is_candidate_step(config: TrainingConfig, step: int) -> bool:
    """Return whether a candidate is due after step `step`, counted from 1."""
    every, due = config.candidate_every_steps, 0
    if config.candidate_growth == 0:
        return step % every == 0
    while due < step:
        due += every * max(1, int(config.candidate_growth * due / every))
    return due == step


FIRST_S = 60.0
"""Seconds in which weights that are published by time go out every second, since they change fast."""


class Publications:
    """When weights are published, and when as a candidate: by steps, or by the seconds trained."""

    def __init__(self, config: TrainingConfig) -> None:
        self.trained_s = self.published_s = self.offered_s = 0.0
        """Seconds of training so far, by the last publication and by the last candidate."""
        self._config = config

    def state(self) -> list[float]:
        """Return the three times."""
        return [self.trained_s, self.published_s, self.offered_s]

    def restore(self, state: list[float]) -> None:
        """Restore `state()`."""
        self.trained_s, self.published_s, self.offered_s = map(float, state)

    def due(self, step: int, seconds: float, by_time: bool) -> tuple[bool, bool]:
        """Return whether weights are due after step `step`, counted from 1, and whether they are a candidate.

        seconds  that the step and the wait for its batch took
        by_time  whether `publish_every_s` and `candidate_every_s` count, if there are any
        """
        config = self._config
        every_s, candidate_s = config.publish_every_s, config.candidate_every_s
        if not by_time or every_s is None or candidate_s is None:
            published = step % config.publish_every_steps == 0
            return published, published and is_candidate_step(config, step)
        self.trained_s += seconds
        every_s = min(every_s, 1.0) if self.trained_s < FIRST_S else every_s
        wait_s = max(candidate_s, config.candidate_growth * self.offered_s)
        published = self.trained_s >= self.published_s + every_s
        offered = published and self.trained_s >= self.offered_s + wait_s
        self.published_s = self.trained_s if published else self.published_s
        self.offered_s = self.trained_s if offered else self.offered_s
        return published, offered
