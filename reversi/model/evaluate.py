"""`open_evaluator`: a network that judges batches of positions, behind one callable whichever backend computes it.

An `Evaluator` writes the planes, cuts long inputs into batches and gives each to a `Backend`, which knows only planes.
It is the `Evaluate` that `reversi.search` asks for.  Nothing heavy is imported before a backend is opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.games.bitboard import Masks
from reversi.games.planes import write_planes
from reversi.games.rules import game_named
from reversi.model.weights import Weights

Answers = tuple[NDArray[np.float32], NDArray[np.float32]]
"""(logits [B, A], value [B] = P(win) - P(loss) of the side to move)."""

BackendName = Literal["openvino", "torch"]
Precision = Literal["bf16", "float32"]

BACKENDS = ("auto", "openvino", "torch")
DEVICES = ("cpu", "cuda")
PRECISIONS = ("auto", "bf16", "float32")

PROBE_POSITIONS = 16
"""Batch on which precisions are compared: bf16 with AMX is 4-7 times float32 there already, as it is at 256."""
PROBE_S = 0.03
"""Time given to each precision after its first call; with compiling, the choice costs 0.15 s once per process."""
FINE_BATCH = 32
"""Batches up to this are padded to a power of two, larger ones to a multiple of half of it (see `padded`)."""


class Backend(Protocol):
    """One network, ready to judge up to `batch` positions' planes at a time."""

    name: BackendName
    planes: NDArray[np.float32]  # [batch, 4, N, N]  written by the caller before `run`

    def run(self, count: int) -> Answers:
        """Judge the first `count` planes, 1 to batch; the next call overwrites the answers."""

    def load(self, weights: Weights) -> None:
        """Take another version of the same network."""


class Evaluator:
    """Judges positions with one network; `load` swaps in a newer version of it.  Used by one thread at a time."""

    def __init__(self, backend: Backend, weights: Weights, precision: Precision) -> None:
        self.game = game_named(weights.game)
        self.network = weights.network
        self.name = backend.name
        self.precision = precision
        self.version = weights.version
        self.batch = len(backend.planes)
        self._backend = backend

    def __call__(self, own: Masks, opp: Masks, /) -> Answers:
        """Return (logits, value) of B positions that are not over; B is any number from 0.

        own, opp  uint64[B]
        logits    float32[B, A]  unnormalised log-probability of every action, illegal ones included
        value     float32[B]     P(win) - P(loss) of the side to move, in [-1, 1]

        The next call may overwrite both.  Up to `batch` positions are one run of the network; more are cut.
        """
        count = len(own)
        if 0 < count <= self.batch:
            return self._run(own, opp)
        logits = np.empty((count, self.game.actions), np.float32)
        value = np.empty(count, np.float32)
        for start in range(0, count, self.batch):
            part = slice(start, start + self.batch)
            logits[part], value[part] = self._run(own[part], opp[part])
        return logits, value

    def load(self, weights: Weights) -> None:
        """Answer with `weights` from now on: another version of the same network, in well under 0.2 s."""
        weights.check_game(self.game)
        if weights.network != self.network:
            raise IncompatibleModelError(f"expected weights of {self.network}, got {weights.network}")
        self._backend.load(weights)
        self.version = weights.version

    def _run(self, own: Masks, opp: Masks) -> Answers:
        write_planes(self.game.id, own, opp, self._backend.planes)
        return self._backend.run(len(own))


def open_evaluator(
    weights: Weights,
    *,
    backend: str = "auto",
    device: str = "cpu",
    precision: str = "auto",
    batch: int,
    threads: int = 1,
) -> Evaluator:
    """Return an Evaluator of `weights`.

    backend    auto (OpenVINO on a CPU where it is installed, else torch), openvino or torch
    device     cpu or cuda; cuda wants torch
    precision  auto (on a CPU what is measured to be faster, on a GPU bf16), bf16 or float32
    batch      positions of one run of the network; buffers are made for it
    threads    CPU threads of one run
    """
    for key, value, choices in (
        ("backend", backend, BACKENDS),
        ("device", device, DEVICES),
        ("precision", precision, PRECISIONS),
    ):
        if value not in choices:
            raise ConfigError(f"{key} must be one of {', '.join(choices)}, got {value!r}")
    for key, number in (("batch", batch), ("threads", threads)):
        if number < 1:
            raise ConfigError(f"{key} must be 1 or more, got {number}")
    name = _backend_name(backend, device)

    def make(chosen: Precision, positions: int) -> Backend:
        if name == "openvino":
            from reversi.model.openvino_backend import OpenVinoBackend

            return OpenVinoBackend(weights, precision=chosen, batch=positions, threads=threads)
        from reversi.model.torch_backend import TorchBackend

        return TorchBackend(weights, precision=chosen, batch=positions, threads=threads, device=device)

    chosen: Precision
    if precision != "auto":
        chosen = cast(Precision, precision)
    elif device == "cuda":
        chosen = "bf16"
    else:
        chosen = _faster_precision((name, weights.game, weights.network, threads), make)
    return Evaluator(make(chosen, batch), weights, chosen)


def padded(count: int, batch: int) -> int:
    """Return the size that a run of `count` positions is padded to, 1 <= count <= result <= batch.

    Backends prepare themselves for every batch size they meet (OpenVINO: 5-10 ms each), so that they should meet few.
    Sizes are powers of two up to 32, then multiples of 16, or of a sixteenth of a large batch: self-play at 256 games
    asks for 244 on average, and multiples of 32 wasted 5 % of the network.
    """
    if count <= FINE_BATCH:
        size = 1 << (count - 1).bit_length()
    else:
        step = max(FINE_BATCH // 2, batch // 16)
        size = -(-count // step) * step
    return min(size, batch)


def _backend_name(backend: str, device: str) -> BackendName:
    """Return the backend to open, or raise ConfigError where this machine does not have it."""
    if device == "cuda":
        if backend == "openvino":
            raise ConfigError("backend must be torch (or auto) for device cuda, got 'openvino'")
        return "torch"
    installed = find_spec("openvino") is not None
    if backend == "openvino" and not installed:
        raise ConfigError("backend must be torch (or auto) where openvino is not installed, got 'openvino'")
    return "openvino" if installed and backend != "torch" else "torch"


_chosen: dict[object, Precision] = {}


def _faster_precision(key: object, make: Callable[[Precision, int], Backend]) -> Precision:
    """Return the precision that `make`'s backend is faster with on this CPU, measured once per process and `key`.

    bf16 must win by a tenth to be taken: it pays only with AMX or AVX512-BF16, and float32 is the more exact.
    """
    if key not in _chosen:
        fast, exact = (_run_s(make(precision, PROBE_POSITIONS)) for precision in ("bf16", "float32"))
        _chosen[key] = "bf16" if fast < 0.9 * exact else "float32"
    return _chosen[key]


def _run_s(backend: Backend) -> float:
    """Return the seconds of the fastest run of a full batch, after one that warms up."""
    backend.planes[:] = 0
    backend.run(len(backend.planes))
    fastest, end_s = float("inf"), time.perf_counter() + PROBE_S
    while True:
        start_s = time.perf_counter()
        backend.run(len(backend.planes))
        now_s = time.perf_counter()
        fastest = min(fastest, now_s - start_s)
        if now_s > end_s:
            return fastest
