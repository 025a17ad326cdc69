"""The kernel of self-play: every game goes on until it waits for the network.

One call takes the answers to the positions asked about last, and plays on: simulations, moves, forced replies, new
searches, until the game needs an answer that neither the rules nor the cache can give.  So every game has one position
in every batch, the batch is always full, and a pass over all games is one call without the GIL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.games import (
    ASKED,
    FOUND,
    LOOKED_UP,
    NO_LEAF,
    NO_SEARCH,
    SEARCHED_PLIES,
    SIMULATIONS,
    Games,
    only_reply,
    ply_stream,
    take_ply,
)
from reversi.games.symmetry import canonical
from reversi.kernel import kernel
from reversi.record import SEARCHED, UNSEARCHED
from reversi.search.cache import MISSING, Cache, find
from reversi.search.chance import random_gamma, random_gumbel, random_uniform, stream
from reversi.search.root import (
    has_root,
    keep_subtree,
    mix_root_noise,
    plant_root,
    root_action,
    root_policy,
    root_value,
)
from reversi.search.rule import Rule
from reversi.search.tree import PENDING, TERMINAL, Tree, Trees, back_up, result, tree_of
from reversi.search.walk import expand, walk

_MOVE, _CAP = 0, 1
"""Draws of a ply's stream: the move, and whether its search is a full one."""

_NOISE = 1
"""Substreams of a ply from this number on: the root's noise, by action."""


class Play(NamedTuple):
    """What `advance` needs to know of the job, as scalars."""

    game_id: int
    seed: np.uint64
    simulations: int  # of a full search
    fast_simulations: int  # of the others
    full_share: float  # chance that a search is a full one
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
    rule: Rule,
    play: Play,
    first: int,
    last: int,
    start: int,
    logits: NDArray[np.float32],
    value: NDArray[np.float32],
) -> None:
    """Give games `first` to `last` - 1 the answers they wait for, and play each on until it waits again or is over.

    action_table  int32[8, A]    where each action goes under each symmetry
    start         row of the game that `logits[0]` and `value[0]` belong to
    logits        float32[B, A]  answers for `games.leaf_own`, `games.leaf_opp` of games start to start + B - 1
    value         float32[B]     from the view of the side to move there

    Games are independent: ranges may be worked on by several threads at once.
    """
    scratch = np.empty(action_table.shape[1], np.float32)
    marked = np.empty(trees.nodes.shape[1], np.bool_)
    for g in range(first, last):
        tree = tree_of(trees, g)
        if games.leaf[g] != NO_LEAF:
            node = int(games.leaf[g])
            games.leaf[g] = NO_LEAF
            _turn_back(logits[g - start], action_table[games.symmetry[g]], scratch)
            _judge(games, tree, rule, play, g, node, scratch, value[g - start])
        while not games.over[g] and games.leaf[g] == NO_LEAF:
            if games.budget[g] == NO_SEARCH:
                _begin_ply(games, tree, rule, play, g, scratch, marked)
            elif tree.nodes[0].degree != PENDING and tree.edges[0].visits > games.budget[g]:
                _end_search(games, tree, rule, play, g, scratch, marked)
            else:
                _simulate(games, tree, cache, action_table, rule, play, g, scratch)


@kernel
def _begin_ply(
    games: Games, tree: Tree, rule: Rule, play: Play, g: int, scratch: NDArray[np.float32], marked: NDArray[np.bool_]
) -> None:
    """Play the only reply, or begin a search and draw whether it is a full one."""
    action = only_reply(play.game_id, games.own[g], games.opp[g])
    if action >= 0:
        _take(games, tree, play, g, action, UNSEARCHED, marked)
        return
    drawn = random_uniform(ply_stream(play.seed, games.number[g], games.plies[g]), _CAP)
    games.full[g] = drawn < play.full_share
    games.budget[g] = play.simulations if games.full[g] else play.fast_simulations
    if not (play.keep_subtree and has_root(tree, games.own[g], games.opp[g])):
        plant_root(tree, play.game_id, games.own[g], games.opp[g])
    elif games.full[g]:
        _draw_noise(games, tree, rule, play, g, scratch)


@kernel
def _take(games: Games, tree: Tree, play: Play, g: int, action: int, kind: int, marked: NDArray[np.bool_]) -> None:
    """Play `action` and, if asked to, keep what the tree knows of the position it leads to."""
    take_ply(games, play.game_id, g, action, kind)
    if play.keep_subtree:
        keep_subtree(tree, action, marked)


