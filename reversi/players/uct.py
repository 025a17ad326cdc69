"""Plain UCT: one tree per position, grown by random playouts, without a network.

Kocsis and Szepesvari, "Bandit based Monte-Carlo planning" (ECML 2006): every simulation takes an unvisited
child first, else the child with the highest UCB1 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002), mean +
sqrt(2 ln N / n).  A leaf is played out at random, and is expanded once it has been played out `EXPANSION` times
(Coulom, "Efficient selectivity and backup operators in Monte-Carlo tree search", CG 2006, discusses such thresholds).
A win is 1, a draw 1/2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reversi.games.bitboard import ZERO, Masks
from reversi.games.rng import random_index, random_square, scramble, stream
from reversi.games.rules import UNFINISHED, Game, action_of_square, legal_moves, list_actions, outcome, play
from reversi.kernels.kernel import kernel
from reversi.kernels.threads import Threads

EXPANSION = 5
"""Playouts from a leaf before it is expanded; the root is expanded at the start."""

EXPLORATION = 2.0
"""The factor under UCB1's square root: mean + sqrt(EXPLORATION ln N / n)."""

_CHILDREN = 16
"""Nodes reserved per expansion; positions of real games have 8 to 10 moves on average.  A leaf whose children do not
fit stays a leaf."""

_LONGEST = 160
"""Maximum plies of a path; longer than any game."""


class UctResult(NamedTuple):
    """The results of B searches, for the side to move in each position."""

    action: NDArray[np.int32]  # [B]     the most visited action; ties go to the higher score
    visits: NDArray[np.int32]  # [B, A]  playouts through each action; a single legal action is not searched and has 1
    points: NDArray[np.int32]  # [B, A]  score of these playouts: 2 for a win, 1 for a draw


class Nodes(NamedTuple):
    """The nodes of one tree; the root is node 0, the children of a node are contiguous."""

    own: Masks  # uint64[N]  discs of the side to move at the node
    opp: Masks  # uint64[N]
    first: NDArray[np.int32]  # [N]  the first child
    children: NDArray[np.int16]  # [N]  the number of children, 0 at a leaf
    action: NDArray[np.int16]  # [N]  the action that leads here
    visits: NDArray[np.int32]  # [N]
    points: NDArray[np.int32]  # [N]  half points of the side that played that action


def uct(game: Game, own: Masks, opp: Masks, playouts: int, *, seed: int, threads: Threads) -> UctResult:
    """Grow a tree of `playouts` random games (1 or more) from each of B unfinished positions.

    own, opp  uint64[B]

    A tree depends only on its position and the seed, not on the batch or the threads.
    """
    result = UctResult(np.zeros(len(own), np.int32), *np.zeros((2, len(own), game.actions), np.int32))

    def work(start: int, stop: int) -> None:
        nodes = make_nodes(playouts)
        part = slice(start, stop)
        rows = UctResult(result.action[part], result.visits[part], result.points[part])
        grow_trees(game.id, own[part], opp[part], playouts, np.uint64(seed), nodes, rows)

    threads.each(work, len(own))
    return result


