"""The trainer: one step at a time, from a batch to better weights and their running average."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from learner.algorithms.algorithm import Objective
from learner.algorithms.alphazero import AlphaZero
from learner.algorithms.config import AlgorithmConfig, AlphaZeroConfig, DqnConfig, SupervisedConfig
from learner.algorithms.dqn import Dqn
from learner.algorithms.reports import Losses, losses_of
from learner.algorithms.supervised import Supervised
from learner.batches import Batch
from learner.config import NetworkLearnerConfig
from learner.cpu_pass.cpu_pass import CpuPass
from learner.cpu_pass.process_settings import keep_freed_memory, subnormals_as_zero, treat_subnormals_as_zero
from learner.replay.columns import SampleColumns
from learner.schedule import schedule
from learner.training.flat_parameters import FlatParameters
from learner.training.optimiser import Optimiser
from learner.training.transfer import Transfer
from reversi.archive import under
from reversi.errors import ConfigError, CorruptFileError, TrainingDivergedError
from reversi.games.rules import Game
from reversi.kernels.threads import Threads
from reversi.model.config import NetworkConfig, StackConfig
from reversi.model.network import DualNetwork, Outputs, build_network, calibrate, fold, unfold
from reversi.model.stack_network import StackNetwork
from reversi.model.weights import Weights

log = logging.getLogger(__name__)

Network = DualNetwork | StackNetwork

LARGEST_LOSS = 50.0
"""A loss above this, times the sum of the losses' weights where that is above 1, has diverged: an untrained network
starts at log(A) + 1.1, about 5."""

CUDA_PREFETCH = 2
"""Batches made ahead on a GPU unless `learner.prefetch` is set; on a CPU a batch takes 0.5 % of a step."""

_OPTIMISER = "optimiser"
"""Name of the array that names the optimiser of the saved moments."""

_UNCALIBRATED = "uncalibrated"
"""Name of the array that is in the state of a trainer whose norms are to be calibrated."""

CUDA_CHECK_EVERY = 16
"""Steps between two checks for divergence on a GPU; each check synchronises with it once."""


class Trainer:
    """A network, its optimiser and its exponential moving average.  Same batches, same CPU threads: same weights."""

    def __init__(
        self, game: Game, network: NetworkConfig, config: NetworkLearnerConfig, algorithm: AlgorithmConfig, seed: int
    ) -> None:
        """Changes settings of the whole process: torch's threads, and the allocator's (`keep_freed_memory`)."""
        keep_freed_memory()
        torch.manual_seed(seed)
        self.game, self.config, self.algorithm = game, config, algorithm
        self._network_config, self._seed = network, seed
        self.device = device_of(config)
        self.transfer = Transfer(self.device)
        """Copies batches to the device."""
        usual = CUDA_PREFETCH if self.device.type == "cuda" else 0
        self.ahead = usual if config.prefetch is None else config.prefetch
        self.step_count = 0
        self._calibrated = True
        """Whether the norms have statistics; after `begin_from` they get them from the first batch."""
        self._network = _network(network, game, self.device)
        self._average = self._copy(self._network)
        self.objective = _objective(game, algorithm, network, self.device)
        self._largest_loss = LARGEST_LOSS * max(1.0, _weight(algorithm))
        self._weights, self._average_weights = FlatParameters(self._network), FlatParameters(self._average)
        self._gradient = self._weights.attach_gradients()
        self._optimiser = Optimiser(self._weights, self._gradient, config)
        self._dtype = _dtype(config, self.device)
        self._divergence = torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64, device=self.device)
        """Step, loss and gradient norm of the first step that diverged; the step is -1 if none did."""
        self._check_every = CUDA_CHECK_EVERY if self.device.type == "cuda" else 1
        self._threads = Threads(config.threads, begin=_begin_thread)
        self._cpu_pass: CpuPass | None = None
        self._compiled: Callable[[Any], Tensor] | None = None
        if config.compile:
            self._compiled = torch.compile(self._losses)
        self._network.train()
        self._share_threads()
        self._stepper: ThreadPoolExecutor | None = None
        """A thread for the steps, where torch itself computes them on several threads of a CPU: OpenMP's threads belong
        to the thread that first needs them and treat subnormals as it did then."""
        if self.device.type == "cpu" and self._torch_threads > 1:
            begin = functools.partial(torch.set_num_threads, self._torch_threads)
            self._stepper = ThreadPoolExecutor(1, "steps", begin)

    def batch(self, samples: SampleColumns, rng: np.random.Generator) -> Any:
        """Return the objective's batch of `samples`, its transfer to the device started."""
        return self.transfer.send(self.objective.batch(samples, rng, self.transfer.pinned))

    def step(self, batch: Batch, progress: float) -> tuple[Tensor, Tensor]:
        """Train on one batch; return (losses f32[K], gradient norm f32[]).

        `progress`, 0 to 1, is the point in the schedule.

        Raises TrainingDivergedError if a loss or gradient is not finite or the loss exceeds `LARGEST_LOSS`; the weights
        are then those before that step.  On a GPU the error comes up to `CUDA_CHECK_EVERY` steps later, so that no step
        waits; the device itself skips the updates of the diverged step and of all later ones.
        """
        if self._stepper is None:
            return self._step(batch, progress)
        return self._stepper.submit(self._step, batch, progress).result()

    def check(self) -> None:
        """Raise TrainingDivergedError if any step so far has diverged; waits for the device."""
        step, loss, norm = self._divergence.tolist()
        if step >= 0:
            raise TrainingDivergedError(
                f"training diverged at step {step:.0f}: expected a finite loss below {self._largest_loss:g}, got "
                f"loss {loss:g} with gradient norm {norm:g}; lower learner.learning_rate"
            )

    def mean(self, steps: Sequence[tuple[Tensor, Tensor]]) -> tuple[Losses, float]:
        """Return the mean losses and gradient norm of the results of `step`; waits for the device."""
        values, norms = (torch.stack(each) for each in zip(*steps, strict=True))
        return losses_of(self.algorithm.name, values.mean(0).tolist()), float(norms.mean())

    def learning_rate(self, progress: float) -> float:
        """Return the learning rate of the next step."""
        return self.config.learning_rate * schedule(self.config, self.step_count, progress)

    def averaged(self, version: int) -> Weights:
        """Return the averaged weights for inference; raises TrainingDivergedError after a divergence."""
        self.check()
        return self.objective.played(fold(self._average, self.game, version))

    def begin_from(self, weights: Weights) -> None:
        """Begin with the weights of a model of the same game and network, before the first step.

        Optimiser, schedule and the heads that a model lacks are new.  The first batch calibrates the norms.
        """
        unfold(self._network, self.objective.trained(weights))
        self._average.load_state_dict(self._network.state_dict())
        self._calibrated = False

    def average_copy(self) -> Network:
        """Return a copy of the averaged network."""
        return self._copy(self._average)

    @torch.no_grad()
    def outputs(self, network: Network, batch: Batch) -> Any:
        """Return the outputs of `network`, such as an `average_copy`, for a batch."""
        return self._forward(network, self.transfer.receive(batch).planes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return network, average, optimiser and objective by name; raises TrainingDivergedError after a divergence."""
        self.check()
        tensors = {f"network.{name}": tensor for name, tensor in self._network.state_dict().items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self._average.state_dict().items()}
        if not self._calibrated:
            tensors[_UNCALIBRATED] = torch.ones(1)
        tensors |= {f"objective.{name}": tensor for name, tensor in self.objective.arrays().items()}
        for key, moment in self._optimiser.moments.items():
            tensors |= {f"optimiser.{name}.{key}": part for name, part in self._weights.split(moment).items()}
        optimiser = {_OPTIMISER: np.frombuffer(self.config.optimiser.encode(), np.uint8)}
        return optimiser | {name: tensor.detach().contiguous().cpu().numpy() for name, tensor in tensors.items()}

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Restore `arrays()`; CorruptFileError if the network has another shape.

        An optimiser other than the saved one starts without moments: those of another would mean nothing to it.
        """
        arrays = dict(arrays)
        self._calibrated = arrays.pop(_UNCALIBRATED, None) is None
        same = arrays.pop(_OPTIMISER).tobytes().decode() == self.config.optimiser
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        try:
            self._network.load_state_dict(under("network.", tensors))
            self._average.load_state_dict(under("average.", tensors))
            self.objective.restore(under("objective.", tensors))
        except RuntimeError as error:
            raise CorruptFileError("learner state: expected this job's network, got one of another shape") from error
        for key, moment in self._optimiser.moments.items():
            moment.zero_()
            for name, part in self._weights.split(moment).items():
                if same and (saved := tensors.get(f"optimiser.{name}.{key}")) is not None:
                    part.copy_(saved)
        if not same:
            log.warning("learner.optimiser is now %s: it begins without the moments of before", self.config.optimiser)
        self._optimiser.set_steps(step_count if same else 0)
        self.step_count = step_count

    @subnormals_as_zero()
    def _step(self, batch: Batch, progress: float) -> tuple[Tensor, Tensor]:
        self.objective.before_step(self.step_count, self._network)
        if isinstance(self._network_config, StackConfig) and self._network_config.dropout:
            seeds = np.random.SeedSequence(self._seed, spawn_key=(self.step_count,))
            torch.manual_seed(int(seeds.generate_state(1, np.uint64)[0]))  # a resumed run drops the same features
        try:
            received = self.transfer.receive(batch)
            if not self._calibrated:
                calibrate(self._network, received.planes)
                self._average.load_state_dict(self._network.state_dict())
                self._calibrated = True
            values = self._backward(received)
        except torch.OutOfMemoryError as error:
            raise ConfigError(
                f"learner.batch must fit into the memory of the GPU, got {len(batch)}: {str(error).splitlines()[0]}"
            ) from error
        norm = torch.linalg.vector_norm(self._gradient)
        self._gradient.mul_((self.config.gradient_clip / (norm + 1e-6)).clamp(max=1))
        self._optimiser.step(self.learning_rate(progress), self._note_divergence(values[0], norm))
        if self.step_count % self._check_every == 0:
            self.check()
        self.step_count += 1
        self._update_average()
        return values, norm

    def _copy(self, network: Network) -> Network:
        copy = _network(self._network_config, self.game, self.device)
        copy.load_state_dict(network.state_dict())
        return copy.eval()

    def _backward(self, batch: Batch) -> Tensor:
        """Compute the gradient; return the losses.  If compilation fails, later steps run without it."""
        if self._compiled is not None:
            try:
                return self._gradients(self._compiled, batch)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                why = " ".join(str(error).split())[:200]
                log.warning("learner.compile: training continues without torch.compile, which failed: %s", why)
                self._compiled = None
                self._share_threads()
        return self._gradients(self._cpu_losses if self._has_cpu_pass else self._losses, batch)

    def _gradients(self, loss: Callable[[Any], Tensor], batch: Batch) -> Tensor:
        self._gradient.zero_()
        values = loss(batch)
        values[0].backward()
        return values.detach()

    def _losses(self, batch: Batch) -> Tensor:
        return self.objective.losses(self._forward(self._network, batch.planes), batch)

    def _forward(self, network: Network, planes: Tensor) -> Outputs | Tensor:
        """Return the network's own forward pass, in channels-last memory and the configured precision."""
        with torch.autocast(self.device.type, self._dtype, enabled=self._dtype != torch.float32):
            planes = planes.contiguous(memory_format=torch.channels_last)
            outputs: Outputs | Tensor = self.objective.outputs(network, planes)
        return outputs

    def _cpu_losses(self, batch: Batch) -> Tensor:
        """Return the losses of a dual network by a `CpuPass`, which is faster than torch."""
        assert isinstance(self._network, DualNetwork)
        if self._cpu_pass is None or self._cpu_pass.boards != len(batch):
            self._cpu_pass = CpuPass(self._network, len(batch), self._dtype, self._threads)
        return self.objective.losses(self._cpu_pass.outputs(batch.planes), batch)

    @property
    def _has_cpu_pass(self) -> bool:
        return self.device.type == "cpu" and isinstance(self._network, DualNetwork)

    def _note_divergence(self, loss: Tensor, norm: Tensor) -> Tensor:
        """Note the first step that diverges; return f32[], 1 from then on: skip the update.

        This runs on the device and does not synchronise with it.
        """
        sound = (loss <= self._largest_loss) & norm.isfinite()  # a NaN compares as false
        first = ~sound & (self._divergence[0] < 0)
        now = torch.stack((self._divergence.new_full((), self.step_count), loss, norm))
        self._divergence = torch.where(first, now, self._divergence)
        return (self._divergence[0] >= 0).float()

    @property
    def _torch_threads(self) -> int:
        """1 beside the CPU pass's own threads, else `learner.threads`."""
        return 1 if self._has_cpu_pass and self._compiled is None else self.config.threads

    def _share_threads(self) -> None:
        """Set the number of torch's threads."""
        torch.set_num_threads(self._torch_threads)

    @torch.no_grad()
    def _update_average(self) -> None:
        """Update the moving average, running statistics included; early steps use a smaller decay."""
        decay = min(self.config.ema_decay, (1 + self.step_count) / (10 + self.step_count))
        self._average_weights.values.lerp_(self._weights.values, 1 - decay)
        if statistics := _statistics(self._network):
            torch._foreach_lerp_(_statistics(self._average), statistics, 1 - decay)


def _begin_thread() -> None:
    """Set what torch and the processor keep for each thread."""
    torch.set_num_threads(1)  # without it each thread would use OpenMP threads on all cores
    treat_subnormals_as_zero()


def device_of(config: NetworkLearnerConfig) -> torch.device:
    """Return the device to train on, or raise ConfigError if this machine does not have it."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("learner.device must be auto or cpu where torch finds no CUDA device, got 'cuda'")
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(config.device)


def _network(config: NetworkConfig, game: Game, device: torch.device) -> Network:
    torch.backends.cudnn.benchmark = True  # all batches have one size, so it pays to search for the fastest algorithms
    network: Network = build_network(config, game.size).to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def _objective(game: Game, algorithm: AlgorithmConfig, network: NetworkConfig, device: torch.device) -> Objective:
    match algorithm:
        case AlphaZeroConfig():
            return AlphaZero(game, algorithm)
        case SupervisedConfig():
            return Supervised(game, algorithm)
        case DqnConfig():
            assert isinstance(network, StackConfig), "`check_fit` ensures this"
            return Dqn(game, algorithm, network, device)
        case _:
            raise ConfigError(f"algorithm={algorithm.name} has no gradient to train a network by")


def _weight(algorithm: AlgorithmConfig) -> float:
    """Return the sum of the weights that an algorithm gives to its losses beside the first."""
    match algorithm:
        case AlphaZeroConfig():
            return algorithm.value_weight + algorithm.margin_weight + algorithm.owner_weight
        case SupervisedConfig():
            return algorithm.value_weight
        case _:
            return 0.0


def _statistics(network: Network) -> list[Tensor]:
    """Return the running statistics."""
    return [buffer for buffer in network.buffers() if buffer.is_floating_point()]


def _dtype(config: NetworkLearnerConfig, device: torch.device) -> torch.dtype:
    if config.precision == "auto":
        fast = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        return torch.bfloat16 if fast or device.type == "cuda" else torch.float32
    return torch.bfloat16 if config.precision == "bf16" else torch.float32
