"""Operations on a root: setting it, noise, reading, keeping a subtree; `set_roots` and `read_roots` take all trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import Masks
from reversi.games.rng import random_gamma, random_gumbel, stream
from reversi.games.rules import UNFINISHED, outcome
from reversi.kernels.exponential import exponential
from reversi.kernels.kernel import bare_kernel
from reversi.search.bounds import bounded_mean, edge_lower, edge_upper, is_worse
from reversi.search.gumbel import best_root_edge, improved_policy, improved_value
from reversi.search.params import SearchParams
from reversi.search.tree import (
    EDGES,
    NODES,
    PENDING,
    TERMINAL,
    UNVISITED,
    Leaves,
    Tree,
    Trees,
    add_leaf,
    add_node,
    back_up,
    tree_of,
)


@bare_kernel
def set_root(tree: Tree, game_id: int, params: SearchParams, own: np.uint64, opp: np.uint64) -> None:
    """Empty the tree and add the root (own, opp), PENDING or TERMINAL, without visits and Gumbel noise.

    With `params.every_move` only a finished game is TERMINAL; a result that is known bounds the root all the same.  A
    TERMINAL root is not backed up; the caller must do so before reading `root_value`.
    """
    tree.used[NODES] = 0
    tree.used[EDGES] = 1
    tree.gumbels[:] = 0
    entry = tree.edges[0]
    entry.total = 0
    entry.visits = 0
    entry.pending = 0
    add_node(tree, game_id, params, 0, 0, own, opp)
    if params.every_move and outcome(game_id, own, opp) == UNFINISHED:
        tree.nodes[0].degree = PENDING


@bare_kernel
def drop_root_edges(trees: Trees, kept: NDArray[np.bool_]) -> None:
    """Leave the roots of the first G' <= G trees, just evaluated, only the edges of these actions.

    kept  bool[G', A]  at least one of a root's actions
    """
    for g in range(kept.shape[0]):
        tree = tree_of(trees, g)
        root = tree.nodes[0]
        end, mass = root.first, np.float32(0)
        for i in range(root.first, root.first + max(0, root.degree)):
            if kept[g, tree.edges[i].action]:
                tree.edges[end] = tree.edges[i]
                mass += tree.edges[end].prior
                end += 1
        if end == root.first:  # a finished game
            continue
        for i in range(root.first, end):
            tree.edges[i].prior /= mass
        root.degree = end - root.first
        tree.used[EDGES] = end


@bare_kernel
def mix_root_noise(tree: Tree, noise: NDArray[np.floating[Any]], weight: float) -> None:
    """Replace the root's priors by (1 - weight) * prior + weight * noise.

    noise  floats[A]  gamma draws; normalised over the legal actions they are Dirichlet noise
    """
    root = tree.nodes[0]
    scale = 0.0
    for i in range(root.first, root.first + root.degree):
        scale += noise[tree.edges[i].action]
    if not scale > 0:  # a finished game, or draws so small that all are 0
        return
    root.explored = 0
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        edge.prior = (1 - weight) * edge.prior + weight * noise[edge.action] / scale
        if edge.visits > 0:
            root.explored += edge.prior


@bare_kernel
def draw_root_noise(
    tree: Tree, params: SearchParams, start: np.uint64, alpha: float, weight: float, scratch: NDArray[np.float32]
) -> None:
    """Add the search method's noise to the root; each legal action draws from its own substream of `start`.

    Gumbel draws Gumbel noise.  PUCT mixes Dirichlet noise into the priors with `weight`; its concentration is `alpha`
    divided by the number of legal actions.  A finished game gets none.

    scratch  float32[A]  overwritten
    """
    root = tree.nodes[0]
    for i in range(root.first, root.first + root.degree):
        action = int(tree.edges[i].action)
        draws = stream(start, 1 + action)
        if params.gumbel:
            tree.gumbels[action] = random_gumbel(draws, 0)
        elif weight > 0:
            scratch[action] = random_gamma(draws, alpha / root.degree)
    if root.degree > 0 and weight > 0 and not params.gumbel:
        mix_root_noise(tree, scratch, weight)


@bare_kernel
def root_policy(tree: Tree, params: SearchParams, out: NDArray[np.float32]) -> None:
    """Write the search's policy at the root, which sums to 1, to `out` (float32[A], zero before).

    PUCT: each action's share of the visits, or of the priors if there are none; actions proven worse (`is_worse`) get
    0.  Gumbel: the improved policy, without the noise.  A finished game writes nothing.
    """
    if params.gumbel:
        improved_policy(tree, params, out)
        return
    root = tree.nodes[0]
    visits, mass = 0, np.float32(0)
    for i in range(root.first, root.first + root.degree):
        if not is_worse(tree, params, i):
            visits += tree.edges[i].visits
            mass += tree.edges[i].prior
    for i in range(root.first, root.first + root.degree):
        edge = tree.edges[i]
        if visits == 0 and mass == 0:  # all are worse, where the root's result is known before that of its moves
            out[edge.action] = edge.prior
        elif not is_worse(tree, params, i):
            out[edge.action] = np.float32(edge.visits / visits) if visits > 0 else edge.prior / mass


@bare_kernel
def root_action(tree: Tree, params: SearchParams) -> int:
    """Return the action to play, the first of equals; -1 if the game is over.

    PUCT: the most visited action that is not proven worse than another.  With `min_visit_share` below 1, or with
    bounds, the best by mean value among those with that share of its visits and, with bounds, those that are settled.
    Without visits the action with the largest prior.
    Gumbel: see `best_root_edge`; the noise counts.
    """
    root = tree.nodes[0]
    if root.degree <= 0:
        return -1
    if params.gumbel:
        return int(tree.edges[best_root_edge(tree, params)].action)
    best, last = root.first, root.first + root.degree - 1
    while best < last and is_worse(tree, params, best):  # all may be, where the root's result is known first
        best += 1
    for i in range(best + 1, root.first + root.degree):
        edge, leader = tree.edges[i], tree.edges[best]
        more = edge.visits > leader.visits or (edge.visits == leader.visits == 0 and edge.prior > leader.prior)
        if more and not is_worse(tree, params, i):
            best = i
    if (params.min_visit_share < 1 or params.bounds) and tree.edges[best].visits > 0:
        needed = params.min_visit_share * np.float32(tree.edges[best].visits)
        for i in range(root.first, root.first + root.degree):
            edge = tree.edges[i]
            enough = edge.visits >= needed or (params.bounds and edge_lower(tree, i) == edge_upper(tree, i))
            if enough and not is_worse(tree, params, i) and bounded_mean(tree, i) > bounded_mean(tree, best):
                best = i
    return int(tree.edges[best].action)


@bare_kernel
def root_value(tree: Tree) -> np.float32:
    """Return the mean of the values backed up to the root, its own evaluation included, for the side to move."""
    entry = tree.edges[0]
    mean = np.float32(np.float32(0) - entry.total / np.float32(entry.visits))  # 0 - x is never -0.0, which prints as -0
    return min(max(mean, tree.nodes[0].lower), tree.nodes[0].upper)


@bare_kernel
def search_value(tree: Tree, params: SearchParams, policy: NDArray[np.float32]) -> np.float32:
    """Return the search's value of the root for the side to move.

    PUCT: `root_value`.  Gumbel: the expected value of the improved policy, or `root_value` in a finished game.

    policy  float32[A]  from `root_policy`
    """
    if params.gumbel and tree.nodes[0].degree > 0:
        return improved_value(tree, policy)
    return root_value(tree)


@bare_kernel
def has_room(tree: Tree, simulations: int) -> bool:
    """Return whether a tree that was kept has room for a search of `simulations`, which counts the visits it has.

    Nodes with a single reply are bounded over a whole tree (`nodes_for`); a part of it may hold more than its share.
    """
    visits = tree.edges[0].visits - 1
    return bool(tree.used[NODES] + simulations - visits <= tree.nodes.shape[0])


@bare_kernel
def has_root(tree: Tree, own: np.uint64, opp: np.uint64) -> bool:
    """Return whether `keep_subtree` left the tree with the root (own, opp), and that root is evaluated.

    False for a root with a single reply, since a simulation may have passed through it without an evaluation.
    """
    root = tree.nodes[0]
    evaluated = root.degree != PENDING and root.degree != 1
    return bool(tree.used[NODES] > 0 and root.own == own and root.opp == opp and evaluated)


@bare_kernel
def set_roots(trees: Trees, game_id: int, params: SearchParams, own: Masks, opp: Masks, leaves: Leaves) -> int:
    """Set the root of tree b to (own[b], opp[b]) and return the number of roots that wait for their evaluation.

    own, opp  uint64[B], B <= G
    leaves    written: the new roots that are not TERMINAL
    """
    count = 0
    for g in range(own.shape[0]):
        tree = tree_of(trees, g)
        root = tree.nodes[0]
        set_root(tree, game_id, params, own[g], opp[g])
        if root.degree == TERMINAL:
            back_up(tree, params, 0, root.value, 0)
        else:
            add_leaf(tree, g, 0, leaves, count)
            count += 1
    return count


@bare_kernel
def read_priors(trees: Trees, prior: NDArray[np.float32]) -> None:
    """Write the network's policy at the roots, at temperature 1, to `prior` (float32[G', A], G' <= G, zero before)."""
    for g in range(prior.shape[0]):
        root, logits = trees.nodes[g, 0], trees.logits[g]
        largest, total = np.float32(-np.inf), np.float32(0)
        for i in range(root.first, root.first + root.degree):
            largest = max(largest, logits[trees.edges[g, i].action])
        for i in range(root.first, root.first + root.degree):
            action = trees.edges[g, i].action
            prior[g, action] = exponential(logits[action] - largest)
            total += prior[g, action]
        for i in range(root.first, root.first + root.degree):
            prior[g, trees.edges[g, i].action] /= total


