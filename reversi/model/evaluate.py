"""`open_evaluator`: a network as one callable that evaluates batches of positions with any backend.

An `Evaluator` splits long inputs into batches for a `Backend`, or gives it whole batches to compute in the background.
Nothing heavy is imported before a backend is opened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.extras import missing
from reversi.games.bitboard import Masks
from reversi.games.position import Position
from reversi.games.rules import Game, game_named
from reversi.model import machine
from reversi.model.action_values import ActionValues
from reversi.model.backend import Backend, BackendName, NoGpuError, Precision
from reversi.model.config import LOOKED_UP, PatternConfig
from reversi.model.pattern_backend import PatternBackend
from reversi.model.probe import faster
from reversi.model.table_backend import TableBackend
from reversi.model.weights import Weights
from reversi.patterns.tables import NO_TABLES, PatternTables

BACKENDS = ("auto", "openvino", "torch")
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "bf16", "float32")

PROBE_PLIES = 6
"""Plies of the games with which answers are checked."""

Judged = tuple[NDArray[np.float32], NDArray[np.float32]]
"""(logits [B, A], utility [B])."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """Another version of an evaluator's network, ready to be taken by that evaluator."""

    version: int
    network: Any
    """The backend's own."""


class Evaluator:
    """Evaluates positions with one network: an `Evaluate` and a `Pipeline` of `reversi.search`; not thread-safe.

    A newer version of the network is swapped in with `load`, or in two steps: `prepare` does the slow part in any
    thread during evaluations, `take` swaps at once.
    """

    def __init__(
        self, backend: Backend, weights: Weights, precision: Precision, slots: int, margin_weight: float = 0.0
    ) -> None:
        self.game = game_named(weights.game)
        self.network = weights.network
        self.name = backend.name
        self.device = backend.device
        self.precision = precision
        self.version = weights.version
        self.batch = backend.batch
        self.slots = slots
        self._backend = ActionValues(backend, weights, slots) if self.network.head == "q" else backend
        self._shares = np.array([1 - margin_weight, margin_weight], np.float32)  # of value and margin in the utility

    @property
    def tables(self) -> PatternTables:
        """The tables of a pattern network, which kernels read without a call of this; else `NO_TABLES`."""
        return self._backend.tables if isinstance(self._backend, PatternBackend) else NO_TABLES

    def __call__(self, own: Masks, opp: Masks, /) -> Judged:
        """Return (logits, utility) of B >= 0 unfinished positions.

        own, opp  uint64[B]
        logits    float32[B, A]  unnormalised log-probability of every action, illegal ones included
        utility   float32[B]     for the side to move, in [-1, 1]: P(win) - P(loss), mixed with the margin by
                                 `margin_weight`

        The next call may overwrite the logits.  Up to `batch` positions are one run of the network; more are split.
        Slot 0 must not have a pending batch.
        """
        count = len(own)
        if 0 < count <= self.batch:
            return self._judged(*self._backend.run(own, opp))
        logits = np.empty((count, self.game.actions), np.float32)
        utility = np.empty(count, np.float32)
        for start in range(0, count, self.batch):
            part = slice(start, start + self.batch)
            logits[part], utility[part] = self._judged(*self._backend.run(own[part], opp[part]))
        return logits, utility

    def submit(self, slot: int, own: Masks, opp: Masks, /) -> None:
        """Start evaluating unfinished positions and return at once; the masks may change afterwards.

        own, opp  uint64[B], B from 1 to `batch`

        A batch submitted while another slot's batch computes starts by itself when that one ends.
        """
        assert 1 <= len(own) <= self.batch, f"expected 1 to {self.batch} positions, got {len(own)}"
        self._backend.submit(slot, own, opp)

    def collect(self, slot: int, /) -> Judged:
        """Wait without the GIL; the slot's (logits [B, A], utility [B]) stay valid until its next use."""
        return self._judged(*self._backend.collect(slot))

    def prepare(self, weights: Weights) -> Prepared:
        """Prepare another version of the same network for `take`; in any thread, during evaluations.

        Raises IncompatibleModelError for another game or network.
        """
        weights.check_game(self.game)
        if weights.network != self.network:
            raise IncompatibleModelError(f"expected weights of {self.network}, got {weights.network}")
        return Prepared(weights.version, self._backend.prepare(weights))

    def take(self, prepared: Prepared) -> None:
        """Use `prepared` from now on; pending batches keep the version they began with."""
        self._backend.take(prepared.network)
        self.version = prepared.version

    def load(self, weights: Weights) -> None:
        """Prepare and take `weights`, another version of the same network, in well under 0.2 s."""
        self.take(self.prepare(weights))

    def _judged(self, logits: NDArray[np.float32], outlook: NDArray[np.float32]) -> Judged:
        return logits, outlook @ self._shares


