"""`SearchParams`: the fields of `SearchConfig` that kernels read, as scalars, and what a search is for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reversi.search.config import SearchConfig


class SearchParams(NamedTuple):
    """Scalars for kernels; all but the last two fields are those of `SearchConfig`."""

    gumbel: bool  # `method` is gumbel
    c_puct: np.float32
    fpu_reduction: np.float32
    policy_temperature: np.float32
    min_visit_share: np.float32
    backup_temperature: np.float32
    virtual_loss: int
    considered: int
    c_visit: np.float32
    c_scale: np.float32
    margin_weight: np.float32
    solve_empties: int
    bounds: bool
    wipeouts: bool
    judged: bool  # every move of a node has a value by tables from the start, and a node that of its best move
    every_move: bool  # analysis: go on after the root's result is known until that of each of its moves is


def params_of(config: SearchConfig, *, tables: bool = False, every_move: bool = False) -> SearchParams:
    """Return the kernel parameters of a config, for a search with or without `tables`; `every_move` is for analysis
    with PUCT."""
    return SearchParams(
        gumbel=config.method == "gumbel",
        c_puct=np.float32(config.c_puct),
        fpu_reduction=np.float32(config.fpu_reduction),
        policy_temperature=np.float32(config.policy_temperature),
        min_visit_share=np.float32(config.min_visit_share),
        backup_temperature=np.float32(config.backup_temperature),
        virtual_loss=config.virtual_loss,
        considered=config.considered,
        c_visit=np.float32(config.c_visit),
        c_scale=np.float32(config.c_scale),
        margin_weight=np.float32(config.margin_weight),
        solve_empties=config.solve_empties,
        bounds=config.bounds,
        wipeouts=config.wipeouts,
        judged=tables and config.method == "puct",
        every_move=every_move,
    )