@bare_kernel
def read_roots(
    trees: Trees,
    params: SearchParams,
    visits: NDArray[np.int32],
    value: NDArray[np.float32],
    policy: NDArray[np.float32],
    action: NDArray[np.int32],
) -> None:
    """Write the search results at the roots of the first G' <= G trees.

    visits  int32[G', A], zero before    written at the legal actions
    value   float32[G']                  written: `search_value`
    policy  float32[G', A], zero before  written at the legal actions: `root_policy`
    action  int32[G']                    written: `root_action`
    """
    for g in range(visits.shape[0]):
        tree = tree_of(trees, g)
        root = tree.nodes[0]
        for i in range(root.first, root.first + root.degree):
            visits[g, tree.edges[i].action] = tree.edges[i].visits
        root_policy(tree, params, policy[g])
        value[g] = search_value(tree, params, policy[g])
        action[g] = root_action(tree, params)


@bare_kernel
def keep_subtree(tree: Tree, action: int, marked: NDArray[np.bool_]) -> None:
    """Make the root's child by `action` the root and drop the rest; without such a child empty the tree.

    marked  bool[K]  overwritten: the nodes that are kept

    Works in place and in one pass: nodes and edges move to lower indices in their old order, parents before children.
    """
    root = _child_of_root(tree, action)
    used = tree.used[NODES]
    tree.used[NODES] = 0
    tree.used[EDGES] = 1
    if root == UNVISITED:
        return
    marked[:used] = False
    marked[root] = True
    _move_edge(tree, tree.nodes[root].entry, 0)
    tree.nodes[root].parent = 0
    for node in range(root, used):
        if marked[node]:
            _move_node(tree, node, marked)


