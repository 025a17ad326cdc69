"""The kernel of self-play: every game continues until it waits for the network.

One call takes the evaluations of the last batch and continues with simulations, moves, forced replies and new searches,
until the game needs an evaluation that neither the rules nor the cache can give.  So every game has one position in
every batch, the batch is always full, and a pass over all games is one call without the GIL.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.games import (
    NO_LEAF,
    NO_SEARCH,
    Games,
    ply_stream,
    take_ply,
)
from reversi.games.rng import random_uniform
from reversi.games.rules import NO_ACTION, only_reply
from reversi.games.symmetry import canonical
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.record import SEARCHED, UNSEARCHED
from reversi.search.bounds import back_up_settled, is_settled
from reversi.search.cache import MISSING, Cache, find
from reversi.search.exact import decide_moves, is_decided
from reversi.search.params import SearchParams
from reversi.search.root import (
    draw_root_noise,
    has_room,
    has_root,
    keep_subtree,
    root_action,
    root_policy,
    search_value,
    set_root,
)
from reversi.search.simulation import expand, walk
from reversi.search.tree import PENDING, Tree, Trees, back_up, tree_of

_MOVE, _CAP = 0, 1
"""Draws from a ply's stream: the move, and whether its search is a full one."""


class SelfPlayParams(NamedTuple):
    """The parameters of self-play that `advance` reads, as scalars."""

    game_id: int
    seed: np.uint64
    simulations: int  # of a full search
    fast_simulations: int  # of the others
    full_share: float  # probability that a search is a full one
    temperature: float
    temperature_plies: int
    dirichlet_alpha: float
    dirichlet_weight: float
    keep_subtree: bool


@kernel
def advance(
    games: Games,
    trees: Trees,
    cache: Cache,
    action_table: NDArray[np.int32],
    search_params: SearchParams,
    params: SelfPlayParams,
    first: int,
    last: int,
    start: int,
    logits: NDArray[np.float32],
    value: NDArray[np.float32],
) -> None:
    """Give games `first` to `last` - 1 their evaluations, and play each on until it waits again or is over.

    action_table  int32[8, A]    where each action goes under each symmetry
    start         row of the game that `logits[0]` and `value[0]` belong to
    logits        float32[B, A]  policy logits at the leaves of games start to start + B - 1
    value         float32[B]     from the view of the side to move there

    Games are independent: several threads may work on different ranges at once.
    """
    scratch = np.empty(action_table.shape[1], np.float32)
    marked = np.empty(trees.nodes.shape[1], np.bool_)
    for g in range(first, last):
        state, tree = games.state[g], tree_of(trees, g)
        if state.leaf != NO_LEAF:
            node = int(state.leaf)
            state.leaf = NO_LEAF
            _undo_symmetry(logits[g - start], action_table[state.symmetry], scratch)
            _expand_and_back_up(state, tree, search_params, params, node, scratch, value[g - start])
        while not state.over and state.leaf == NO_LEAF:
            if state.budget == NO_SEARCH:
                _begin_ply(games, tree, search_params, params, g, scratch, marked)
            elif tree.nodes[0].degree != PENDING and tree.edges[0].visits > state.budget:
                _end_search(games, tree, search_params, params, g, scratch, marked)
            else:
                _simulate(state, tree, cache, action_table, search_params, params, scratch)


@bare_kernel
def _begin_ply(
    games: Games,
    tree: Tree,
    search_params: SearchParams,
    params: SelfPlayParams,
    g: int,
    scratch: NDArray[np.float32],
    marked: NDArray[np.bool_],
) -> None:
    """Play the only reply or a move that needs no search, or begin a search, full with probability `full_share`."""
    state = games.state[g]
    action = only_reply(params.game_id, state.own, state.opp)
    if action != NO_ACTION:
        _take(games, tree, params, g, action, UNSEARCHED, marked)
        return
    state.full = random_uniform(ply_stream(params.seed, state.number, state.plies), _CAP) < params.full_share
    if is_decided(params.game_id, search_params, state.own, state.opp):
        _solve_ply(games, tree, search_params, params, g, scratch, marked)
        return
    state.budget = params.simulations if state.full else params.fast_simulations
    if not (params.keep_subtree and has_root(tree, state.own, state.opp) and has_room(tree, state.budget)):
        set_root(tree, params.game_id, search_params, state.own, state.opp)
    elif state.full:
        _draw_noise(state, tree, search_params, params, scratch)


@bare_kernel
def _solve_ply(
    games: Games,
    tree: Tree,
    search_params: SearchParams,
    params: SelfPlayParams,
    g: int,
    scratch: NDArray[np.float32],
    marked: NDArray[np.bool_],
) -> None:
    """Play one of the best moves, chosen uniformly; where a full search was drawn, they are the policy target."""
    state, kind = games.state[g], UNSEARCHED
    scratch[:] = 0
    value = decide_moves(params.game_id, search_params, state.own, state.opp, scratch)
    if state.full:
        kind = SEARCHED
        _store_targets(games, g, value, scratch)
    draw = random_uniform(ply_stream(params.seed, state.number, state.plies), _MOVE)
    _take(games, tree, params, g, _sampled_action(scratch, 1.0, draw), kind, marked)


