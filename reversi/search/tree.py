"""The trees of G games as arrays: their layout, and the three changes of a tree: a new node, a leaf, a visit.

Every tree has a row: K nodes and a pool of E edges.  A node is a position that has been reached; its edges, one per
legal action, are contiguous from `first`.  Nodes and edges are allocated in ascending order and never freed, so a
parent precedes its children.  Edge 0 represents the ply that led to the root, so that every node's statistics are those
of the edge into it.

Statistics of an edge are for the side that chose it: `total` is from the view of the side to move at the edge's upper
node, so the value of a node, for the side to move there, is `-total / visits` of the edge into it.

Nodes and edges are records, not one array per field: a simulation reads most fields of an edge together, and a kernel
that passes 15 arrays to another spends more time on that than on the search (0.6 against 2.4 million simulations/s,
both before `bare_kernel`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ZERO
from reversi.games.rules import UNFINISHED, Game, legal_moves, outcome
from reversi.kernels.exponential import exponential
from reversi.kernels.kernel import bare_kernel, inlined_kernel
from reversi.search.exact import (
    MAX_UTILITY,
    MIN_UTILITY,
    is_solvable,
    solved_utility,
    utility,
    wins_at_once,
    wipeout_utility,
)
from reversi.search.params import SearchParams

UNVISITED = -1
"""`child` of an edge without a node below it."""

PENDING = -1
"""`degree` of a node that waits for its evaluation."""

TERMINAL = 0
"""`degree` of a node whose value is known exactly: the game is over, is won at once, or the solver has decided it."""

NODE = np.dtype(
    [
        ("own", np.uint64),  # discs of the side to move at the node
        ("opp", np.uint64),  # discs of the other side
        ("parent", np.int32),  # node above; the root's is 0
        ("entry", np.int32),  # edge into the node; the root's is 0
        ("first", np.int32),  # first of the node's edges
        ("degree", np.int32),  # number of edges = legal actions, or PENDING or TERMINAL
        ("explored", np.float32),  # sum of the priors of the edges with a visit
        ("value", np.float32),  # of a TERMINAL node the exact value, else the value last backed up from the node itself
        ("lower", np.float32),  # lower bound for the side to move, MIN_UTILITY while nothing is proven
        ("upper", np.float32),  # upper bound for the side to move, MAX_UTILITY while nothing is proven
    ],
    align=True,
)

EDGE = np.dtype(
    [
        ("prior", np.float32),  # the priors of a node's edges sum to 1
        ("total", np.float32),  # visits times the value, for the side that chose the edge; the value by tables before
        ("visits", np.int32),  # simulations through the edge that have been backed up
        ("child", np.int32),  # node below, or UNVISITED
        ("pending", np.int16),  # simulations through the edge that wait for their evaluation
        ("action", np.uint8),
    ],
    align=True,
)

NODES, EDGES = 0, 1
"""Columns of `used`."""


class Trees(NamedTuple):
    """The arrays of all trees."""

    used: NDArray[np.int32]  # [G, 2]  nodes and edges in use; 0 nodes: no tree
    nodes: NDArray[np.void]  # NODE[G, K]
    edges: NDArray[np.void]  # EDGE[G, E]
    logits: NDArray[np.float32]  # [G, A]  the root's logits, at its legal actions
    gumbels: NDArray[np.float32]  # [G, A]  Gumbel noise added to the logits; 0 without noise


class Tree(NamedTuple):
    """One row of `Trees`, inside kernels."""

    used: NDArray[np.int32]  # [2]
    nodes: Any  # NODE[K]  Any, since numba reads a record's field as `nodes[i].own`, which numpy and mypy lack
    edges: Any  # EDGE[E]
    logits: NDArray[np.float32]  # [A]
    gumbels: NDArray[np.float32]  # [A]


class Leaves(NamedTuple):
    """Positions waiting for their evaluation, in the order of their games."""

    own: NDArray[np.uint64]  # [B]
    opp: NDArray[np.uint64]  # [B]
    game: NDArray[np.int32]  # [B]  row of the tree
    node: NDArray[np.int32]  # [B]


def make_trees(game: Game, games: int, simulations: int) -> Trees:
    """Allocate `games` trees of `simulations` each.

    A simulation adds at most one node, besides nodes with a single reply, for which `nodes_for` reserves some more; a
    node has at most N*N edges.  So no kernel needs to check the capacity.  Most of the memory is never touched: a
    position of Reversi has about ten legal moves.  Unused memory is zeroed, so that saved trees have the same bytes in
    every run.
    """
    nodes = nodes_for(simulations)
    return Trees(
        used=np.zeros((games, 2), np.int32),
        nodes=np.zeros((games, nodes), NODE),
        edges=np.zeros((games, 1 + nodes * game.squares), EDGE),
        logits=np.zeros((games, game.actions), np.float32),
        gumbels=np.zeros((games, game.actions), np.float32),
    )


def trees_bytes(game: Game, games: int, simulations: int) -> int:
    """Return the memory that `make_trees` reserves; a sixth of it is touched on 8x8."""
    return games * nodes_for(simulations) * (NODE.itemsize + game.squares * EDGE.itemsize)


@bare_kernel
def nodes_for(simulations: int) -> int:
    """Return the node capacity of a search: the root, one node per simulation, and some nodes with a single reply."""
    return 1 + simulations + simulations // 4


def make_leaves(count: int) -> Leaves:
    """Allocate `count` leaves."""
    return Leaves(
        np.empty(count, np.uint64), np.empty(count, np.uint64), np.empty(count, np.int32), np.empty(count, np.int32)
    )


@inlined_kernel
def tree_of(trees: Trees, g: int) -> Tree:
    """Return tree g, as views."""
    return Tree(trees.used[g], trees.nodes[g], trees.edges[g], trees.logits[g], trees.gumbels[g])


@bare_kernel
def add_node(
    tree: Tree, game_id: int, params: SearchParams, parent: int, edge: int, own: np.uint64, opp: np.uint64
) -> int:
    """Add the node of position (own, opp) below `edge` of `parent`, TERMINAL or PENDING, and return its index."""
    index = int(tree.used[NODES])
    tree.used[NODES] = index + 1
    tree.edges[edge].child = index
    node = tree.nodes[index]
    node.own = own
    node.opp = opp
    node.parent = parent
    node.entry = edge
    node.explored = 0
    node.lower, node.upper = MIN_UTILITY, MAX_UTILITY
    node.degree = PENDING
    margin = outcome(game_id, own, opp) if legal_moves(game_id, own, opp) == ZERO else UNFINISHED
    if margin != UNFINISHED:
        node.degree = TERMINAL
        node.value = utility(game_id, params, margin)
    elif is_solvable(game_id, params, own, opp):
        node.degree = TERMINAL
        node.value = solved_utility(game_id, params, own, opp)
    elif wins_at_once(game_id, params, own, opp):
        node.lower = wipeout_utility(game_id, params, own, opp)
        if node.lower == MAX_UTILITY:
            node.degree = TERMINAL
            node.value = node.lower
    if node.degree == TERMINAL:
        node.lower = node.upper = node.value
    return index


@bare_kernel
def add_leaf(tree: Tree, g: int, node: int, leaves: Leaves, slot: int) -> None:
    """Write `node` to `leaves[slot]` and mark the edges from the root to it as pending."""
    leaves.own[slot] = tree.nodes[node].own
    leaves.opp[slot] = tree.nodes[node].opp
    leaves.game[slot] = g
    leaves.node[slot] = node
    while node != 0:
        tree.edges[tree.nodes[node].entry].pending += 1
        node = tree.nodes[node].parent
    tree.edges[0].pending += 1


@bare_kernel
def back_up(tree: Tree, params: SearchParams, node: int, value: np.float32, pending: int) -> None:
    """Add a visit of `value` to every edge from `node` up to the root; the sign flips at every ply, passes included.

    With `params.backup_temperature` the edge into a node with visited moves gets that node's soft value instead.  With
    `params.judged` every edge gets the value of the best move below it, visited or not.

    value    for the side to move at `node`; clipped to the bounds of every node it passes
    pending  1 if `add_leaf` marked the edges, else 0
    """
    tree.nodes[node].value = value
    while True:
        here = tree.nodes[node]
        if params.judged and here.degree > 0:
            value = _best_value(tree, node)
        value = -min(max(value, here.lower), here.upper)
        edge = tree.edges[here.entry]
        edge.visits += 1
        edge.pending -= pending
        edge.total = np.float32(edge.visits) * value if params.judged else edge.total + value
        if not params.judged and params.backup_temperature > 0 and here.explored > 0:
            edge.total = -np.float32(edge.visits) * _soft_value(tree, node, params.backup_temperature)
        if node == 0:
            return
        node = tree.nodes[node].parent
        if edge.visits == 1:
            tree.nodes[node].explored += edge.prior


@bare_kernel
def _best_value(tree: Tree, node: int) -> np.float32:
    """Return the value of a node's best move, for the side to move there, where unvisited moves have values too.

    Minimax in place of means: a value by tables has no noise that a mean would take off.  Source: Lanctot et al. 2014,
    "Monte Carlo Tree Search with Heuristic Evaluations using Implicit Minimax Backups" (IEEE CIG), here without a mean.
    """
    here = tree.nodes[node]
    best = np.float32(-np.inf)
    for i in range(here.first, here.first + here.degree):
        edge = tree.edges[i]
        best = max(best, np.float32(edge.total / np.float32(max(edge.visits, 1))))
    return best


@bare_kernel
def _soft_value(tree: Tree, node: int, temperature: np.float32) -> np.float32:
    """Return the soft value of a node with a visited edge, for the side to move there.

    This is the mean of its visited edges' values, each weighted by visits * e**((value - best value) / temperature),
    and of the node's own evaluation with weight 1; a node with a single edge, which may lack one, has the edge's value.
    Coulom 2006, "Efficient Selectivity and Backup Operators in Monte-Carlo Tree Search", has operators between mean and
    maximum; the Boltzmann weights are those of Xiao et al. 2019, "Maximum Entropy Monte-Carlo Planning".
    """
    here = tree.nodes[node]
    best = np.float32(-np.inf)
    for i in range(here.first, here.first + here.degree):
        edge = tree.edges[i]
        if edge.visits > 0:
            best = max(best, np.float32(edge.total / np.float32(edge.visits)))
    weight = np.float32(here.degree > 1)
    total = weight * here.value
    for i in range(here.first, here.first + here.degree):
        edge = tree.edges[i]
        if edge.visits > 0:
            mean = np.float32(edge.total / np.float32(edge.visits))
            share = np.float32(edge.visits) * exponential((mean - best) / temperature)
            weight += share
            total += share * mean
    return min(max(np.float32(total / weight), here.lower), here.upper)
