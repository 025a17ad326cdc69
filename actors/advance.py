"""The kernel of self-play: every game continues until it waits for the network.

One call takes the evaluations of the last batch and continues with simulations, moves, forced replies and new searches,
until the game needs an evaluation that neither the rules nor the cache nor pattern tables can give.  So every game has
one position in every batch, the batch is always full, and a pass over all games is one call without the GIL.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.games import NO_SEARCH, Games, ply_stream, take_ply
from reversi.games.rng import random_uniform
from reversi.games.rules import NO_ACTION, only_reply
from reversi.games.symmetry import canonical
from reversi.kernels.kernel import bare_kernel, kernel
from reversi.patterns.tables import PatternTables, has_tables
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
from reversi.search.simulation import evaluate_leaf, expand, select_leaf
from reversi.search.tree import EDGES, PENDING, Tree, Trees, back_up, tree_of

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


class Context(NamedTuple):
    """What `advance` works on: the games of an actor and what they share."""

    games: Games
    trees: Trees
    cache: Cache
    tables: PatternTables  # with them a game never waits: a call plays it to its end
    action_table: NDArray[np.int32]  # [8, A]  where each action goes under each symmetry
    search: SearchParams
    params: SelfPlayParams


class Answers(NamedTuple):
    """The network's evaluations of the leaves of B games in a row."""

    start: int  # row of the game that `logits[0]` and `value[0]` belong to
    logits: NDArray[np.float32]  # [B, A]  policy logits
    value: NDArray[np.float32]  # [B]  from the view of the side to move


class _Scratch(NamedTuple):
    """Room for one game at a time."""

    policy: NDArray[np.float32]  # [A]
    marked: NDArray[np.bool_]  # [K]  see `keep_subtree`


@kernel
def advance(context: Context, answers: Answers, first: int, last: int) -> None:
    """Give games `first` to `last` - 1 their evaluations, and play each on until it waits again or is over.

    Games are independent: several threads may work on different ranges at once.
    """
    scratch = _Scratch(
        np.empty(context.action_table.shape[1], np.float32), np.empty(context.trees.nodes.shape[1], np.bool_)
    )
    for g in range(first, last):
        state, tree = context.games.state[g], tree_of(context.trees, g)
        if state.waits:
            state.waits = False
            answer = g - answers.start
            _undo_symmetry(answers.logits[answer], context.action_table[state.symmetry], scratch.policy)
            _expand_and_back_up(context, state, tree, scratch.policy, answers.value[answer])
        while not state.over and not state.waits:
            if state.budget == NO_SEARCH:
                _begin_ply(context, tree, g, scratch)
            elif tree.nodes[0].degree != PENDING and tree.edges[0].visits > state.budget:
                _end_search(context, tree, g, scratch)
            else:
                _simulate(context, state, tree, scratch.policy)


@bare_kernel
def _begin_ply(context: Context, tree: Tree, g: int, scratch: _Scratch) -> None:
    """Play the only reply or a move that needs no search, or begin a search, full with probability `full_share`."""
    state, params = context.games.state[g], context.params
    action = only_reply(params.game_id, state.own, state.opp)
    if action != NO_ACTION:
        _take(context, tree, g, action, UNSEARCHED, scratch)
        return
    state.full = random_uniform(ply_stream(params.seed, state.number, state.plies), _CAP) < params.full_share
    if is_decided(params.game_id, context.search, state.own, state.opp):
        _solve_ply(context, tree, g, scratch)
        return
    state.budget = params.simulations if state.full else params.fast_simulations
    if not (params.keep_subtree and has_root(tree, state.own, state.opp) and has_room(tree, state.budget)):
        set_root(tree, params.game_id, context.search, state.own, state.opp)
    elif state.full:
        _draw_noise(context, state, tree, scratch.policy)


@bare_kernel
def _solve_ply(context: Context, tree: Tree, g: int, scratch: _Scratch) -> None:
    """Play one of the best moves, chosen uniformly; where a full search was drawn, they are the policy target."""
    state, params, policy, kind = context.games.state[g], context.params, scratch.policy, UNSEARCHED
    policy[:] = 0
    value = decide_moves(params.game_id, context.search, state.own, state.opp, policy)
    if state.full:
        kind = SEARCHED
        _store_targets(context.games, g, value, policy)
    draw = random_uniform(ply_stream(params.seed, state.number, state.plies), _MOVE)
    _take(context, tree, g, _sampled_action(policy, 1.0, draw), kind, scratch)


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
def _take(context: Context, tree: Tree, g: int, action: int, kind: int, scratch: _Scratch) -> None:
    """Play `action`; with `keep_subtree`, keep the subtree below it."""
    take_ply(context.games, context.params.game_id, g, action, kind)
    if context.params.keep_subtree:
        keep_subtree(tree, action, scratch.marked)


