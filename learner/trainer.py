"""The trainer: one step at a time, from a batch to better weights and their running average."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from learner.algorithms.algorithm import Objective
from learner.algorithms.alphazero import AlphaZero
from learner.algorithms.config import AlgorithmConfig, AlphaZeroConfig, DqnConfig, SupervisedConfig
from learner.algorithms.dqn import Dqn
from learner.algorithms.losses import Losses, losses_of
from learner.algorithms.supervised import Supervised
from learner.allocator import keep_freed_memory
from learner.batches import Batch
from learner.config import LearnerConfig
from learner.flat import Flat
from learner.optimiser import Optimiser
from learner.replay.rows import Rows
from learner.schedule import schedule
from learner.strips import StripPass
from learner.transfer import Transfer
from reversi.errors import ConfigError, CorruptFileError, TrainingDivergedError
from reversi.games.rules import Game
from reversi.model.config import NetworkConfig, StackConfig
from reversi.model.network import DualNetwork, Outputs, build_network, fold
from reversi.model.stack_network import StackNetwork
from reversi.model.weights import Weights
from reversi.search.parallel import Threads

log = logging.getLogger(__name__)

Network = DualNetwork | StackNetwork

LARGEST_LOSS = 50.0
"""A loss above this, times the sum of the losses' weights where that is above 1, has exploded: an untrained network
starts at log(A) + 1.1, about 5."""

CUDA_PREFETCH = 2
"""Batches made ahead of a GPU unless `learner.prefetch` says otherwise; a CPU makes its own in 0.5 % of a step."""

_OPTIMISER = "optimiser"
"""Name of the array that says which optimiser the saved moments are of; checkpoints of before lack it."""

CUDA_LOOK_EVERY = 16
"""Steps between two looks at whether training on a GPU diverged; each look waits for the GPU once."""


class Trainer:
    """A network, its optimiser and its exponential moving average.  Same batches, same CPU threads: same weights."""

    def __init__(
        self, game: Game, network: NetworkConfig, config: LearnerConfig, algorithm: AlgorithmConfig, seed: int
    ) -> None:
        """Takes the whole process: it sets torch's threads, and keeps the memory that is freed."""
        keep_freed_memory()
        torch.manual_seed(seed)
        self.game, self.config, self.algorithm = game, config, algorithm
        self._network_config, self._seed = network, seed
        self.device = device_of(config)
        self.transfer = Transfer(self.device)
        """The way of batches to the device."""
        self.ahead = CUDA_PREFETCH if self.device.type == "cuda" else 0
        self.step_count = 0
        self.last_good = "none yet"
        """What an error names as the place to go back to."""
        self._network = _network(network, game, self.device)
        self._average = self._copy(self._network)
        self.objective = _objective(game, algorithm, network, self.device)
        self._largest_loss = LARGEST_LOSS * max(1.0, _weight(algorithm))
        self._weights, self._average_weights = Flat(self._network), Flat(self._average)
        self._gradient = self._weights.take_gradients()
        self._optimiser = Optimiser(self._weights, self._gradient, config)
        self._dtype = _dtype(config, self.device)
        self._trouble = torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64, device=self.device)
        """Step, loss and gradient norm of the first step that diverged; the step is -1 if none did."""
        self._look_every = CUDA_LOOK_EVERY if self.device.type == "cuda" else 1
        # OpenMP counts for each thread that calls it: a new one would share its work out among all cores
        self._threads = Threads(config.threads, begin=lambda: torch.set_num_threads(1))
        self._strips: StripPass | None = None
        self._compiled: Callable[[Any], Tensor] | None = None
        if config.compile:
            self._compiled = torch.compile(self._losses)
        self._network.train()
        self._share_threads()

    def batch(self, samples: Rows, rng: np.random.Generator) -> Any:
        """Return the objective's batch of `samples`, on its way to the device."""
        return self.transfer.send(self.objective.batch(samples, rng, self.transfer.pinned))

    def step(self, batch: Batch, progress: float) -> tuple[Tensor, Tensor]:
        """Train on one batch; return (losses f32[K], gradient norm f32[]).

        `progress`, 0 to 1, is the place in the schedule.

        Raises TrainingDivergedError if a loss or gradient is not finite or has exploded; the network's weights are then
        those before that step.  On a GPU this is said up to `CUDA_LOOK_EVERY` steps later, so that no step waits; the
        device itself leaves out the update of the step that diverged and of all after it.
        """
        self.objective.before_step(self.step_count, self._network)
        if isinstance(self._network_config, StackConfig) and self._network_config.dropout:
            seeds = np.random.SeedSequence(self._seed, spawn_key=(self.step_count,))
            torch.manual_seed(int(seeds.generate_state(1, np.uint64)[0]))  # a resumed run leaves out the same features
        try:
            values = self._backward(self.transfer.receive(batch))
        except torch.OutOfMemoryError as error:
            raise ConfigError(
                f"learner.batch must fit into the memory of the GPU, got {len(batch)}: {str(error).splitlines()[0]}"
            ) from error
        norm = torch.linalg.vector_norm(self._gradient)
        self._gradient.mul_((self.config.gradient_clip / (norm + 1e-6)).clamp(max=1))
        self._optimiser.step(self.learning_rate(progress), self._noted(values[0], norm))
        if self.step_count % self._look_every == 0:
            self.check()
        self.step_count += 1
        self._update_average()
        return values, norm

    def check(self) -> None:
        """Raise TrainingDivergedError if a step so far has diverged; waits for the device."""
        step, loss, norm = self._trouble.tolist()
        if step >= 0:
            raise TrainingDivergedError(
                f"training diverged at step {step:.0f}: expected a finite loss below {self._largest_loss:g}, got "
                f"loss {loss:g} with gradient norm {norm:g}; last good checkpoint: {self.last_good}; resume from it "
                f"with a smaller learner.learning_rate"
            )

    def mean(self, steps: Sequence[tuple[Tensor, Tensor]]) -> tuple[Losses, float]:
        """Return the mean losses and gradient norm of what steps returned; waits for the device."""
        values, norms = (torch.stack(each) for each in zip(*steps, strict=True))
        return losses_of(self.algorithm.name, values.mean(0).tolist()), float(norms.mean())

    def learning_rate(self, progress: float) -> float:
        """Return the learning rate of the next step."""
        return self.config.learning_rate * schedule(self.config, self.step_count, progress)

    def averaged(self, version: int) -> Weights:
        """Return the averaged weights as they play; those of a training that diverged are refused."""
        self.check()
        return self.objective.played(fold(self._average, self.game, version))

    def average_copy(self) -> Network:
        """Return a copy of the averaged network, which stays as it is now."""
        return self._copy(self._average)

    @torch.no_grad()
    def outputs(self, network: Network, batch: Batch) -> Any:
        """Return what such a copy says of a batch."""
        return self._forward(network, self.transfer.receive(batch).planes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return network, average, optimiser and objective, by name; those of a training that diverged are refused."""
        self.check()
        found = {f"network.{name}": tensor for name, tensor in self._network.state_dict().items()}
        found |= {f"average.{name}": tensor for name, tensor in self._average.state_dict().items()}
        found |= {f"objective.{name}": tensor for name, tensor in self.objective.arrays().items()}
        for key, moment in self._optimiser.moments.items():
            found |= {f"optimiser.{name}.{key}": part for name, part in self._weights.split(moment).items()}
        kind = {_OPTIMISER: np.frombuffer(self.config.optimiser.encode(), np.uint8)}
        return kind | {name: tensor.detach().contiguous().cpu().numpy() for name, tensor in found.items()}

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Take back what `arrays()` gave; the network must be of the same shape.

        Another optimiser than the one that was saved begins anew: its moments would mean nothing to it.
        """
        arrays = dict(arrays)
        saved = arrays.pop(_OPTIMISER, None)
        same = saved is None or saved.tobytes().decode() == self.config.optimiser
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        try:
            self._network.load_state_dict(_under("network.", tensors))
            self._average.load_state_dict(_under("average.", tensors))
            self.objective.restore(_under("objective.", tensors))
        except RuntimeError as error:
            raise CorruptFileError("learner state: expected this job's network, got one of another shape") from error
        for key, moment in self._optimiser.moments.items():
            moment.zero_()
            for name, part in self._weights.split(moment).items():
                if same and (kept := tensors.get(f"optimiser.{name}.{key}")) is not None:
                    part.copy_(kept)
        if not same:
            log.warning("learner.optimiser is now %s: it begins without the moments of before", self.config.optimiser)
        self._optimiser.set_steps(step_count if same else 0)
        self.step_count = step_count

    def _copy(self, network: Network) -> Network:
        made = _network(self._network_config, self.game, self.device)
        made.load_state_dict(network.state_dict())
        return made.eval()

    def _backward(self, batch: Batch) -> Tensor:
        """Fill the gradient; return the losses.  What does not compile is done without, once and for all."""
        if self._compiled is not None:
            try:
                return self._gradients(self._compiled, batch)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                why = " ".join(str(error).split())[:200]
                log.warning("learner.compile: training goes on without, as torch.compile failed: %s", why)
                self._compiled = None
                self._share_threads()
        return self._gradients(self._strip_losses if self._in_strips else self._losses, batch)

    def _gradients(self, loss: Callable[[Any], Tensor], batch: Batch) -> Tensor:
        self._gradient.zero_()
        values = loss(batch)
        values[0].backward()
        return values.detach()

    def _losses(self, batch: Batch) -> Tensor:
        return self.objective.losses(self._forward(self._network, batch.planes), batch)

    def _forward(self, network: Network, planes: Tensor) -> Outputs | Tensor:
        """The network's own forward pass, in channels-last memory and the precision wanted."""
        with torch.autocast(self.device.type, self._dtype, enabled=self._dtype != torch.float32):
            outputs: Outputs | Tensor = network(planes.contiguous(memory_format=torch.channels_last))
        return outputs

    def _strip_losses(self, batch: Batch) -> Tensor:
        """The losses of a dual network, faster on a CPU."""
        assert isinstance(self._network, DualNetwork)
        if self._strips is None or self._strips.boards != len(batch):
            self._strips = StripPass(self._network, len(batch), self._dtype, self._threads)
        return self.objective.losses(self._strips.outputs(batch.planes), batch)

    @property
    def _in_strips(self) -> bool:
        return self.device.type == "cpu" and isinstance(self._network, DualNetwork)

    def _noted(self, loss: Tensor, norm: Tensor) -> Tensor:
        """Keep the first step that diverges; return f32[], 1 from then on: the update is to be left out.

        All of it happens on the device, with numbers that the host does not know yet.
        """
        sound = (loss <= self._largest_loss) & norm.isfinite()  # a NaN compares as false
        first = ~sound & (self._trouble[0] < 0)
        now = torch.stack((loss.new_full((), self.step_count), loss, norm))
        self._trouble = torch.where(first, now.double(), self._trouble)
        return (self._trouble[0] >= 0).float()

    def _share_threads(self) -> None:
        """torch's own threads are for stacks, compiled steps and what a GPU leaves to the host; strips bring others."""
        torch.set_num_threads(1 if self._in_strips and self._compiled is None else self.config.threads)

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the average towards the network, running statistics too; early steps count more than a fixed decay."""
        decay = min(self.config.ema_decay, (1 + self.step_count) / (10 + self.step_count))
        self._average_weights.values.lerp_(self._weights.values, 1 - decay)
        if statistics := _statistics(self._network):
            torch._foreach_lerp_(_statistics(self._average), statistics, 1 - decay)


def device_of(config: LearnerConfig) -> torch.device:
    """Return where to train, or raise ConfigError if this machine does not have it."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("learner.device must be auto or cpu where torch finds no CUDA device, got 'cuda'")
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(config.device)


def _network(config: NetworkConfig, game: Game, device: torch.device) -> Network:
    torch.backends.cudnn.benchmark = True  # batches are all of one size: the fastest algorithms are worth a search
    made: Network = build_network(config, game.size).to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return made


def _objective(game: Game, algorithm: AlgorithmConfig, network: NetworkConfig, device: torch.device) -> Objective:
    match algorithm:
        case AlphaZeroConfig():
            return AlphaZero(game, algorithm)
        case SupervisedConfig():
            return Supervised(game, algorithm)
        case DqnConfig():
            assert isinstance(network, StackConfig), "`check_fit` comes first"
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


def _dtype(config: LearnerConfig, device: torch.device) -> torch.dtype:
    if config.precision == "auto":
        fast = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        return torch.bfloat16 if fast or device.type == "cuda" else torch.float32
    return torch.bfloat16 if config.precision == "bf16" else torch.float32


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
