"""Rows of `reversi bench` about the machine's limits, with which the others are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import TYPE_CHECKING

from scripts.bench.measure import Row, rates, row
from scripts.bench.setup import Settings, positions_of

if TYPE_CHECKING:
    from torch import Tensor

PRODUCTS = {
    "cpu": ((4096, 1024, 256), (1024, 1024, 1024), (2048, 2048, 2048)),
    "cuda": ((8192, 8192, 8192), (65536, 1024, 1024)),
}
"""Matrix products, [m, k] by [k, n]: which one comes closest to the peak differs between machines."""

COPIED_BYTES = 256 * 2**20
"""Size of the copy that measures memory, far larger than any cache."""

IN_CACHE = 4096
"""Positions for measuring the rules' kernels: 100 kB."""


def bench_matmul_bf16(settings: Settings) -> Iterator[Row]:
    """Matrix products by torch in bf16, the fastest of several shapes: on a CPU with AMX, the speed of AMX."""
    yield _matmul("matmul_bf16_tflop_per_s", "bfloat16", settings)


def bench_matmul_float32(settings: Settings) -> Iterator[Row]:
    """The same in float32."""
    yield _matmul("matmul_float32_tflop_per_s", "float32", settings)


def bench_memory(settings: Settings) -> Iterator[Row]:
    """A copy far larger than the caches, on one thread; bytes read and written both count."""
    import numpy as np

    source, target = np.ones((2, COPIED_BYTES), np.uint8)

    def work() -> int:
        np.copyto(target, source)
        return 2 * COPIED_BYTES

    gb_per_s = [each / 1e9 for each in rates(work, settings.repeats)]
    yield row("memory_copy_gb_per_s", gb_per_s, "GB/s", f"{COPIED_BYTES >> 20} MB, read and written, one thread")


def bench_legal_moves(settings: Settings) -> Iterator[Row]:
    """The legal moves of positions from all phases, in cache, one core."""
    import numpy as np

    from reversi.games.rules import legal_masks

    own, opp = positions_of(settings, IN_CACHE)
    out = np.empty(len(own), np.uint64)

    def work() -> int:
        for _ in range(100):
            legal_masks(settings.game.id, own, opp, out)
        return 100 * len(own)

    note = f"{settings.game.name}, {len(own)} positions in cache, one core"
    yield row("legal_moves_positions_per_s", rates(work, settings.repeats), "positions/s", note)


def bench_plies(settings: Settings) -> Iterator[Row]:
    """One ply in each of many positions, in cache, one core; a copy restores the positions."""
    import numpy as np

    from reversi.games.rules import legal_actions_mask, play_batch

    own, opp = positions_of(settings, IN_CACHE)
    legal = np.zeros((len(own), settings.game.actions), np.uint8)
    legal_actions_mask(settings.game.id, own, opp, legal)
    actions = legal.argmax(axis=1).astype(np.int32)
    own_after, opp_after = own.copy(), opp.copy()

    def work() -> int:
        for _ in range(100):
            own_after[:], opp_after[:] = own, opp
            play_batch(settings.game.id, own_after, opp_after, actions)
        return 100 * len(own)

    note = f"{settings.game.name}, {len(own)} positions in cache, one core"
    yield row("plies_per_s", rates(work, settings.repeats), "plies/s", note)


def _matmul(name: str, dtype: str, settings: Settings) -> Row:
    import torch

    torch.set_num_threads(settings.threads)
    by_shape: dict[tuple[int, int, int], list[float]] = {}
    for m, k, n in PRODUCTS[settings.device]:
        first = torch.ones((m, k), dtype=getattr(torch, dtype), device=settings.device)
        second = torch.ones((k, n), dtype=first.dtype, device=settings.device)
        by_shape[m, k, n] = rates(_product(first, second), settings.repeats)
    fastest = max(by_shape, key=lambda shape: median(by_shape[shape]))
    shape = " x ".join(map(str, fastest))
    note = f"{shape}, torch {dtype} on the {settings.device}, threads {settings.threads}"
    return row(name, [each / 1e12 for each in by_shape[fastest]], "TFLOP/s", note)


def _product(first: Tensor, second: Tensor) -> Callable[[], int]:
    """Return work that multiplies the matrices once and returns its operations."""
    import torch

    result = first @ second

    def work() -> int:
        torch.mm(first, second, out=result)
        if result.is_cuda:
            torch.cuda.synchronize()
        return 2 * first.shape[0] * first.shape[1] * second.shape[1]

    return work
