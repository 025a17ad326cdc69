"""A simulation: `select_leaf`, and `expand` once the network has evaluated the leaf; and both for all trees at once.

With pattern tables a kernel evaluates the leaves itself and a tree grows without a break (`grow_trees`).

A simulation descends from the root, at every node along the edge that `puct.py` or `gumbel.py` selects, to a leaf: a
node without edges.  Its expansion gives the leaf its edges, and `tree.back_up` adds its value to every edge of the
path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ONE, ZERO, lowest_square
from reversi.games.rules import NO_ACTION, action_of_square, legal_moves, only_reply, play
from reversi.kernels.exponential import exponential
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.patterns.evaluate import judge_moves, margin_of_logit, utility_of
from reversi.patterns.tables import PatternTables
from reversi.search.bounds import back_up_settled, is_closed, is_settled
from reversi.search.gumbel import interior_edge, root_edge
from reversi.search.params import SearchParams
from reversi.search.puct import puct_edge
from reversi.search.tree import (
    EDGES,
    NODES,
    PENDING,
    UNVISITED,
    Leaves,
    Tree,
    Trees,
    add_leaf,
    add_node,
    back_up,
    nodes_for,
    tree_of,
)


@bare_kernel
def select_leaf(tree: Tree, game_id: int, params: SearchParams, simulations: int) -> int:
    """Descend from the root to a node without edges, adding it if it is new, or to a settled node, and return it.

    The node is PENDING or settled (TERMINAL nodes are settled); it is new if its index is at least the
    `tree.used[NODES]` from before the call.  Below a new node with a single reply, usually a pass, it goes on: there is
    nothing to decide, so the network does not evaluate it.  Counts no visit and marks nothing as pending.

    simulations  the tree's budget, the same in every simulation of a search: Gumbel's schedule needs it
    """
    node = 0
    while tree.nodes[node].degree > 0 and not is_closed(tree, params, node):
        if not params.gumbel:
            index = puct_edge(tree, node, params)
        elif node == 0:
            index = root_edge(tree, params, simulations)
        else:
            index = interior_edge(tree, node, params)
        edge = tree.edges[index]
        if edge.child == UNVISITED:
            node = _add_child(tree, game_id, params, node, index)
            while tree.nodes[node].degree == PENDING and _may_go_on(tree, simulations):
                action = only_reply(game_id, tree.nodes[node].own, tree.nodes[node].opp)
                if action == NO_ACTION:
                    break
                node = _add_child(tree, game_id, params, node, _add_only_edge(tree, node, action))
            return node
        node = int(edge.child)
    return node


@bare_kernel
def _add_child(tree: Tree, game_id: int, params: SearchParams, parent: int, index: int) -> int:
    """Add the node below edge `index` of `parent` and return its index."""
    node = tree.nodes[parent]
    own, opp = play(game_id, node.own, node.opp, int(tree.edges[index].action))
    return add_node(tree, game_id, params, parent, index, own, opp)


@bare_kernel
def _may_go_on(tree: Tree, simulations: int) -> bool:
    """Return whether a new node may get its only edge now.

    The nodes beyond those that the remaining simulations may need must suffice by `nodes_for`, whatever the tree's
    actual capacity, so that results do not depend on it.  And no other node may be waiting for its edges, since edges
    are in the order of their nodes.
    """
    entry = tree.edges[0]
    to_come = simulations - (entry.visits - 1)
    return bool(entry.pending == 0 and tree.used[NODES] + to_come < nodes_for(simulations))


@bare_kernel
def _add_only_edge(tree: Tree, index: int, action: int) -> int:
    """Add the only edge of the PENDING node `index`, and return the edge."""
    node, edge = tree.nodes[index], int(tree.used[EDGES])
    node.first = edge
    node.degree = 1
    tree.used[EDGES] = edge + 1
    _clear_edge(tree, edge, action, np.float32(1))
    return edge


@bare_kernel
def expand(tree: Tree, game_id: int, params: SearchParams, index: int, logits: NDArray[np.float32]) -> None:
    """Add the edges of the PENDING node `index`, one per legal action or one for the pass, with softmax priors.

    logits  float32[A]  read at the legal actions only
    """
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
    if index == 0:
        for i in range(first, end):
            tree.logits[tree.edges[i].action] = tree.edges[i].prior
    _softmax(tree, first, end, params.policy_temperature)


@bare_kernel
def _add_edge(tree: Tree, index: int, action: int, logits: NDArray[np.float32]) -> int:
    """Write an unvisited edge with its logit in place of its prior, and return the next index."""
    _clear_edge(tree, index, action, logits[action])
    return index + 1


@bare_kernel
def _clear_edge(tree: Tree, index: int, action: int, prior: np.float32) -> None:
    """Write an unvisited edge."""
    edge = tree.edges[index]
    edge.prior = prior
    edge.total = 0
    edge.visits = 0
    edge.child = UNVISITED
    edge.pending = 0
    edge.action = action


@bare_kernel
def _softmax(tree: Tree, first: int, end: int, temperature: np.float32) -> None:
    """Replace the logits stored in the priors of edges [first, end) by the softmax of logits / temperature."""
    edges = tree.edges
    largest = edges[first].prior
    for i in range(first, end):
        largest = max(largest, edges[i].prior)
    scale = np.float32(0)
    for i in range(first, end):
        edges[i].prior = exponential((edges[i].prior - largest) / temperature)
        scale += edges[i].prior
    for i in range(first, end):
        edges[i].prior /= scale


@bare_kernel
def evaluate_leaf(
    tree: Tree, game_id: int, params: SearchParams, tables: PatternTables, node: int, logits: NDArray[np.float32]
) -> None:
    """Expand the PENDING `node` and back it up, its moves judged by tables; its value is that of the best one.

    logits  float32[A]  overwritten
    """
    here = tree.nodes[node]
    margin = judge_moves(tables, game_id, here.own, here.opp, logits)
    expand(tree, game_id, params, node, logits)
    value = utility_of(tables, game_id, here.own, here.opp, margin, params.margin_weight)
    if params.judged:
        for i in range(here.first, here.first + here.degree):
            edge = tree.edges[i]
            of_move = margin_of_logit(tables, here.own, here.opp, logits[edge.action])
            edge.total = utility_of(tables, game_id, here.own, here.opp, of_move, params.margin_weight)
        if here.degree == 1:  # a pass has no logit
            tree.edges[here.first].total = value
    back_up(tree, params, node, value, tree.edges[here.entry].pending)  # only a root may be waiting


@kernel
def grow_trees(
    trees: Trees, game_id: int, games: int, simulations: int, most: int, params: SearchParams, tables: PatternTables
) -> int:
    """Add up to `most` simulations to each of the first `games` trees, every leaf evaluated by tables, and return how
    many were added in all; 0 means that every tree is done.  A root that is PENDING is evaluated first.

    Cost: 2 us per simulation (8x8, 54 instances, one core of an EPYC).
    """
    logits = np.empty(trees.logits.shape[1], np.float32)
    added = 0
    for g in range(games):
        tree = tree_of(trees, g)
        if tree.nodes[0].degree == PENDING:
            evaluate_leaf(tree, game_id, params, tables, 0, logits)
        root, begun = tree.edges[0], int(tree.edges[0].visits)
        while root.visits - 1 < simulations and root.visits - begun < most and not is_closed(tree, params, 0):
            node = select_leaf(tree, game_id, params, simulations)
            if is_settled(tree, node):
                back_up_settled(tree, params, node)
            else:
                evaluate_leaf(tree, game_id, params, tables, node, logits)
        added += root.visits - begun
    return added


@bare_kernel
def select_leaves(
    trees: Trees,
    game_id: int,
    games: int,
    simulations: int,
    leaves_per_tree: int,
    params: SearchParams,
    leaves: Leaves,
) -> int:
    """Gather the next leaves of the first `games` trees and return their number; 0 means that every tree is done.

    A tree gives up to `leaves_per_tree` new nodes, fewer when its `simulations` are used up or when one ends on a node
    that is already waiting.  One that ends on a settled node is backed up at once with its exact value and the next one
    starts, so that the batch stays full.

    leaves  written from 0 on; capacity games * leaves_per_tree
    Cost: 0.14 us per simulation, 0.22 us with Gumbel (8x8, 64 games x 64 simulations, one core of a Xeon).
    """
    count = 0
    for g in range(games):
        tree = tree_of(trees, g)
        if is_closed(tree, params, 0):
            continue
        end = count + leaves_per_tree
        root = tree.edges[0]
        while count < end and root.visits - 1 + root.pending < simulations:
            known = tree.used[NODES]
            node = select_leaf(tree, game_id, params, simulations)
            if is_settled(tree, node):
                back_up_settled(tree, params, node)
            elif node >= known:
                add_leaf(tree, g, node, leaves, count)
                count += 1
            else:
                break
    return count


@bare_kernel
def expand_leaves(
    trees: Trees,
    game_id: int,
    params: SearchParams,
    leaves: Leaves,
    count: int,
    logits: NDArray[np.float32],
    value: NDArray[np.float32],
) -> None:
    """Expand the first `count` leaves and back their values up.

    logits  float32[count, A]  read at the legal actions only; their softmax gives the priors
    value   float32[count]     for the side to move at the leaf
    Cost: 0.09 us per leaf, measured as for `select_leaves`.
    """
    for b in range(count):
        tree, node = tree_of(trees, int(leaves.game[b])), int(leaves.node[b])
        expand(tree, game_id, params, node, logits[b])
        back_up(tree, params, node, value[b], 1)
