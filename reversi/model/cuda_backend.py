"""`CudaBackend`: the network on an NVIDIA GPU; a batch is four queued operations that the CPU does not wait for.

    masks, pinned -> copied -> one CUDA graph: planes, tower, heads -> logits and outlook, copied -> pinned; an event

All of it runs on one stream, so a batch submitted while another computes follows it without the CPU, and a new version,
which is copied over the old one's tensors on that stream, never changes a pending batch.  The graphs are captured only
once.  Capturing needs fixed addresses and a few plain runs on the capturing stream first; see
https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs.

All but the streams and the graphs is also tested on a CPU.  docs/performance.md has the speed on an H100.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reversi.errors import first_line
from reversi.games.bitboard import Masks
from reversi.games.planes import PLANES, write_masks
from reversi.games.rules import Game, game_named
from reversi.model.backend import OUTLOOKS, Answers, BackendName, NoGpuError, Precision
from reversi.model.torch_network import FoldedNetwork
from reversi.model.weights import Weights

SMALLEST_RUN = 32
"""Fewer positions are padded to this many."""

LEAST_SHRUNK = 256
"""If memory is short, runs are halved down to this size: below it a GPU is no faster than a few CPU cores."""

_WARM_UP_RUNS = 3
"""Plain runs before a capture, in which cuDNN chooses its algorithms and libraries allocate their workspaces."""

FIRST_WITH_BF16 = 8
"""Compute capability of Ampere."""

log = logging.getLogger(__name__)

_DEVICE = torch.device("cuda")


class NoDeviceMemoryError(Exception):
    """The GPU has too little memory for a batch of the requested size."""


def open_cuda_backend(
    weights: Weights, *, precision: Precision | None, batch: int, slots: int, shrink: bool
) -> tuple[CudaBackend, Precision]:
    """Return a backend on the GPU, by default in bf16 if the GPU has it, and its precision.

    If memory is short and `shrink` is true, each batch is computed in two or more runs.  Raises NoGpuError.
    """
    if not torch.cuda.is_available():
        raise NoGpuError("torch finds no CUDA GPU")
    native = torch.cuda.get_device_capability()[0] >= FIRST_WITH_BF16
    if precision == "bf16" and not native:
        log.warning("this GPU has no bf16 arithmetic: precision bf16 may be slower than float32")
    chosen: Precision = precision or ("bf16" if native else "float32")
    run_positions, enough = batch, None
    while enough is None:
        try:
            enough = CudaBackend(weights, precision=chosen, batch=batch, slots=slots, run_positions=run_positions)
        except NoDeviceMemoryError as error:
            if not shrink or run_positions < 2 * LEAST_SHRUNK:
                lack = f"it has no memory for {run_positions} positions at a time; lower actors.games"
                raise NoGpuError(f"{lack} ({error})") from error
            run_positions = -(-run_positions // 2)
        except torch.AcceleratorError as error:
            raise NoGpuError(first_line(error)) from error
        torch.cuda.empty_cache()  # only here is a failed backend freed
    if run_positions < batch:
        log.warning("GPU memory is short: batches of %d positions run %d at a time", batch, run_positions)
    return enough, chosen


class CudaBackend:
    """Evaluates batches of up to `batch` in runs of up to `run_positions`, which is less if memory is short."""

    name: BackendName = "torch"
    device = "cuda"

    def __init__(self, weights: Weights, *, precision: Precision, batch: int, slots: int, run_positions: int) -> None:
        """Allocate everything and capture the largest run.  Raises NoDeviceMemoryError, having freed it all again."""
        self.batch = batch
        self.run_positions = run_positions
        self._game = game_named(weights.game)
        with _out_of_memory_named():
            self._stream = torch.cuda.Stream()
            self._uploads = torch.cuda.Stream()
            self._network = FoldedNetwork(weights, _DEVICE, precision)
            self._masks = torch.zeros(self.run_positions, PLANES, dtype=torch.int64, device=_DEVICE)
            self._logits = torch.zeros(self.run_positions, self._game.actions, device=_DEVICE)
            self._outlook = torch.zeros(self.run_positions, OUTLOOKS, device=_DEVICE)
            self._slots = [_Slot(self._game, batch) for _ in range(slots)]
            self._pool = torch.cuda.graph_pool_handle()
            self._steps: dict[int, Callable[[], None]] = {}
            self._stream.wait_stream(torch.cuda.current_stream())  # the zeros and the weights above
            self._step(self.run_positions)

    def run(self, own: Masks, opp: Masks) -> Answers:
        """Evaluate in slot 0 and wait."""
        self.submit(0, own, opp)
        return self.collect(0)

    def submit(self, slot: int, own: Masks, opp: Masks) -> None:
        """Queue the batch, run by run; the CPU waits for nothing."""
        place, count = self._slots[slot], len(own)
        write_masks(self._game.id, own, opp, place.masks_as_written)
        place.count = count
        for start in range(0, count, self.run_positions):
            rows = min(self.run_positions, count - start)
            here, there = slice(start, start + rows), slice(0, rows)
            step = self._step(_run_size(rows, self.run_positions))
            with torch.inference_mode(), torch.cuda.stream(self._stream):
                self._masks[there].copy_(place.masks[here], non_blocking=True)
                step()
                place.logits[here].copy_(self._logits[there], non_blocking=True)
                place.outlook[here].copy_(self._outlook[there], non_blocking=True)
        place.done.record(self._stream)

    def collect(self, slot: int) -> Answers:
        """Sleep until the slot's outputs have arrived."""
        place = self._slots[slot]
        place.done.synchronize()
        return place.logits.numpy()[: place.count], place.outlook.numpy()[: place.count]

    def prepare(self, weights: Weights) -> dict[str, Tensor]:
        """Upload `weights` beside those in use."""
        with torch.inference_mode(), torch.cuda.stream(self._uploads):
            parameters = self._network.placed(weights)
        self._uploads.synchronize()
        return parameters

    def take(self, prepared: dict[str, Tensor]) -> None:
        """Queue the copy of uploaded weights over those in use, after the pending batches."""
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            for name, parameter in self._network.parameters.items():
                parameter.copy_(prepared[name], non_blocking=True)
                prepared[name].record_stream(self._stream)  # its memory stays until it has been read

    def _step(self, size: int) -> Callable[[], None]:
        """Return the graph that evaluates the first `size` masks on the device, captured on first use."""
        if size not in self._steps:

            def step() -> None:
                logits, outlook = self._network(self._masks[:size])
                self._logits[:size].copy_(logits)
                self._outlook[:size].copy_(outlook)

            self._steps[size] = _captured(step, self._stream, self._pool)
        return self._steps[size]


