"""What depends on the number of steps: the learning rate (warm-up and cosine) and the candidates."""

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
