"""`open_evaluator`: a network that judges batches of positions, behind one callable whichever backend computes it.

An `Evaluator` cuts long inputs into batches for a `Backend`, or hands it whole batches to compute in the background.
Nothing heavy is imported before a backend is opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.games.bitboard import Masks
from reversi.games.rules import game_named
from reversi.model.backend import Answers, Backend, BackendName, Precision
from reversi.model.weights import Weights

BACKENDS = ("auto", "openvino", "torch")
DEVICES = ("cpu", "cuda")
PRECISIONS = ("auto", "bf16", "float32")

PROBE_POSITIONS = 16
"""Batch on which precisions are compared: bf16 with AMX is 4-7 times float32 there already, as it is at 256."""
PROBE_S = 0.03
"""Time given to each precision after its first call; with compiling, the choice costs 0.15 s once per process."""


@dataclass(frozen=True)
class Prepared:
    """Another version of an evaluator's network, ready to be taken by that evaluator."""

    version: int
    network: Any
    """The backend's own."""


class Evaluator:
    """Judges positions with one network: an `Evaluate` and a `Pipeline` of `reversi.search`, for one thread at a time.

    A newer version of the network is swapped in with `load`, or in two steps: `prepare` does the slow part in any
    thread while judging goes on, `take` swaps at once.
    """

    def __init__(self, backend: Backend, weights: Weights, precision: Precision, slots: int) -> None:
        self.game = game_named(weights.game)
        self.network = weights.network
        self.name = backend.name
        self.precision = precision
        self.version = weights.version
        self.batch = backend.batch
        self.slots = slots
        self._backend = backend

    def __call__(self, own: Masks, opp: Masks, /) -> Answers:
        """Return (logits, value) of B positions that are not over; B is any number from 0.

        own, opp  uint64[B]
        logits    float32[B, A]  unnormalised log-probability of every action, illegal ones included
        value     float32[B]     P(win) - P(loss) of the side to move, in [-1, 1]

        The next call may overwrite both.  Up to `batch` positions are one run of the network; more are cut.  Nothing
        may be under way in slot 0.
        """
        count = len(own)
        if 0 < count <= self.batch:
            return self._backend.run(own, opp)
        logits = np.empty((count, self.game.actions), np.float32)
        value = np.empty(count, np.float32)
        for start in range(0, count, self.batch):
            part = slice(start, start + self.batch)
            logits[part], value[part] = self._backend.run(own[part], opp[part])
        return logits, value

    def submit(self, slot: int, own: Masks, opp: Masks, /) -> None:
        """Begin to judge positions that are not over and return at once; the masks may change afterwards.

        own, opp  uint64[B], B from 1 to `batch`

        A batch that is submitted while another slot's computes starts by itself when that one ends.
        """
        assert 1 <= len(own) <= self.batch, f"expected 1 to {self.batch} positions, got {len(own)}"
        self._backend.submit(slot, own, opp)

    def collect(self, slot: int, /) -> Answers:
        """Wait, without the GIL, for the slot's batch: (logits [B, A], value [B]), the slot's until its next use."""
        return self._backend.collect(slot)

    def prepare(self, weights: Weights) -> Prepared:
        """Make another version of the same network ready for `take`; in any thread, while judging goes on.

        Raises IncompatibleModelError for another game or network.
        """
        weights.check_game(self.game)
        if weights.network != self.network:
            raise IncompatibleModelError(f"expected weights of {self.network}, got {weights.network}")
        return Prepared(weights.version, self._backend.prepare(weights))

    def take(self, prepared: Prepared) -> None:
        """Answer with `prepared` whatever is asked from now on; batches under way keep the version they began with."""
        self._backend.take(prepared.network)
        self.version = prepared.version

    def load(self, weights: Weights) -> None:
        """Prepare and take `weights`, another version of the same network, in well under 0.2 s."""
        self.take(self.prepare(weights))


def open_evaluator(
    weights: Weights,
    *,
    backend: str = "auto",
    device: str = "cpu",
    precision: str = "auto",
    batch: int,
    threads: int = 1,
    slots: int = 1,
) -> Evaluator:
    """Return an Evaluator of `weights`.

    backend    auto (OpenVINO on a CPU where it is installed, else torch), openvino or torch
    device     cpu or cuda; cuda wants torch
    precision  auto (on a CPU what is measured to be faster, on a GPU bf16), bf16 or float32
    batch      positions of one run of the network; buffers are made for it
    threads    CPU threads of one run
    slots      batches that may be under way at a time; with 2, one computes while the caller works on the other
    """
    for key, value, choices in (
        ("backend", backend, BACKENDS),
        ("device", device, DEVICES),
        ("precision", precision, PRECISIONS),
    ):
        if value not in choices:
            raise ConfigError(f"{key} must be one of {', '.join(choices)}, got {value!r}")
    for key, number in (("batch", batch), ("threads", threads), ("slots", slots)):
        if number < 1:
            raise ConfigError(f"{key} must be 1 or more, got {number}")
    name = _backend_name(backend, device)

    def make(chosen: Precision, positions: int, slots: int) -> Backend:
        if name == "openvino":
            from reversi.model.openvino_backend import OpenVinoBackend

            return OpenVinoBackend(weights, precision=chosen, batch=positions, threads=threads, slots=slots)
        from reversi.model.torch_backend import TorchBackend

        return TorchBackend(weights, precision=chosen, batch=positions, threads=threads, slots=slots, device=device)

    chosen: Precision
    if precision != "auto":
        chosen = cast(Precision, precision)
    elif device == "cuda":
        chosen = "bf16"
    else:
        chosen = _faster_precision((name, weights.game, weights.network, threads), make)
    return Evaluator(make(chosen, batch, slots), weights, chosen, slots)


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


def _faster_precision(key: object, make: Callable[[Precision, int, int], Backend]) -> Precision:
    """Return the precision that `make`'s backend is faster with on this CPU, measured once per process and `key`.

    bf16 must win by a tenth to be taken: it pays only with AMX or AVX512-BF16, and float32 is the more exact.
    """
    if key not in _chosen:
        fast, exact = (_run_s(make(precision, PROBE_POSITIONS, 1)) for precision in ("bf16", "float32"))
        _chosen[key] = "bf16" if fast < 0.9 * exact else "float32"
    return _chosen[key]


def _run_s(backend: Backend) -> float:
    """Return the seconds of the fastest run of a full batch, after one that warms up."""
    own, opp = np.full(backend.batch, 1, np.uint64), np.full(backend.batch, 2, np.uint64)
    backend.run(own, opp)
    fastest, end_s = float("inf"), time.perf_counter() + PROBE_S
    while True:
        start_s = time.perf_counter()
        backend.run(own, opp)
        now_s = time.perf_counter()
        fastest = min(fastest, now_s - start_s)
        if now_s > end_s:
            return fastest