class _Slot:
    """One batch's pinned buffers, and the event that signals its outputs."""

    def __init__(self, game: Game, batch: int) -> None:
        self.masks = _pinned((batch, PLANES), torch.int64)
        self.masks_as_written = self.masks.numpy().view(np.uint64)  # torch cannot shift unsigned integers
        self.logits = _pinned((batch, game.actions), torch.float32)
        self.outlook = _pinned((batch, OUTLOOKS), torch.float32)
        # blocking: the waiting thread sleeps; a spinning one would take a core from the search
        self.done = torch.cuda.Event(blocking=True)
        self.count = 0


def _run_size(rows: int, most: int) -> int:
    """Return the padded size of `rows`: a power of two, so that there are few graphs, or `most`."""
    return min(max(SMALLEST_RUN, 1 << (rows - 1).bit_length()), most)


def _pinned(shape: tuple[int, ...], kind: torch.dtype) -> Tensor:
    return torch.zeros(shape, dtype=kind, pin_memory=True)


def _captured(step: Callable[[], None], stream: torch.cuda.Stream, pool: Any) -> Callable[[], None]:
    """Return the replay of a CUDA graph of `step`, whose tensors keep their addresses while the graph lives."""
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode(), _tuned_convolutions():
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP_RUNS):
                step()
        # thread_local: another thread may be uploading a version
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            step()
    return graph.replay


@contextmanager
def _tuned_convolutions() -> Iterator[None]:
    """Let cuDNN time its algorithms for every new shape in the warm-up runs."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


@contextmanager
def _out_of_memory_named() -> Iterator[None]:
    """Turn the various out-of-memory errors of CUDA and its libraries into NoDeviceMemoryError."""
    try:
        yield
    except RuntimeError as error:
        if not any(mark in str(error) for mark in ("out of memory", "ALLOC_FAILED")):
            raise
        raise NoDeviceMemoryError(first_line(error)) from None
