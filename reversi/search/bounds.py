"""What is certain of a tree's nodes: bounds of perfect play, from finished games and solved leaves upwards.

A node's bounds are those of what the side to move there can reach: at least the best lower bound of its moves, or what
turning every disc at once is worth, at most the best upper one, where a move without a node may come to anything from
-1 to 1.  A node whose bounds meet is settled, as that of a proven win: there is nothing more to be searched below it.
A move whose upper bound is no better than what its node has for certain is never taken again.

Source: Cazenave and Saffidine 2010, "Score Bounded Monte-Carlo Tree Search" (Computers and Games, LNCS 6515), which
makes of Winands, Bjornsson and Saito's MCTS-Solver (2008) one for games with more than two results.
"""

from __future__ import annotations

import numpy as np

from reversi.kernel import bare_kernel
from reversi.search.rule import Rule
from reversi.search.tree import LEAST, MOST, UNVISITED, Tree, back_up


@bare_kernel
def settle(tree: Tree, node: int) -> None:
    """Tell the nodes above `node`, whose bounds have just changed, what is certain now."""
    while node != 0:
        node = tree.nodes[node].parent
        here = tree.nodes[node]
        lower, upper = here.lower, np.float32(-np.inf)
        for i in range(here.first, here.first + here.degree):
            lower, upper = max(lower, edge_lower(tree, i)), max(upper, edge_upper(tree, i))
        if lower == here.lower and upper == here.upper:
            return
        here.lower, here.upper = lower, upper


@bare_kernel
def edge_lower(tree: Tree, index: int) -> np.float32:
    """Return what the side that may choose an edge gets by it at least."""
    child = tree.edges[index].child
    return LEAST if child == UNVISITED else np.float32(-tree.nodes[child].upper)


@bare_kernel
def edge_upper(tree: Tree, index: int) -> np.float32:
    """Return what the side that may choose an edge gets by it at most."""
    child = tree.edges[index].child
    return MOST if child == UNVISITED else np.float32(-tree.nodes[child].lower)


@bare_kernel
def bounded_mean(tree: Tree, index: int) -> np.float32:
    """Return the mean value of a visited edge for the side that chose it, within the edge's bounds."""
    edge = tree.edges[index]
    mean = np.float32(edge.total / np.float32(edge.visits))
    return min(max(mean, edge_lower(tree, index)), edge_upper(tree, index))


@bare_kernel
def is_settled(tree: Tree, node: int) -> bool:
    """Return whether it is known what perfect play makes of a node; of a TERMINAL one it always is."""
    here = tree.nodes[node]
    return bool(here.lower == here.upper)


@bare_kernel
def back_up_settled(tree: Tree, rule: Rule, node: int) -> None:
    """Back up what a settled node is worth; if bounds are asked for, the nodes above learn what is certain first."""
    if rule.bounds:
        settle(tree, node)
    back_up(tree, node, tree.nodes[node].lower, 0)


@bare_kernel
def is_worse(tree: Tree, index: int) -> bool:
    """Return whether a root's edge is certain to be worse than another one."""
    lower = tree.nodes[0].lower
    return bool(edge_upper(tree, index) <= lower and edge_lower(tree, index) < lower)
