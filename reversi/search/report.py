"""A search's result at one root, action by action with the principal variation, for people and protocols.

Plain Python over the arrays of a tree, for one root at a time; `root.read_roots` is the kernel that reads many roots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reversi.search.exact import MIN_UTILITY
from reversi.search.tree import NODES, UNVISITED, Trees


@dataclass(frozen=True)
class ActionReport:
    """One action of a root."""

    action: int
    visits: int
    value: float | None
    """Mean of the values backed up through it, for the side to move at the root, clipped to its bounds; None without a
    visit, unless the result is known without."""
    line: tuple[int, ...]
    """The action, followed by the most visited action of each node below it."""
    certain: bool
    """Whether the bounds prove that `value` is the action's result under perfect play."""


def is_proven(trees: Trees, g: int) -> bool:
    """Return whether the result of perfect play is known at tree g's root."""
    root = trees.nodes[g, 0]
    return bool(root["lower"] == root["upper"])


def report(trees: Trees, g: int, played: int) -> list[ActionReport]:
    """Return the actions of tree g's root: `played` first, then those proven to be as good or better, by visits, those
    without a visit by their priors, and those proven to be worse.

    [] if the tree is empty: the game is over or its result is known without a search.
    """
    if trees.used[g, NODES] == 0:
        return []
    nodes, edges = trees.nodes[g], trees.edges[g]
    order = sorted(_edges_of(nodes[0]), key=lambda i: _place(edges[i]))
    reports = [_action(nodes, edges, index, played) for index in order]
    best = next((each for each in reports if each.action == played), None)
    return sorted(reports, key=lambda each: (each.action != played, _rank(each, best)))


def _place(edge: Any) -> tuple[float, float]:
    """Sorts by visits, unvisited actions by their priors."""
    visits = float(edge["visits"])
    return -visits, 0.0 if visits else -float(edge["prior"])


def _rank(report: ActionReport, best: ActionReport | None) -> tuple[int, float]:
    """Sorts actions proven to be at least as good as `best` before, and those proven to be worse after all others."""
    if not report.certain or report.value is None:
        return 1, 0.0
    if best is None or best.value is None or report.value < best.value:
        return 2, -report.value
    lost = report.value == MIN_UTILITY and not best.certain  # at worst what is played is lost too
    return (2 if lost else 0), -report.value


def _action(nodes: Any, edges: Any, index: int, played: int) -> ActionReport:
    action, visits = int(edges[index]["action"]), int(edges[index]["visits"])
    value, certain, root = None, False, nodes[0]
    if visits:
        below = nodes[edges[index]["child"]]
        lowest, highest = -float(below["upper"]), -float(below["lower"])
        value = min(max(float(edges[index]["total"]) / visits, lowest), highest) + 0.0  # not -0.0, which prints as -0
        certain = lowest == highest
    if action == played and root["lower"] == root["upper"]:  # what is played reaches the root's known result
        value, certain = float(root["lower"]), True
    return ActionReport(action, visits, value, tuple(_line(nodes, edges, index)), certain)


def _edges_of(node: Any) -> range:
    return range(node["first"], node["first"] + max(0, node["degree"]))


def _line(nodes: Any, edges: Any, index: int) -> Iterator[int]:
    """Yield the action of edge `index`, then of the most visited edge below it, and so on; ties go to the first."""
    yield int(edges[index]["action"])
    while edges[index]["child"] != UNVISITED:
        below = [each for each in _edges_of(nodes[edges[index]["child"]]) if edges[each]["visits"] > 0]
        if not below:
            return
        index = max(below, key=lambda each: edges[each]["visits"])
        yield int(edges[index]["action"])
