"""Bounds of perfect play at a tree's nodes, propagated upwards from finished games and solved leaves.

A node's lower (upper) bound is the maximum of its moves' lower (upper) bounds; a move without a node counts as [-1, 1],
and a wipeout raises the lower bound.  A node whose bounds are equal, for example a proven win, is settled and not
searched further.  A move whose upper bound does not exceed its node's lower bound is never taken again.

Source: Cazenave and Saffidine 2010, "Score Bounded Monte-Carlo Tree Search" (Computers and Games, LNCS 6515), which
extends Winands, Bjornsson and Saito's MCTS-Solver (2008) to games with more than two results.
"""

from __future__ import annotations

import numpy as np

from reversi.kernels.kernel import bare_kernel
from reversi.search.exact import MAX_UTILITY, MIN_UTILITY
from reversi.search.params import SearchParams
from reversi.search.tree import PENDING, UNVISITED, Tree, back_up


@bare_kernel
def propagate_bounds(tree: Tree, node: int) -> None:
    """Update the bounds of the nodes above `node`, whose bounds have just changed."""
    while node != 0:
        node = tree.nodes[node].parent
        here = tree.nodes[node]
        lower, upper = here.lower, np.float32(-np.inf)
        for i in range(here.first, here.first + here.degree):
            lower, upper = max(lower, edge_lower(tree, i)), max(upper, edge_upper(tree, i))
        upper = min(upper, here.upper)  # the result of a root may be known before those of its moves
        if lower == here.lower and upper == here.upper:
            return
        here.lower, here.upper = lower, upper


@bare_kernel
def edge_lower(tree: Tree, index: int) -> np.float32:
    """Return an edge's lower bound for the side that chooses it."""
    child = tree.edges[index].child
    return MIN_UTILITY if child == UNVISITED else np.float32(-tree.nodes[child].upper)


@bare_kernel
def edge_upper(tree: Tree, index: int) -> np.float32:
    """Return an edge's upper bound for the side that chooses it."""
    child = tree.edges[index].child
    return MAX_UTILITY if child == UNVISITED else np.float32(-tree.nodes[child].lower)


@bare_kernel
def bounded_mean(tree: Tree, index: int) -> np.float32:
    """Return the mean value of a visited edge for the side that chose it, clipped to the edge's bounds."""
    edge = tree.edges[index]
    mean = np.float32(edge.total / np.float32(edge.visits))
    return min(max(mean, edge_lower(tree, index)), edge_upper(tree, index))


@bare_kernel
def is_settled(tree: Tree, node: int) -> bool:
    """Return whether a node's result of perfect play is known; that of a TERMINAL node always is."""
    here = tree.nodes[node]
    return bool(here.lower == here.upper)


@bare_kernel
def is_closed(tree: Tree, params: SearchParams, node: int) -> bool:
    """Return whether a node is searched no further: its result is known, and, with `params.every_move`, that of every
    move if it is the root.  False for a root that waits for its evaluation."""
    if not is_settled(tree, node):
        return False
    if node != 0 or not params.every_move:
        return True
    root = tree.nodes[0]
    for i in range(root.first, root.first + root.degree):
        if edge_lower(tree, i) != edge_upper(tree, i):
            return False
    return bool(root.degree != PENDING)


@bare_kernel
def is_pruned(tree: Tree, params: SearchParams, node: int, index: int) -> bool:
    """Return whether an edge of `node` is not worth a visit: it cannot be better than another one, or, at the root with
    `params.every_move`, its result is known."""
    if node == 0 and params.every_move:
        return bool(edge_lower(tree, index) == edge_upper(tree, index))
    return bool(edge_upper(tree, index) <= tree.nodes[node].lower)


@bare_kernel
def back_up_settled(tree: Tree, params: SearchParams, node: int) -> None:
    """Back up the value of a settled node; if `params.bounds` is on, update the bounds of the nodes above first."""
    if params.bounds:
        propagate_bounds(tree, node)
    back_up(tree, params, node, tree.nodes[node].lower, 0)


@bare_kernel
def is_worse(tree: Tree, params: SearchParams, index: int) -> bool:
    """Return whether an edge of the root is proven worse than another one: it is at most as good, and may be worse.

    With `params.bounds` so is an edge with a known result below one that is at least as good and may be better: a
    proven loss below every move that is not proven lost, a proven draw below a move that draws at least.  A proven draw
    is not below a move that may lose: there the mean values decide.  Without `params.bounds` a search is AlphaZero's,
    whose visits decide.
    """
    root, lower, upper = tree.nodes[0], edge_lower(tree, index), edge_upper(tree, index)
    if upper > root.lower:
        return False
    if lower < root.lower:
        return True
    if params.bounds and not is_settled(tree, 0):  # the result is known, and it is the root's lower bound
        for i in range(root.first, root.first + root.degree):
            if edge_lower(tree, i) == lower and edge_upper(tree, i) > upper:
                return True
    return False
