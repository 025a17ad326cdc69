"""Gumbel: sequential halving at the root; the improved policy, which guides the search below it and is the target.

Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel", ICLR 2022
(https://openreview.net/forum?id=bERaNdoegnO), called "the paper" below.  With

    g(a), l(a), P(a)  Gumbel noise (0 where none was drawn), logit and prior of an action
    n(a)              its visits
    q(a)              its mean value for the side that chooses it, as (value + 1) / 2, so from 0 to 1
    v                 the network's value of the node, on the same scale

    mix               (v + sum(n) * mean of q over visited actions, weighted by P) / (1 + sum(n))    appendix D
    completed(a)      q(a) if visited, else mix                                                      equation 10
    sigma(q)          (c_visit + max(n)) * c_scale * q                                               equation 8
    improved          softmax(l + sigma(completed))                                                  section 4

* At the root a simulation goes to the action with the largest g + l + sigma(q) among those that have as many visits as
  the schedule of sequential halving requires now (`considered_visits`); the move to play is the one with the largest
  score among the most visited: algorithm 2.
* Elsewhere it goes to the action with the largest improved(a) - n(a) / (1 + sum(n)), so that the visits converge to the
  improved policy, without noise: section 5.  Nothing makes it return to a move that looked bad in its first visits:
  this is a search for tens of simulations, not for thousands.

A simulation that waits for its evaluation counts as one visit (`virtual_loss` visits below the root) with an unknown
value.  It does not count as a loss: sigma is so steep that a loss would send the other simulations of the round to the
worst moves.

The order of visits is that of DeepMind's mctx (mctx/_src/seq_halving.py), and so are the values, with its
`rescale_values=False` and `value_scale` half of `c_scale`, since its q ranges from -1 to 1 (qtransforms.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.kernels.exponential import exponential
from reversi.kernels.kernel import bare_kernel
from reversi.search.params import SearchParams
from reversi.search.tree import Tree

_TINY = np.float32(2.0**-126)
"""Minimum prior of a visited action, so that the weights of visited actions never sum to 0."""


@bare_kernel
def considered_visits(considered: int, simulations: int, index: int) -> int:
    """Return the number of visits an action must have to be eligible for the root's simulation `index` (from 0).

    Sequential halving (Karnin, Koren, Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013) as in the
    paper's algorithm 2: log2(considered) phases of equal budget, each with half the actions of the previous one, at
    least two; the rest of the budget extends the last phase.

    considered   actions in the first phase, at most the number of legal actions
    simulations  the total budget
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


@bare_kernel
def root_edge(tree: Tree, params: SearchParams, simulations: int) -> int:
    """Return the root's edge that the next simulation takes; ties go to the first.

    simulations  the tree's budget, the same in every simulation of a search
    """
    root, entry = tree.nodes[0], tree.edges[0]
    index = entry.visits - 1 + entry.pending
    return _best_of_visits(tree, params, considered_visits(min(params.considered, root.degree), simulations, index))


@bare_kernel
def best_root_edge(tree: Tree, params: SearchParams) -> int:
    """Return the root's edge to play: among the most visited, the one with the largest g + l + sigma(completed)."""
    root = tree.nodes[0]
    visits = 0
    for i in range(root.first, root.first + root.degree):
        visits = max(visits, tree.edges[i].visits)
    return _best_of_visits(tree, params, visits)


@bare_kernel
def _best_of_visits(tree: Tree, params: SearchParams, visits: int) -> int:
    """Return the root's edge with the largest g + l + sigma(completed) among those with `visits`.

    Simulations that wait for their evaluation count as visits.  If none wait, the mixed value is not needed: the
    actions compared are either all visited or all unvisited.
    """
    root, scale, mixed = tree.nodes[0], _root_scale(tree, params), np.float32(0)
    if tree.edges[0].pending > 0:
        mixed = mixed_value(tree)
    best, best_score = int(root.first), np.float32(-np.inf)
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        if edge.visits + edge.pending == visits:
            score = tree.gumbels[edge.action] + tree.logits[edge.action]
            if visits > 0:
                score += scale * (_q(edge.total, edge.visits) if edge.visits > 0 else mixed)
            if score > best_score:
                best, best_score = i, score
    return best


@bare_kernel
def _root_scale(tree: Tree, params: SearchParams) -> np.float32:
    """Return the factor of q in sigma at the root."""
    root, most = tree.nodes[0], 0
    for i in range(root.first, root.first + root.degree):
        most = max(most, tree.edges[i].visits + tree.edges[i].pending)
    return np.float32((params.c_visit + np.float32(most)) * params.c_scale)


@bare_kernel
def _q(total: np.float32, visits: int) -> np.float32:
    """Return a mean value on the scale from 0 to 1."""
    return np.float32(np.float32(0.5) * total / np.float32(visits) + np.float32(0.5))


