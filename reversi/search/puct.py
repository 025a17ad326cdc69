"""PUCT: where the next simulation goes, and how a leaf becomes a node with priors.

One simulation: walk from the root, at every node along the edge with the largest

    score(a) = Q(a) + c_puct * P(a) * sqrt(N) / (1 + n(a))

    n(a), N  visits of the action and of the node (its own evaluation included, so that N >= 1)
    Q(a)     mean value of the action for the side that chooses it; while unvisited, first-play urgency:
             value of the node - fpu_reduction * sqrt(sum of the priors of visited actions)
    P(a)     prior

Silver et al., Science 362 (2018), supplement "Search"; first-play urgency as in KataGo
(cpp/search/searchexplorehelpers.cpp, `getFpuValueForChildrenAssumeVisited`) and Leela Chess Zero.  Virtual loss: a
simulation that waits for its evaluation counts as `virtual_loss` visits, all lost by the side that chose the edge
(Silver et al., Nature 529 (2016), "Methods").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, lowest_square
from reversi.games.rules import action_of_square, legal_moves, play
from reversi.kernel import kernel
from reversi.search.tree import (
    EDGES,
    NODES,
    TERMINAL,
    UNVISITED,
    Leaves,
    Tree,
    Trees,
    add_leaf,
    add_node,
    back_up,
    result,
    tree_of,
)

_NEGATIVE_POWERS = np.ldexp(np.float32(1), -np.arange(127))  # float32[127]  2**-i


@kernel
def select_leaves(
    trees: Trees,
    game_id: int,
    games: int,
    simulations: int,
    leaves_per_tree: int,
    c_puct: float,
    fpu_reduction: float,
    virtual_loss: int,
    leaves: Leaves,
) -> int:
    """Gather the next leaves of the first `games` trees and return their number; 0 means that every tree is done.

    A tree gives up to `leaves_per_tree` new nodes, fewer when its `simulations` are used up or when a walk ends on a
    node that waits already.  A walk that ends on a finished game is backed up at once with its exact value and the next
    one begun, so that the batch stays full.

    leaves  written from 0 on; room for games * leaves_per_tree
    Cost: 0.18 us per simulation (8x8, 64 games x 64 simulations, one core of a Xeon).
    """
    count = 0
    for g in range(games):
        tree = tree_of(trees, g)
        if tree.nodes[0].degree == TERMINAL:
            continue
        end = count + leaves_per_tree
        root = tree.edges[0]
        while count < end and root.visits - 1 + root.pending < simulations:
            known = tree.used[NODES]
            node = _walk(tree, game_id, np.float32(c_puct), np.float32(fpu_reduction), virtual_loss)
            if tree.nodes[node].degree == TERMINAL:
                back_up(tree, node, result(game_id, tree.nodes[node].own, tree.nodes[node].opp), 0)
            elif node == known:
                add_leaf(tree, g, node, leaves, count)
                count += 1
            else:
                break
    return count


@kernel
def _walk(tree: Tree, game_id: int, c_puct: np.float32, fpu_reduction: np.float32, virtual_loss: int) -> int:
    """Walk from the root to a node without edges, made now if it is new, and return it."""
    node = 0
    while tree.nodes[node].degree > 0:
        index = _best_edge(tree, node, c_puct, fpu_reduction, virtual_loss)
        edge = tree.edges[index]
        if edge.child == UNVISITED:
            own, opp = play(game_id, tree.nodes[node].own, tree.nodes[node].opp, int(edge.action))
            return add_node(tree, game_id, node, index, own, opp)
        node = int(edge.child)
    return node


@kernel
def _best_edge(tree: Tree, index: int, c_puct: np.float32, fpu_reduction: np.float32, virtual_loss: int) -> int:
    """Return the edge of `node` with the largest score; the first of equals."""
    node = tree.nodes[index]
    entry = tree.edges[node.entry]
    urgency = -entry.total / np.float32(entry.visits) - fpu_reduction * np.sqrt(node.explored)
    explore = c_puct * np.sqrt(np.float32(entry.visits + virtual_loss * entry.pending))
    best, best_score = int(node.first), np.float32(-np.inf)
    for i in range(node.first, node.first + node.degree):
        edge = tree.edges[i]
        lost = virtual_loss * edge.pending
        n = edge.visits + lost
        score = explore * edge.prior
        if n == 0:
            score += urgency
        else:
            score = score / np.float32(1 + n) + (edge.total - np.float32(lost)) / np.float32(n)
        if score > best_score:
            best, best_score = i, score
    return best


@kernel
def expand_leaves(
    trees: Trees,
    game_id: int,
    leaves: Leaves,
    count: int,
    logits: NDArray[np.float32],
    value: NDArray[np.float32],
) -> None:
    """Turn the first `count` leaves into nodes with priors and back their values up.

    logits  float32[count, A]  read at the legal actions only, whose softmax are the priors
    value   float32[count]     from the view of the side to move at the leaf
    Cost: 0.22 us per leaf, measured as for `select_leaves`.
    """
    for b in range(count):
        tree, node = tree_of(trees, int(leaves.game[b])), int(leaves.node[b])
        _expand(tree, game_id, node, logits[b])
        back_up(tree, node, value[b], 1)


@kernel
def _expand(tree: Tree, game_id: int, index: int, logits: NDArray[np.float32]) -> None:
    """Give the node one edge per legal action, or the pass, with priors from the softmax over them."""
    node = tree.nodes[index]
    first = tree.used[EDGES]
    end = first
    moves = legal_moves(game_id, node.own, node.opp)
    if moves == ZERO:
        end = _add_edge(tree, end, logits.shape[0] - 1, logits)
    while moves != ZERO:
        end = _add_edge(tree, end, action_of_square(game_id, lowest_square(moves)), logits)
        moves &= moves - ONE
    node.first = first
    node.degree = end - first
    tree.used[EDGES] = end
    _softmax(tree, first, end)


@kernel
def _add_edge(tree: Tree, index: int, action: int, logits: NDArray[np.float32]) -> int:
    """Write an edge without visits, its logit in the place of its prior, and return the next."""
    edge = tree.edges[index]
    edge.prior = logits[action]
    edge.total = 0
    edge.visits = 0
    edge.child = UNVISITED
    edge.pending = 0
    edge.action = action
    return index + 1


@kernel
def _softmax(tree: Tree, first: int, end: int) -> None:
    """Replace the logits in the priors of edges first to end by their softmax."""
    edges = tree.edges
    largest = edges[first].prior
    for i in range(first, end):
        largest = max(largest, edges[i].prior)
    scale = np.float32(0)
    for i in range(first, end):
        edges[i].prior = _exp(edges[i].prior - largest)
        scale += edges[i].prior
    for i in range(first, end):
        edges[i].prior /= scale


@kernel
def _exp(x: np.float32) -> np.float32:
    """Return e**x for x <= 0, to 2 units in the last place; below e**-87 it stays there.

    Cephes' `expf` in plain float32 arithmetic: the same bits on every machine, which the C library does not promise and
    `reversi signature` needs, and without a call.  http://www.netlib.org/cephes
    """
    x = max(x, np.float32(-87))
    power = np.floor(x * np.float32(1.44269504) + np.float32(0.5))  # e**x = 2**power * e**rest
    rest = x - power * np.float32(0.693359375) + power * np.float32(2.12194440e-4)
    series = np.float32(1.9875691500e-4)
    series = series * rest + np.float32(1.3981999507e-3)
    series = series * rest + np.float32(8.3334519073e-3)
    series = series * rest + np.float32(4.1665795894e-2)
    series = series * rest + np.float32(1.6666665459e-1)
    series = series * rest + np.float32(5.0000001201e-1)
    return np.float32((series * rest * rest + rest + np.float32(1)) * _NEGATIVE_POWERS[int(-power)])
