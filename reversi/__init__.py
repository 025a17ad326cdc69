"""Reversi: rules, search, models and players; everything needed to use a trained model.

Axis letters, the same in every array's comment:

    B  positions in a batch           G  games in progress
    N  squares along one side (4, 6, 8; tic-tac-toe 3)
    A  actions, N*N + 1; the last one is the pass
    C  planes the network sees        K  nodes of one tree         E  edges of one tree
    P  plies of all games of a batch, one after another
"""

from __future__ import annotations

__version__ = "0.1.0"