@bare_kernel
def mixed_value(tree: Tree) -> np.float32:
    """Return the mixed value of the root, from 0 to 1.

    The paper's appendix D: the network's value with weight 1, and the prior-weighted mean of the visited actions'
    values with the number of visits as its weight.
    """
    root = tree.nodes[0]
    visits, mass, weighted = 0, np.float32(0), np.float32(0)
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        if edge.visits > 0:
            prior = max(edge.prior, _TINY)
            visits += edge.visits
            mass += prior
            weighted += prior * _q(edge.total, edge.visits)
    return _mix(root.value, visits, mass, weighted)


@bare_kernel
def _mix(value: np.float32, visits: int, mass: np.float32, weighted: np.float32) -> np.float32:
    """Return the mixed value; over the visited actions `mass` is the sum of priors, `weighted` that of prior * q."""
    mixed = np.float32(0.5) * value + np.float32(0.5)
    if visits > 0:
        mixed = (mixed + np.float32(visits) * (weighted / mass)) / np.float32(1 + visits)
    return np.float32(mixed)


@bare_kernel
def interior_edge(tree: Tree, index: int, params: SearchParams) -> int:
    """Return the edge of node `index` with the largest improved(a) - n(a) / (1 + sum(n)); ties go to the first.

    improved(a) is P(a) * exp(sigma(completed(a))) / Z, since softmax(l + x) is P * exp(x) / Z.  All unvisited actions
    share one completed value and so one exponential.
    """
    node = tree.nodes[index]
    if node.degree == 1:  # a simulation may have passed through it without an evaluation
        return int(node.first)
    visits, mass, weighted = 0, np.float32(0), np.float32(0)
    waiting, most = 0, 0
    fresh, largest = np.float32(0), np.float32(-np.inf)  # sum of the unvisited actions' priors; largest value
    best, best_score = int(node.first), np.float32(-np.inf)
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        lost = params.virtual_loss * edge.pending
        waiting += lost
        most = max(most, edge.visits + lost)
        if edge.visits > 0:
            prior, q = max(edge.prior, _TINY), _q(edge.total, edge.visits)
            visits += edge.visits
            mass += prior
            weighted += prior * q
            largest = max(largest, q)
        else:
            fresh += edge.prior
            if edge.prior > best_score:
                best, best_score = i, edge.prior
    if visits + waiting == 0:
        return best
    mixed = _mix(node.value, visits, mass, weighted)
    largest = max(largest, mixed)
    scale = (params.c_visit + np.float32(most)) * params.c_scale
    fresh_weight = exponential(scale * (mixed - largest))
    total = fresh * fresh_weight
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        if edge.visits > 0:
            total += max(edge.prior, _TINY) * exponential(scale * (_q(edge.total, edge.visits) - largest))
    whole = np.float32(1 + visits + waiting)
    best, best_score = int(node.first), np.float32(-np.inf)
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        weight = edge.prior * fresh_weight
        if edge.visits > 0:
            weight = max(edge.prior, _TINY) * exponential(scale * (_q(edge.total, edge.visits) - largest))
        score = whole * (weight / total) - np.float32(edge.visits + params.virtual_loss * edge.pending)
        if score > best_score:
            best, best_score = i, score
    return best


@bare_kernel
def improved_policy(tree: Tree, params: SearchParams, out: NDArray[np.float32]) -> None:
    """Write the root's improved policy, without the noise, to `out` (float32[A], zero before)."""
    root = tree.nodes[0]
    mixed, scale = mixed_value(tree), _root_scale(tree, params)
    largest = np.float32(-np.inf)
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        q = _q(edge.total, edge.visits) if edge.visits > 0 else mixed
        out[edge.action] = tree.logits[edge.action] + scale * q
        largest = max(largest, out[edge.action])
    total = np.float32(0)
    for i in range(root.first, root.first + root.degree):
        action = tree.edges[i].action
        out[action] = exponential(out[action] - largest)
        total += out[action]
    for i in range(root.first, root.first + root.degree):
        out[tree.edges[i].action] /= total


@bare_kernel
def improved_value(tree: Tree, policy: NDArray[np.float32]) -> np.float32:
    """Return the expected completed value under the root's improved policy, for the side to move.

    The root's mean would be a poor estimate: at first sequential halving visits the worst action considered as often as
    the best, and half of all simulations go to actions that it drops.

    policy  float32[A]  from `improved_policy`
    """
    root = tree.nodes[0]
    mixed = mixed_value(tree)
    value = np.float32(0)
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        q = _q(edge.total, edge.visits) if edge.visits > 0 else mixed
        value += policy[edge.action] * q
    return np.float32(np.float32(2) * value - np.float32(1))