@bare_kernel
def _child_of_root(tree: Tree, action: int) -> int:
    """Return the root's child by `action`, or UNVISITED."""
    if tree.used[NODES] > 0:
        root = tree.nodes[0]
        for i in range(root.first, root.first + root.degree):
            if tree.edges[i].action == action:
                return int(tree.edges[i].child)
    return UNVISITED


@bare_kernel
def _move_edge(tree: Tree, source: int, target: int) -> None:
    """Move an edge, and update the `entry` of the node below it."""
    tree.edges[target] = tree.edges[source]
    child = tree.edges[target].child
    if child != UNVISITED:
        tree.nodes[child].entry = target


@bare_kernel
def _move_node(tree: Tree, source: int, marked: NDArray[np.bool_]) -> None:
    """Move a node and its edges to the next free indices, and mark its children."""
    target = tree.used[NODES]
    tree.used[NODES] = target + 1
    tree.nodes[target] = tree.nodes[source]
    node = tree.nodes[target]
    tree.edges[node.entry].child = target
    old_first, node.first = node.first, tree.used[EDGES]
    tree.used[EDGES] += max(node.degree, 0)
    for offset in range(node.degree):
        _move_edge(tree, old_first + offset, node.first + offset)
        child = tree.edges[node.first + offset].child
        if child != UNVISITED:
            tree.nodes[child].parent = target
            marked[child] = True
