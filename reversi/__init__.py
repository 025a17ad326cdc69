"""Reversi: rules, search, models and players; everything needed to use a trained model.

Axis letters, the same in every array's comment:

    B  positions in a batch           G  games in progress
    N  squares along one side (4, 6, 8; tic-tac-toe 3)
    A  actions, N*N + 1; the last one is the pass
    C  planes the network sees        K  nodes of one tree         E  edges of one tree
    P  plies of all games of a batch, one after another

The names in `__all__` are those of docs/library.md.  Each is imported at its first use, so that `import reversi` needs
nothing but the standard library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["Position", "Solver", "analyse", "choose_move", "load_model", "make_player", "open_evaluator", "play"]

if TYPE_CHECKING:
    from reversi.games.position import Position
    from reversi.library import analyse, play
    from reversi.model.evaluate import open_evaluator
    from reversi.model.lookup import load_model
    from reversi.players import choose_move, make_player
    from reversi.solver.solver import Solver
else:  # hidden from type checkers, which would take every name for defined
    _HOMES = {
        "Position": "reversi.games.position",
        "Solver": "reversi.solver.solver",
        "analyse": "reversi.library",
        "choose_move": "reversi.players",
        "load_model": "reversi.model.lookup",
        "make_player": "reversi.players",
        "open_evaluator": "reversi.model.evaluate",
        "play": "reversi.library",
    }

    def __getattr__(name):
        """Return a public name, imported now."""
        if name not in _HOMES:
            raise AttributeError(f"module 'reversi' has no attribute {name!r}")
        globals()[name] = getattr(import_module(_HOMES[name]), name)
        return globals()[name]

    def __dir__():
        """Return the names of the module, the public ones that are not imported yet included."""
        return sorted({*globals(), *__all__})
