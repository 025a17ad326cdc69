"""Gumbel: sequential halving at the root, and the improved policy that guides the rest and is learned.

Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel", ICLR 2022
(https://openreview.net/forum?id=bERaNdoegnO), called "the paper" below.  With

    g(a), l(a), P(a)  Gumbel noise (0 where none was drawn), logit and prior of an action
    n(a)              its visits; simulations that wait for their evaluation count as `virtual_loss` visits, all lost
    q(a)              its mean value for the side that chooses it, as (value + 1) / 2, so from 0 to 1
    v                 the network's value of the node, on the same scale

    mix               (v + sum(n) * mean of q over visited actions, weighted by P) / (1 + sum(n))         (appendix D)
    completed(a)      q(a) if visited, else mix                                                           (section 4)
    sigma(q)          (c_visit + max(n)) * c_scale * q                                                    (section 3)
    improved          softmax(l + sigma(completed))                                                       (section 4)

* At the root every simulation goes to the action with the largest g + l + sigma(q) among those whose visits are what
  the schedule of sequential halving considers now (`considered_visits`); the move is the best of the most visited
  (algorithm 2).
* Elsewhere it goes to the action with the largest improved(a) - n(a) / (1 + sum(n)): visits that follow the improved
  policy, without noise (section 5).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.kernel import kernel
from reversi.search.exponential import exponential
from reversi.search.rule import Rule
from reversi.search.tree import Tree

_TINY = np.float32(2.0**-126)
"""Least weight of a visited action in the mixed value, so that its weights never sum to 0."""


@kernel
def considered_visits(considered: int, simulations: int, index: int) -> int:
    """Return the visits that an action must have to be taken by the root's simulation number `index` (from 0).

    Sequential halving (Karnin, Koren, Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013) as the
    paper's algorithm 2 runs it: log2 phases of equal budget, each with half of the actions of the one before, two at
    least; what is left of the budget goes on in the last phase.

    considered   actions in the first phase, at most as many as are legal
    simulations  the whole budget
    """
    if considered <= 1:
        return index
    phases = 0
    while (1 << phases) < considered:
        phases += 1
    visits = 0
    while True:
        rounds = max(1, simulations // (phases * considered))
        if considered == 2 or index < rounds * considered:
            return visits + index // considered
        index -= rounds * considered
        visits += rounds
        considered = max(2, considered // 2)


@kernel
def root_edge(tree: Tree, rule: Rule, simulations: int) -> int:
    """Return the root's edge that the next simulation takes; the first of equals.

    The actions compared have equal visits, so either all of them have a value or none: nothing is to be completed.
    """
    root, entry = tree.nodes[0], tree.edges[0]
    index = entry.visits - 1 + entry.pending
    visits = considered_visits(min(rule.considered, root.degree), simulations, index)
    return _best_of_visits(tree, rule, visits)


@kernel
def best_root_edge(tree: Tree, rule: Rule) -> int:
    """Return the edge to play: among the most visited ones the largest g + l + sigma(q) (the paper's algorithm 2)."""
    root = tree.nodes[0]
    visits = 0
    for i in range(root.first, root.first + root.degree):
        visits = max(visits, tree.edges[i].visits + tree.edges[i].pending)
    return _best_of_visits(tree, rule, visits)


@kernel
def _best_of_visits(tree: Tree, rule: Rule, visits: int) -> int:
    """Return the root's edge with the largest g + l + sigma(q) among those with `visits`, pending ones included."""
    root = tree.nodes[0]
    most = 0
    for i in range(root.first, root.first + root.degree):
        most = max(most, tree.edges[i].visits + rule.virtual_loss * tree.edges[i].pending)
    scale = (rule.c_visit + np.float32(most)) * rule.c_scale
    best, best_score = int(root.first), np.float32(-np.inf)
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        if edge.visits + edge.pending == visits:
            score = tree.gumbels[edge.action] + tree.logits[edge.action] + scale * _q(tree, i, rule)
            if score > best_score:
                best, best_score = i, score
    return best


@kernel
def _q(tree: Tree, index: int, rule: Rule) -> np.float32:
    """Return the value of an edge on the scale from 0 to 1, a half while there is none."""
    edge = tree.edges[index]
    lost = rule.virtual_loss * edge.pending
    n = max(edge.visits + lost, 1)
    return np.float32(np.float32(0.5) * (edge.total - np.float32(lost)) / np.float32(n) + np.float32(0.5))


@kernel
def mixed_value(tree: Tree, index: int, rule: Rule) -> tuple[np.float32, int, int]:
    """Return the mixed value of node `index`, the visits of its actions, and the most that one of them has.

    The paper's appendix D: what the network says, and the values found weighted by their priors, as many times as there
    were visits.
    """
    node = tree.nodes[index]
    visits, most = 0, 0
    mass, weighted = np.float32(0), np.float32(0)
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        n = edge.visits + rule.virtual_loss * edge.pending
        if n > 0:
            visits += n
            most = max(most, n)
            prior = max(edge.prior, _TINY)
            mass += prior
            weighted += prior * _q(tree, i, rule)
    value = np.float32(0.5) * node.value + np.float32(0.5)
    if visits > 0:
        value = (value + np.float32(visits) * (weighted / mass)) / np.float32(1 + visits)
    return value, visits, most


@kernel
def interior_edge(tree: Tree, index: int, rule: Rule) -> int:
    """Return the edge of node `index` with the largest improved(a) - n(a) / (1 + sum(n)); the first of equals."""
    node = tree.nodes[index]
    mixed, visits, most = mixed_value(tree, index, rule)
    scale = (rule.c_visit + np.float32(most)) * rule.c_scale
    largest = mixed
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        if edge.visits + rule.virtual_loss * edge.pending > 0:
            largest = max(largest, _q(tree, i, rule))
    total = np.float32(0)
    for i in range(node.first, node.first + node.degree):
        total += _weight(tree, i, rule, mixed, scale, largest)
    share = np.float32(1 + visits) / total
    best, best_score = int(node.first), np.float32(-np.inf)
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        n = edge.visits + rule.virtual_loss * edge.pending
        score = share * _weight(tree, i, rule, mixed, scale, largest) - np.float32(n)
        if score > best_score:
            best, best_score = i, score
    return best


@kernel
def _weight(
    tree: Tree, index: int, rule: Rule, mixed: np.float32, scale: np.float32, largest: np.float32
) -> np.float32:
    """Return P * exp(sigma(completed) - scale * largest) of an edge: its improved probability but for a factor."""
    edge = tree.edges[index]
    q = mixed
    if edge.visits + rule.virtual_loss * edge.pending > 0:
        q = _q(tree, index, rule)
    return np.float32(edge.prior * exponential(scale * (q - largest)))


@kernel
def improved_policy(tree: Tree, rule: Rule, out: NDArray[np.float32]) -> None:
    """Write the root's improved policy into `out` (float32[A], zero before), without the noise."""
    root = tree.nodes[0]
    mixed, _, most = mixed_value(tree, 0, rule)
    scale = (rule.c_visit + np.float32(most)) * rule.c_scale
    largest = np.float32(-np.inf)
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        q = mixed
        if edge.visits + rule.virtual_loss * edge.pending > 0:
            q = _q(tree, i, rule)
        out[edge.action] = tree.logits[edge.action] + scale * q
        largest = max(largest, out[edge.action])
    total = np.float32(0)
    for i in range(root.first, root.first + root.degree):
        action = tree.edges[i].action
        out[action] = exponential(out[action] - largest)
        total += out[action]
    for i in range(root.first, root.first + root.degree):
        out[tree.edges[i].action] /= total
