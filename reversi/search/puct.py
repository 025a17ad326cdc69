"""PUCT: the choice of the edge that the next simulation takes at a node.

    score(a) = Q(a) + c_puct * P(a) * sqrt(N) / (1 + n(a))

    n(a), N  visits of the action and of the node (its own evaluation included, so that N >= 1)
    Q(a)     value of the action for the side that chooses it; while unvisited, that by tables, or first-play urgency:
             value of the node - fpu_reduction * sqrt(sum of the priors of visited actions)
    P(a)     prior

Silver et al., Science 362 (2018), supplement "Search"; first-play urgency as in KataGo
(cpp/search/searchexplorehelpers.cpp, `getFpuValueForChildrenAssumeVisited`) and Leela Chess Zero.  Virtual loss: a
simulation that waits for its evaluation counts as `virtual_loss` visits, all lost by the side that chose the edge
(Silver et al., Nature 529 (2016), "Methods").
"""

from __future__ import annotations

import numpy as np

from reversi.kernels.kernel import bare_kernel
from reversi.search.bounds import edge_lower, edge_upper, is_pruned
from reversi.search.params import SearchParams
from reversi.search.tree import Tree


@bare_kernel
def puct_edge(tree: Tree, index: int, params: SearchParams) -> int:
    """Return the edge of node `index` with the largest score; ties go to the first."""
    node = tree.nodes[index]
    entry = tree.edges[node.entry]
    urgency = -entry.total / np.float32(entry.visits) - params.fpu_reduction * np.sqrt(node.explored)
    explore = params.c_puct * np.sqrt(np.float32(entry.visits + params.virtual_loss * entry.pending))
    best, best_score = int(node.first), np.float32(-np.inf)
    for i in range(node.first, node.first + node.degree):
        if params.bounds and is_pruned(tree, params, index, i):
            continue
        edge = tree.edges[i]
        lost = params.virtual_loss * edge.pending
        n = edge.visits + lost
        score = explore * edge.prior
        if n == 0:
            score += edge.total if params.judged else urgency
        else:
            value = np.float32((edge.total - np.float32(lost)) / np.float32(n))
            if params.bounds:
                value = min(max(value, edge_lower(tree, i)), edge_upper(tree, i))
            score = score / np.float32(1 + n) + value
        if score > best_score:
            best, best_score = i, score
    return best