@bare_kernel
def _store_targets(games: Games, g: int, value: np.float32, policy: NDArray[np.float32]) -> None:
    """Store value and policy targets of the current ply."""
    state = games.state[g]
    state.positions += 1
    games.values[g, state.plies] = value
    scale = np.float32(255) / _largest(policy)
    for action in range(policy.shape[0]):
        games.policies[g, state.plies, action] = np.uint8(policy[action] * scale + np.float32(0.5))


@bare_kernel
def _take(
    games: Games, tree: Tree, params: SelfPlayParams, g: int, action: int, kind: int, marked: NDArray[np.bool_]
) -> None:
    """Play `action`; with `keep_subtree`, keep the subtree below it."""
    take_ply(games, params.game_id, g, action, kind)
    if params.keep_subtree:
        keep_subtree(tree, action, marked)


@bare_kernel
def _simulate(
    state: Any,
    tree: Tree,
    cache: Cache,
    action_table: NDArray[np.int32],
    search_params: SearchParams,
    params: SelfPlayParams,
    scratch: NDArray[np.float32],
) -> None:
    """Walk once and evaluate the leaf by the rules or the cache; otherwise leave it waiting for the network."""
    node = 0
    if tree.nodes[0].degree != PENDING:
        node = walk(tree, params.game_id, search_params, state.budget)
        state.simulations += 1
    own, opp = tree.nodes[node].own, tree.nodes[node].opp
    if is_settled(tree, node):
        back_up_settled(tree, search_params, node)
        return
    state.symmetry = 0
    if cache.entries.shape[0] > 0:
        own, opp, state.symmetry = canonical(params.game_id, own, opp)
        state.looked_up += 1
        row, way = find(cache, own, opp)
        if way != MISSING:
            state.found += 1
            _undo_symmetry(cache.logits[row, way], action_table[state.symmetry], scratch)
            _expand_and_back_up(state, tree, search_params, params, node, scratch, cache.entries[row, way].value)
            return
    state.asked += 1
    state.leaf = node
    state.leaf_own, state.leaf_opp = own, opp


@bare_kernel
def _undo_symmetry(logits: NDArray[np.float32], action_table: NDArray[np.int32], out: NDArray[np.float32]) -> None:
    """Write a position's logits into `out` from those of its image; `action_table` int32[A] maps to the image."""
    for action in range(out.shape[0]):
        out[action] = logits[action_table[action]]


@bare_kernel
def _expand_and_back_up(
    state: Any,
    tree: Tree,
    search_params: SearchParams,
    params: SelfPlayParams,
    node: int,
    logits: NDArray[np.float32],
    value: np.float32,
) -> None:
    """Expand a node, back its value up, and add noise at the root of a full search; `logits` are overwritten."""
    expand(tree, params.game_id, search_params, node, logits)
    back_up(tree, search_params, node, value, 0)
    if node == 0 and state.full:
        _draw_noise(state, tree, search_params, params, logits)


@bare_kernel
def _draw_noise(
    state: Any, tree: Tree, search_params: SearchParams, params: SelfPlayParams, scratch: NDArray[np.float32]
) -> None:
    """Add the root noise; Gumbel noise only in the first `temperature_plies` plies, as it decides the move played."""
    if not search_params.gumbel or state.plies < params.temperature_plies:
        start = ply_stream(params.seed, state.number, state.plies)
        draw_root_noise(tree, search_params, start, params.dirichlet_alpha, params.dirichlet_weight, scratch)


@bare_kernel
def _end_search(
    games: Games,
    tree: Tree,
    search_params: SearchParams,
    params: SelfPlayParams,
    g: int,
    scratch: NDArray[np.float32],
    marked: NDArray[np.bool_],
) -> None:
    """Play the move that the search found; a full search stores its targets."""
    state, kind = games.state[g], UNSEARCHED
    ply = state.plies
    scratch[:] = 0
    root_policy(tree, search_params, scratch)
    if state.full:
        kind = SEARCHED
        _store_targets(games, g, search_value(tree, search_params, scratch), scratch)
    if search_params.gumbel or ply >= params.temperature_plies:
        action = root_action(tree, search_params)
    else:
        draw = random_uniform(ply_stream(params.seed, state.number, ply), _MOVE)
        action = _sampled_action(scratch, params.temperature, draw)
    _take(games, tree, params, g, action, kind, marked)


@bare_kernel
def _sampled_action(policy: NDArray[np.float32], temperature: float, draw: float) -> int:
    """Return an action in proportion to policy ** (1 / temperature); `draw` is uniform in (0, 1)."""
    largest, total = _largest(policy), 0.0
    for action in range(policy.shape[0]):
        total += (policy[action] / largest) ** (1.0 / temperature)
    left, chosen = draw * total, -1
    for action in range(policy.shape[0]):
        if policy[action] > 0 and left >= 0:
            left -= (policy[action] / largest) ** (1.0 / temperature)
            chosen = action
    return chosen


@bare_kernel
def _largest(policy: NDArray[np.float32]) -> np.float32:
    largest = policy[0]
    for action in range(1, policy.shape[0]):
        largest = max(largest, policy[action])
    return np.float32(largest)
