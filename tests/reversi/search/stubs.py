"""Evaluators whose answers a test writes down, positions to ask them about, and trees that grow by their answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reversi.games.position import Position
from reversi.games.rules import Game, legal_actions_mask, play_batch
from reversi.search.bounds import back_up_settled, is_settled
from reversi.search.evaluate import Evaluate
from reversi.search.params import SearchParams
from reversi.search.signature import HashEvaluator
from reversi.search.simulation import expand, select_leaf
from reversi.search.tree import PENDING, Tree, back_up, make_trees, tree_of

Answer = tuple[dict[str, float], float]
"""Priors by move, and the value for the side to move."""


class TableEvaluator:
    """Knows the answers of some positions; elsewhere priors are equal and the value is 0.  Keeps what it was asked."""

    def __init__(self, game: Game, answers: dict[Position, Answer] | None = None) -> None:
        self.game = game
        self.answers = {(p.own, p.opp): answer for p, answer in (answers or {}).items()}
        self.asked: list[list[tuple[int, int]]] = []

    def __call__(
        self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        batch = [(int(mover), int(other)) for mover, other in zip(own, opp, strict=True)]
        self.asked.append(batch)
        logits, value = np.zeros((len(batch), self.game.actions), np.float32), np.zeros(len(batch), np.float32)
        for b, masks in enumerate(batch):
            priors, value[b] = self.answers.get(masks, ({}, 0.0))
            position = Position(self.game, *masks)
            for action, move in zip(position.legal_actions(), position.legal_moves(), strict=True):
                logits[b, action] = np.log(priors[move]) if priors else 0
        return logits, value


class CountingHashEvaluator(HashEvaluator):
    """A HashEvaluator that counts its batches and positions."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.batches: list[int] = []

    def __call__(
        self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.batches.append(len(own))
        return super().__call__(own, opp)


def arrays(*positions: Position) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the positions as a batch, (own, opp)."""
    return np.array([p.own for p in positions], np.uint64), np.array([p.opp for p in positions], np.uint64)


def make_tree(game: Game, simulations: int) -> Tree:
    """Return one empty tree with room for so many simulations."""
    return tree_of(make_trees(game, 1, simulations), 0)


def grow(tree: Tree, game: Game, params: SearchParams, simulations: int, evaluate: Evaluate) -> None:
    """Let a new or kept tree grow to so many visits of its root's actions, a leaf at a time, as self-play does."""
    while tree.edges["visits"][0] <= simulations:
        node = 0 if tree.nodes["degree"][0] == PENDING else select_leaf(tree, game.id, params, simulations)
        if is_settled(tree, node):
            back_up_settled(tree, params, node)
        else:
            logits, value = evaluate(tree.nodes["own"][node : node + 1], tree.nodes["opp"][node : node + 1])
            expand(tree, game.id, params, node, logits[0])
            back_up(tree, params, node, value[0], 0)


def root_edges(tree: Tree) -> NDArray[np.void]:
    """Return the edges of the root, EDGE[degree], as a view."""
    root = tree.nodes[0]
    edges: NDArray[np.void] = tree.edges[root["first"] : root["first"] + root["degree"]]
    return edges


def random_positions(
    game: Game, count: int, seed: int, *, plies: int | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return `count` positions after random plies (`plies`, or any number), finished games among them."""
    rng = np.random.default_rng(seed)
    own, opp = np.full(count, game.start_own, np.uint64), np.full(count, game.start_opp, np.uint64)
    left = np.full(count, plies) if plies is not None else rng.integers(0, game.squares, count)
    legal = np.empty((count, game.actions), np.uint8)
    while True:
        legal_actions_mask(game.id, own, opp, legal)
        playing = np.flatnonzero(legal.any(axis=1) & (left > 0))
        if not len(playing):
            return own, opp
        left[playing] -= 1
        actions = (legal[playing] * (1 - rng.random((len(playing), game.actions)))).argmax(axis=1).astype(np.int32)
        some_own, some_opp = own[playing], opp[playing]
        play_batch(game.id, some_own, some_opp, actions)
        own[playing], opp[playing] = some_own, some_opp
