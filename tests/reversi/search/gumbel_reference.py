"""The Gumbel search written down slowly: plain Python, double precision, every formula in full."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, exp, log2

import numpy as np

from reversi.games.position import Position
from reversi.search.config import SearchConfig
from reversi.search.evaluate import Evaluate


def schedule(considered: int, simulations: int) -> list[int]:
    """Return the visits considered by each simulation: halve, and give survivors the rounds that a phase can pay."""
    if considered <= 1:
        return list(range(simulations))
    found: list[int] = []
    visits, survivors = 0, considered
    while len(found) < simulations:
        for _ in range(max(1, int(simulations / (ceil(log2(considered)) * survivors)))):
            found += [visits] * survivors
            visits += 1
        survivors = max(2, survivors // 2)
    return found[:simulations]


@dataclass
class Node:
    """A position, the network's answer, and for every legal action its visits, the sum of its values, and its child."""

    position: Position
    value: float
    logits: dict[int, float]
    visits: dict[int, int] = field(default_factory=dict)
    total: dict[int, float] = field(default_factory=dict)
    child: dict[int, Node] = field(default_factory=dict)

    @classmethod
    def judged(cls, position: Position, evaluate: Evaluate) -> Node:
        """Ask the evaluator, unless the game is over."""
        if position.is_over:
            return cls(position, float(np.sign(position.margin)), {})
        logits, value = evaluate(np.array([position.own], np.uint64), np.array([position.opp], np.uint64))
        legal = position.legal_actions()
        node = cls(position, float(value[0]), {action: float(logits[0, action]) for action in legal})
        node.visits, node.total = dict.fromkeys(legal, 0), dict.fromkeys(legal, 0.0)
        return node

    @classmethod
    def forced(cls, position: Position) -> Node:
        """A position with one reply, which nobody judges."""
        (action,) = position.legal_actions()
        return cls(position, 0.0, {action: 0.0}, {action: 0}, {action: 0.0})

    def prior(self) -> dict[int, float]:
        return softmax(self.logits)

    def sigma(self, config: SearchConfig) -> dict[int, float]:
        """Return the transformed completed value of every action."""
        prior, seen = self.prior(), [action for action in self.visits if self.visits[action]]
        q = {action: (self.total[action] / self.visits[action] + 1) / 2 for action in seen}
        mixed, simulations = (self.value + 1) / 2, sum(self.visits.values())
        if seen:
            mean = sum(prior[action] * q[action] for action in seen) / sum(prior[action] for action in seen)
            mixed = (mixed + simulations * mean) / (1 + simulations)
        scale = (config.c_visit + max(self.visits.values())) * config.c_scale
        return {action: scale * q.get(action, mixed) for action in self.logits}

    def improved(self, config: SearchConfig) -> dict[int, float]:
        sigma = self.sigma(config)
        return softmax({action: self.logits[action] + sigma[action] for action in self.logits})

    def interior_scores(self, config: SearchConfig) -> dict[int, float]:
        simulations = sum(self.visits.values())
        improved = self.improved(config)
        return {action: improved[action] - self.visits[action] / (1 + simulations) for action in improved}

    def root_scores(self, config: SearchConfig, gumbel: dict[int, float], visits: int) -> dict[int, float]:
        sigma = self.sigma(config)
        return {
            action: gumbel[action] + self.logits[action] + sigma[action]
            for action in self.logits
            if self.visits[action] == visits
        }


def softmax(logits: dict[int, float]) -> dict[int, float]:
    largest = max(logits.values())
    weights = {action: exp(logit - largest) for action, logit in logits.items()}
    return {action: weight / sum(weights.values()) for action, weight in weights.items()}
