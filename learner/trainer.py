"""The trainer: one step at a time, from a batch to better weights and their running average."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from learner.algorithms.alphazero import LOSS_NAMES, Losses, losses
from learner.algorithms.config import AlphaZeroConfig
from learner.allocator import keep_freed_memory
from learner.batches import TrainingBatch
from learner.config import LearnerConfig
from learner.strips import training_outputs
from reversi.errors import ConfigError, CorruptFileError, TrainingDivergedError
from reversi.games.rules import Game
from reversi.model.config import NetworkConfig
from reversi.model.network import DualNetwork, Outputs, fold
from reversi.model.weights import Weights

LARGEST_LOSS = 50.0
"""A loss above this has exploded: an untrained network starts at log(A) + 1.1, about 5."""


class Trainer:
    """A network, its optimiser and its exponential moving average.  Same batches, same device: same weights."""

    def __init__(
        self, game: Game, network: NetworkConfig, config: LearnerConfig, algorithm: AlphaZeroConfig, seed: int
    ) -> None:
        """Takes the whole process: its torch threads become `learner.threads`, and it keeps the memory it frees."""
        torch.set_num_threads(config.threads)
        keep_freed_memory()
        torch.manual_seed(seed)
        self.game, self.config, self.algorithm = game, config, algorithm
        self.step_count = 0
        self.last_good = "none yet"
        """What an error names as the place to go back to."""
        self._device = device_of(config)
        self._network = DualNetwork(network, game.size).to(self._device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._average = DualNetwork(network, game.size).to(self._device)
        self._average.load_state_dict(self._network.state_dict())
        self._optimiser = _optimiser(self._network, config)
        self._dtype = _dtype(config)
        self._network.train()

    def step(self, batch: TrainingBatch, progress: float) -> tuple[Tensor, float]:
        """Train on one batch; return (losses f32[5], gradient norm).  `progress` 0 to 1 places it in the schedule.

        Raises TrainingDivergedError if the loss or the gradient is not finite or has exploded; the weights are then
        those before the step.
        """
        values = losses(self._outputs(batch), batch, self.algorithm)
        total = float(values[0].detach())
        self._optimiser.zero_grad(set_to_none=True)
        values[0].backward()  # type: ignore[no-untyped-call]
        norm = float(nn.utils.clip_grad_norm_(self._network.parameters(), self.config.gradient_clip))
        if not math.isfinite(total) or not math.isfinite(norm) or total > LARGEST_LOSS:
            raise TrainingDivergedError(
                f"training diverged at step {self.step_count}: expected a finite loss below {LARGEST_LOSS:g}, got "
                f"loss {total:g} with gradient norm {norm:g}; last good checkpoint: {self.last_good}; resume from it "
                f"with a smaller learner.learning_rate"
            )
        for group in self._optimiser.param_groups:
            group["lr"] = self.learning_rate(progress)
        self._optimiser.step()
        self.step_count += 1
        self._update_average()
        return values.detach(), norm

    def learning_rate(self, progress: float) -> float:
        """Return the learning rate: a linear warm-up over steps times a cosine over the run's `progress`."""
        config = self.config
        warm = min(1.0, (self.step_count + 1) / (config.warmup_steps + 1))
        cosine = (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0))) / 2
        return config.learning_rate * warm * (config.final_learning_rate + (1 - config.final_learning_rate) * cosine)

    def averaged(self, version: int) -> Weights:
        """Return the averaged weights as they play."""
        return fold(self._average, self.game, version)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return network, average and optimiser, by name."""
        found = {f"network.{name}": tensor for name, tensor in self._network.state_dict().items()}
        found |= {f"average.{name}": tensor for name, tensor in self._average.state_dict().items()}
        for name, parameter in self._network.named_parameters():
            found |= {f"optimiser.{name}.{key}": value for key, value in self._optimiser.state[parameter].items()}
        return {name: tensor.detach().contiguous().cpu().numpy() for name, tensor in found.items()}

    def restore(self, arrays: dict[str, NDArray[Any]], step_count: int) -> None:
        """Take back what `arrays()` gave; the network must be of the same shape."""
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        try:
            self._network.load_state_dict(_under("network.", tensors))
            self._average.load_state_dict(_under("average.", tensors))
        except RuntimeError as error:
            raise CorruptFileError("learner state: expected this job's network, got one of another shape") from error
        for name, parameter in self._network.named_parameters():
            kept = _under(f"optimiser.{name}.", tensors)
            self._optimiser.state[parameter] = {
                key: value if key == "step" else value.to(parameter).contiguous(memory_format=_format(parameter))
                for key, value in kept.items()
            }
        self.step_count = step_count

    def _outputs(self, batch: TrainingBatch) -> Outputs:
        planes = torch.from_numpy(batch.planes).to(self._device, non_blocking=True)
        if self._device.type == "cpu":
            return training_outputs(self._network, planes, self._dtype)
        with torch.autocast(self._device.type, self._dtype, enabled=self._dtype != torch.float32):
            outputs: Outputs = self._network(planes.contiguous(memory_format=torch.channels_last))
            return outputs

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the average towards the network, running statistics too; early steps count more than a fixed decay."""
        decay = min(self.config.ema_decay, (1 + self.step_count) / (10 + self.step_count))
        torch._foreach_lerp_(_floats(self._average), _floats(self._network), 1 - decay)


def mean_losses(values: Tensor) -> Losses:
    """Return the mean over steps of losses f32[steps, 5]."""
    return Losses(**dict(zip(LOSS_NAMES, values.mean(0).tolist(), strict=True)))


def device_of(config: LearnerConfig) -> torch.device:
    """Return where to train, or raise ConfigError if this machine does not have it."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("learner.device must be cpu where torch finds no CUDA device, got 'cuda'")
    return torch.device(config.device)


def _floats(network: DualNetwork) -> list[Tensor]:
    """Return the parameters and the running statistics."""
    return [tensor for tensor in (*network.parameters(), *network.buffers()) if tensor.is_floating_point()]


def _optimiser(network: DualNetwork, config: LearnerConfig) -> torch.optim.AdamW:
    """AdamW, fused into one kernel; only convolution and dense weights decay."""
    decayed = [parameter for parameter in network.parameters() if parameter.ndim > 1]
    plain = [parameter for parameter in network.parameters() if parameter.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)


def _dtype(config: LearnerConfig) -> torch.dtype:
    if config.precision == "auto":
        fast = config.device == "cuda" or torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
    return torch.bfloat16 if config.precision == "bf16" else torch.float32


def _format(tensor: Tensor) -> torch.memory_format:
    return torch.channels_last if tensor.ndim == 4 else torch.contiguous_format


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
