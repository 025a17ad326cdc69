"""An entry of a ledger."""

from __future__ import annotations

from evaluator.ledger import BatchKey, Entry

KEY = BatchKey(game="reversi6", a="greedy", b="mcts:3:64", a_model=None, b_model="ab" * 32, openings="cd" * 32, seed=7)

ENTRY = Entry(
    key=KEY,
    black=(1, 0, 1),
    white=(0, 1, 1),
    pairs=(1, 0, 0, 1, 0),
    forfeits=(1, 0),
    seconds=0.5,
)