@bare_kernel
def _simulate(context: Context, state: Any, tree: Tree, logits: NDArray[np.float32]) -> None:
    """Run one simulation, its leaf evaluated by the rules, tables or the cache; otherwise it waits for the network.

    logits  float32[A]  overwritten
    """
    cache, game_id = context.cache, context.params.game_id
    node = 0
    if tree.nodes[0].degree != PENDING:
        node = select_leaf(tree, game_id, context.search, state.budget)
        state.simulations += 1
    own, opp = tree.nodes[node].own, tree.nodes[node].opp
    if is_settled(tree, node):
        back_up_settled(tree, context.search, node)
        return
    state.leaf, state.symmetry = node, 0
    if has_tables(context.tables):
        state.asked += 1
        evaluate_leaf(tree, game_id, context.search, context.tables, node, logits)
        _draw_noise_at_root(context, state, tree, logits)
        return
    if cache.entries.shape[0] > 0:
        own, opp, state.symmetry = canonical(game_id, own, opp)
        state.looked_up += 1
        row, way = find(cache, own, opp)
        if way != MISSING:
            state.found += 1
            _undo_symmetry(cache.logits[row, way], context.action_table[state.symmetry], logits)
            _expand_and_back_up(context, state, tree, logits, cache.entries[row, way].value)
            return
    state.asked += 1
    state.waits = True
    state.leaf_own, state.leaf_opp = own, opp


@bare_kernel
def _undo_symmetry(logits: NDArray[np.float32], action_table: NDArray[np.int32], out: NDArray[np.float32]) -> None:
    """Write a position's logits into `out` from those of its image; `action_table` int32[A] maps to the image."""
    for action in range(out.shape[0]):
        out[action] = logits[action_table[action]]


@bare_kernel
def _expand_and_back_up(
    context: Context, state: Any, tree: Tree, logits: NDArray[np.float32], value: np.float32
) -> None:
    """Expand the leaf, back its value up, and add noise at the root of a full search; `logits` are overwritten."""
    leaf = int(state.leaf)
    expand(tree, context.params.game_id, context.search, leaf, logits)
    back_up(tree, context.search, leaf, value, 0)
    _draw_noise_at_root(context, state, tree, logits)


@bare_kernel
def _draw_noise_at_root(context: Context, state: Any, tree: Tree, scratch: NDArray[np.float32]) -> None:
    """Add the root noise if the leaf that has just been expanded is the root of a full search."""
    if state.leaf == 0 and state.full:
        _draw_noise(context, state, tree, scratch)


@bare_kernel
def _draw_noise(context: Context, state: Any, tree: Tree, scratch: NDArray[np.float32]) -> None:
    """Add the root noise; Gumbel noise only in the first `temperature_plies` plies, as it decides the move played."""
    params = context.params
    if not context.search.gumbel or state.plies < params.temperature_plies:
        start = ply_stream(params.seed, state.number, state.plies)
        draw_root_noise(tree, context.search, start, params.dirichlet_alpha, params.dirichlet_weight, scratch)


@bare_kernel
def _end_search(context: Context, tree: Tree, g: int, scratch: _Scratch) -> None:
    """Play the move that the search chose; a full search stores its targets."""
    state, params, policy, kind = context.games.state[g], context.params, scratch.policy, UNSEARCHED
    policy[:] = 0
    root_policy(tree, context.search, policy)
    if state.full:
        kind = SEARCHED
        _store_targets(context.games, g, search_value(tree, context.search, policy), policy)
        _measure_search(state, tree, policy)
    if context.search.gumbel or state.plies >= params.temperature_plies:
        action = root_action(tree, context.search)
    else:
        draw = random_uniform(ply_stream(params.seed, state.number, state.plies), _MOVE)
        action = _sampled_action(policy, params.temperature, draw)
    _take(context, tree, g, action, kind, scratch)


@bare_kernel
def _measure_search(state: Any, tree: Tree, policy: NDArray[np.float32]) -> None:
    """Add what the search found to the counts: how sure network and search are, how far apart, how deep the tree is."""
    root = tree.nodes[0]
    first, last = int(root.first), int(root.first + root.degree)
    largest = tree.logits[tree.edges[first].action]
    for i in range(first, last):
        largest = max(largest, tree.logits[tree.edges[i].action])
    mass = 0.0
    for i in range(first, last):
        mass += math.exp(tree.logits[tree.edges[i].action] - largest)
    of_network = of_search = cross = 0.0
    for i in range(first, last):
        action = tree.edges[i].action
        log_prior = tree.logits[action] - largest - math.log(mass)
        of_network -= math.exp(log_prior) * log_prior
        if policy[action] > 0:
            of_search -= policy[action] * math.log(policy[action])
            cross -= policy[action] * log_prior
    state.searches += 1
    state.policy_entropy += of_network
    state.visit_entropy += of_search
    state.divergence += cross - of_search
    passed = 0
    for i in range(1, tree.used[EDGES]):
        passed += tree.edges[i].visits
    state.depth += passed / max(1, tree.edges[0].visits)


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