def open_evaluator(
    weights: Weights,
    *,
    backend: str = "auto",
    device: str = "cpu",
    precision: str = "auto",
    batch: int = 256,
    threads: int = 1,
    slots: int = 1,
    margin_weight: float = 0.0,
) -> Evaluator:
    """Return an Evaluator of `weights`; IncompatibleModelError if its answers are not numbers.

    backend        auto (OpenVINO on a CPU where it is installed, else torch), openvino or torch
    device         auto (a GPU where torch finds one with memory for the batch, else the CPU), cpu or cuda
    precision      auto (on a CPU what is measured to be faster, on a GPU bf16 if it has it), bf16 or float32
    batch          positions of one run of the network; the buffers have this size
    threads        CPU threads of one run
    slots          number of batches that may be pending; with 2, one computes while the caller works on the other
    margin_weight  weight of the expected margin in the utility, as in the caller's `SearchConfig`

    A backend or device that is requested by name and not available is a ConfigError, a package that is not installed a
    MissingPackageError; `auto` takes the next best and logs a line about it.  A CPU without bf16 always computes in
    float32.  Tables are looked up on the CPU, whatever the backend and the precision.
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
    if isinstance(weights.network, LOOKED_UP):
        if device == "cuda":
            what = "patterns" if isinstance(weights.network, PatternConfig) else "a table"
            raise ConfigError(f"device must be cpu (or auto) for {what}, got 'cuda'")
        looked_up = PatternBackend if isinstance(weights.network, PatternConfig) else TableBackend
        return checked(
            Evaluator(looked_up(weights, batch=batch, slots=slots), weights, "float32", slots, margin_weight)
        )
    asked: Precision | None = "bf16" if precision == "bf16" else "float32" if precision == "float32" else None
    if device == "cuda" or (device == "auto" and backend != "openvino" and machine.has_nvidia_gpu()):
        if backend == "openvino":
            raise ConfigError("backend must be torch (or auto) for device cuda, got 'openvino'")
        try:
            on_gpu, chosen = _on_gpu(weights, asked, batch, slots, shrink=device == "auto")
            return checked(Evaluator(on_gpu, weights, chosen, slots, margin_weight))
        except NoGpuError as error:
            if device == "cuda":
                raise ConfigError(f"device cuda cannot be used: {error}") from error
            log.warning("the network runs on the CPU, the GPU cannot be used: %s", error)
    on_cpu, chosen = _on_cpu(weights, _cpu_backend(backend), asked, batch, threads, slots)
    return checked(Evaluator(on_cpu, weights, chosen, slots, margin_weight))


def checked(evaluator: Evaluator) -> Evaluator:
    """Return `evaluator`; IncompatibleModelError unless its answers are finite: weights that are may be too large."""
    positions = _probe_positions(evaluator.game)
    own, opp = (np.array([getattr(each, side) for each in positions], np.uint64) for side in ("own", "opp"))
    with np.errstate(all="ignore"):
        answers = evaluator(own, opp)
    if not all(np.isfinite(each).all() for each in answers):
        raise IncompatibleModelError(
            f"expected a model whose answers are finite numbers, got others from version {evaluator.version}"
        )
    return evaluator


def _probe_positions(game: Game) -> list[Position]:
    """Return the start and the unfinished positions of two short games: always the first legal action, or the last."""
    positions = [Position.start(game)]
    for choice in (0, -1):
        position = positions[0]
        for _ in range(PROBE_PLIES):
            position = position.play(position.legal_actions()[choice])
            if position.is_over:
                break
            positions.append(position)
    return positions


def _on_gpu(
    weights: Weights, precision: Precision | None, batch: int, slots: int, *, shrink: bool
) -> tuple[Backend, Precision]:
    if not machine.installed("torch"):
        raise NoGpuError(str(missing("torch")))
    from reversi.model.cuda_backend import open_cuda_backend

    return open_cuda_backend(weights, precision=precision, batch=batch, slots=slots, shrink=shrink)


def _cpu_backend(backend: str) -> BackendName:
    """Return the backend to open on the CPU; MissingPackageError if its package is not installed."""
    if backend != "torch" and machine.installed("openvino"):
        return "openvino"
    if backend == "openvino":
        raise missing("openvino")
    if not machine.installed("torch"):
        raise missing("torch" if backend == "torch" else "openvino")
    if backend == "auto":
        log.warning("openvino is not installed: the network runs in torch, several times slower")
    return "torch"


def _on_cpu(
    weights: Weights, name: BackendName, precision: Precision | None, batch: int, threads: int, slots: int
) -> tuple[Backend, Precision]:
    """Return the backend called `name` in the requested precision, or in the faster one."""

    def make(chosen: Precision, positions: int, slots: int = 1) -> Backend:
        if name == "openvino":
            from reversi.model.openvino_backend import open_openvino_backend

            return open_openvino_backend(weights, precision=chosen, batch=positions, threads=threads, slots=slots)
        from reversi.model.torch_backend import TorchBackend

        return TorchBackend(weights, precision=chosen, batch=positions, threads=threads, slots=slots)

    if not machine.cpu_has_bf16():  # emulated it is slow, and OpenVINO refuses where there is no AVX-512
        if precision == "bf16":
            log.warning("this CPU has no bf16 arithmetic: the network runs in float32")
        precision = "float32"
    chosen = precision or _faster_precision((name, weights.game, weights.network, threads), make)
    return make(chosen, batch, slots), chosen


def _faster_precision(key: object, make: Callable[[Precision, int], Backend]) -> Precision:
    """Return bf16 if it is faster by a tenth, as with AMX or AVX512-BF16; else float32, which is more exact."""
    return faster(key, make, usual="float32", other="bf16", gain=1.1)