def make_nodes(playouts: int) -> Nodes:
    """Allocate the nodes of a tree of `playouts`."""
    room = 64 + _CHILDREN * (1 + playouts // EXPANSION)
    own, opp = np.empty((2, room), np.uint64)
    first, visits, points = np.empty((3, room), np.int32)
    children, action = np.empty((2, room), np.int16)
    return Nodes(own, opp, first, children, action, visits, points)


@kernel
def grow_trees(
    game_id: int, own: Masks, opp: Masks, playouts: int, seed: np.uint64, nodes: Nodes, result: UctResult
) -> None:
    """Search B unfinished positions one after another.

    own, opp  uint64[B]
    nodes     scratch
    result    written; visits and points must be 0 before
    """
    for b in range(own.shape[0]):
        chance = scramble(scramble(seed ^ own[b]) ^ opp[b])
        grow_tree(game_id, own[b], opp[b], playouts, chance, nodes)
        best = nodes.first[0]
        for child in range(nodes.first[0], nodes.first[0] + nodes.children[0]):
            result.visits[b, nodes.action[child]] = nodes.visits[child]
            result.points[b, nodes.action[child]] = nodes.points[child]
            more = nodes.visits[child] - nodes.visits[best]
            if more > 0 or (more == 0 and nodes.points[child] > nodes.points[best]):
                best = child
        result.action[b] = nodes.action[best]


@kernel
def grow_tree(game_id: int, own: np.uint64, opp: np.uint64, playouts: int, seed: np.uint64, nodes: Nodes) -> None:
    """Fill `nodes` with the tree of one position.

    Playout i draws from stream 2i, an expansion before it from 2i + 1, the root's expansion from stream 2 * playouts.
    """
    path = np.empty(_LONGEST, np.int32)
    put_node(nodes, 0, own, opp, 0)
    used = expand(game_id, nodes, 0, 1, stream(seed, 2 * playouts))
    if nodes.children[0] == 1:
        nodes.visits[1] = 1
        return
    for playout in range(playouts):
        node, depth = 0, 0
        path[0] = 0
        while True:
            if nodes.children[node] == 0 and nodes.visits[node] >= EXPANSION:
                used = expand(game_id, nodes, node, used, stream(seed, 2 * playout + 1))
            if nodes.children[node] == 0:
                break
            node = best_child(nodes, node)
            depth += 1
            path[depth] = node
        margin = random_game(game_id, nodes.own[node], nodes.opp[node], stream(seed, 2 * playout))
        points = 1 - np.sign(margin)  # half points of the side that played the action to the leaf
        for step in range(depth, -1, -1):
            nodes.visits[path[step]] += 1
            nodes.points[path[step]] += points
            points = 2 - points


@kernel
def put_node(nodes: Nodes, node: int, own: np.uint64, opp: np.uint64, action: int) -> None:
    """Write an unvisited leaf at index `node`."""
    nodes.own[node], nodes.opp[node], nodes.action[node] = own, opp, action
    nodes.first[node], nodes.children[node], nodes.visits[node], nodes.points[node] = 0, 0, 0, 0


@kernel
def expand(game_id: int, nodes: Nodes, node: int, used: int, chance: np.uint64) -> int:
    """Add a leaf's children, in random order; return the number of nodes now used.

    A finished position stays a leaf, and so does a leaf whose children do not fit.
    """
    own, opp = nodes.own[node], nodes.opp[node]
    if outcome(game_id, own, opp) != UNFINISHED:
        return used
    actions = np.empty(65, np.int64)
    count = list_actions(game_id, own, opp, actions)
    if used + count > nodes.own.shape[0]:
        return used
    for index in range(count):
        other = index + random_index(chance, index, count - index)
        actions[index], actions[other] = actions[other], actions[index]
        after_own, after_opp = play(game_id, own, opp, actions[index])
        put_node(nodes, used + index, after_own, after_opp, actions[index])
    nodes.first[node], nodes.children[node] = used, count
    return used + count


@kernel
def best_child(nodes: Nodes, node: int) -> int:
    """Return the first unvisited child, else the child with the highest UCB1."""
    first, best, highest = nodes.first[node], -1, -1.0
    scale = EXPLORATION * np.log(nodes.visits[node])
    for child in range(first, first + nodes.children[node]):
        visits = nodes.visits[child]
        if visits == 0:
            return child
        bound = nodes.points[child] / (2.0 * visits) + np.sqrt(scale / visits)
        if bound > highest:
            best, highest = child, bound
    return best


@kernel
def random_game(game_id: int, own: np.uint64, opp: np.uint64, chance: np.uint64) -> int:
    """Play one position to its end at random; return own - opp for the side to move in it.

    `flat_mc.play_out` for a single game: UCT has no block of leaves to play in lockstep.
    """
    sign = 1
    ply = 0
    while True:
        legal = legal_moves(game_id, own, opp)
        if legal == ZERO:
            margin = outcome(game_id, own, opp)
            if margin != UNFINISHED:
                return sign * margin
            own, opp = opp, own
        else:
            own, opp = play(game_id, own, opp, action_of_square(game_id, random_square(legal, chance, ply)))
            ply += 1
        sign = -sign
