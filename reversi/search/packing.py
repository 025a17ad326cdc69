"""Trees as plain arrays, for checkpoints: the nodes and edges in use, game after game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.search.tree import EDGES, NODES, Trees


def pack_trees(trees: Trees) -> dict[str, NDArray[Any]]:
    """Return arrays for `unpack_trees`; nodes and edges are the raw bytes of their records."""
    nodes, edges = _used(trees)
    return {
        "tree_used": trees.used,
        "tree_nodes": _raw(trees.nodes[nodes]),
        "tree_edges": _raw(trees.edges[edges]),
        "tree_logits": trees.logits,
        "tree_gumbels": trees.gumbels,
    }


def unpack_trees(trees: Trees, arrays: dict[str, NDArray[Any]]) -> None:
    """Restore packed trees into `trees`, which must have as many games and at least the same capacity."""
    trees.used[...] = arrays["tree_used"]
    nodes, edges = _used(trees)
    trees.nodes[nodes] = arrays["tree_nodes"].view(trees.nodes.dtype)
    trees.edges[edges] = arrays["tree_edges"].view(trees.edges.dtype)
    trees.logits[...] = arrays["tree_logits"]
    trees.gumbels[...] = arrays["tree_gumbels"]


def _raw(records: NDArray[np.void]) -> NDArray[np.uint8]:
    """Return the bytes of records with zero padding between fields, which a numpy copy leaves undefined."""
    raw = np.zeros(records.shape, records.dtype)
    for name in records.dtype.names or ():
        raw[name] = records[name]
    return raw.view(np.uint8)


def _used(trees: Trees) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which nodes [G, K] and which edges [G, E] are in use."""
    nodes, edges = (
        np.arange(array.shape[1]) < trees.used[:, column, None]
        for array, column in ((trees.nodes, NODES), (trees.edges, EDGES))
    )
    return nodes, edges