@kernel
def _simulate(
    games: Games,
    tree: Tree,
    cache: Cache,
    action_table: NDArray[np.int32],
    rule: Rule,
    play: Play,
    g: int,
    scratch: NDArray[np.float32],
) -> None:
    """Walk once, and judge where it ends by the rules or the cache; else leave that node waiting."""
    node = 0
    if tree.nodes[0].degree != PENDING:
        node = walk(tree, play.game_id, rule, games.budget[g])
        games.counts[g, SIMULATIONS] += 1
    own, opp = tree.nodes[node].own, tree.nodes[node].opp
    if tree.nodes[node].degree == TERMINAL:
        back_up(tree, node, result(play.game_id, own, opp), 0)
        return
    symmetry = 0
    if cache.keys.shape[0] > 0:
        own, opp, symmetry = canonical(play.game_id, own, opp)
        games.counts[g, LOOKED_UP] += 1
        row = find(cache, own, opp)
        if row != MISSING:
            games.counts[g, FOUND] += 1
            _turn_back(cache.logits[row], action_table[symmetry], scratch)
            _judge(games, tree, rule, play, g, node, scratch, cache.value[row])
            return
    games.counts[g, ASKED] += 1
    games.leaf[g] = node
    games.symmetry[g] = symmetry
    games.leaf_own[g], games.leaf_opp[g] = own, opp


@kernel
def _turn_back(logits: NDArray[np.float32], action_table: NDArray[np.int32], out: NDArray[np.float32]) -> None:
    """Write the logits of a position into `out`, from those of its image; `action_table` (int32[A]) leads there."""
    for action in range(out.shape[0]):
        out[action] = logits[action_table[action]]


@kernel
def _judge(
    games: Games,
    tree: Tree,
    rule: Rule,
    play: Play,
    g: int,
    node: int,
    logits: NDArray[np.float32],
    value: np.float32,
) -> None:
    """Give a node its edges, back its value up, and the root of a full search its noise."""
    expand(tree, play.game_id, node, logits)
    back_up(tree, node, value, 0)
    if node == 0 and games.full[g]:
        _draw_noise(games, tree, rule, play, g, logits)


@kernel
def _draw_noise(games: Games, tree: Tree, rule: Rule, play: Play, g: int, scratch: NDArray[np.float32]) -> None:
    """Give the root Gumbel noise in the plies that explore, or Dirichlet noise; `scratch` (float32[A]) is written."""
    start = ply_stream(play.seed, games.number[g], games.plies[g])
    root = tree.nodes[0]
    if rule.gumbel:
        if games.plies[g] < play.temperature_plies:
            for i in range(root.first, root.first + root.degree):
                action = int(tree.edges[i].action)
                tree.gumbels[action] = random_gumbel(stream(start, _NOISE + action), 0)
    elif play.dirichlet_weight > 0:
        alpha = play.dirichlet_alpha / root.degree
        for i in range(root.first, root.first + root.degree):
            action = int(tree.edges[i].action)
            scratch[action] = random_gamma(stream(start, _NOISE + action), alpha)
        mix_root_noise(tree, scratch, play.dirichlet_weight)


@kernel
def _end_search(
    games: Games, tree: Tree, rule: Rule, play: Play, g: int, scratch: NDArray[np.float32], marked: NDArray[np.bool_]
) -> None:
    """Play the move that the search found; a full search leaves its targets."""
    ply, kind = games.plies[g], UNSEARCHED
    scratch[:] = 0
    root_policy(tree, rule, scratch)
    if games.full[g]:
        kind = SEARCHED
        games.counts[g, SEARCHED_PLIES] += 1
        games.values[g, ply] = root_value(tree)
        scale = np.float32(255) / scratch.max()
        for action in range(scratch.shape[0]):
            games.policies[g, ply, action] = np.uint8(scratch[action] * scale + np.float32(0.5))
    if rule.gumbel or ply >= play.temperature_plies:
        action = root_action(tree, rule)
    else:
        draw = random_uniform(ply_stream(play.seed, games.number[g], ply), _MOVE)
        action = _drawn(scratch, play.temperature, draw)
    _take(games, tree, play, g, action, kind, marked)


@kernel
def _drawn(policy: NDArray[np.float32], temperature: float, draw: float) -> int:
    """Return an action in proportion to policy ** (1 / temperature); `draw` is uniform in (0, 1)."""
    largest, total = policy.max(), 0.0
    for action in range(policy.shape[0]):
        total += (policy[action] / largest) ** (1.0 / temperature)
    left, chosen = draw * total, -1
    for action in range(policy.shape[0]):
        if policy[action] > 0 and left >= 0:
            left -= (policy[action] / largest) ** (1.0 / temperature)
            chosen = action
    return chosen
