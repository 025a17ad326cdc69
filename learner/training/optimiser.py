"""`Optimiser`: AdamW, Adam, SGD, RMSProp and Muon over flat parameters, each able to skip a step.

The device skips the step itself (`found_inf`, which torch's fused optimisers have for gradient scalers), so the host
never synchronises.  RMSProp and Muon have no fused kernel: the one is implemented here, the other in `muon.py`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from learner.config import NetworkLearnerConfig
from learner.training.flat_parameters import FlatParameters
from learner.training.muon import Muon

RMSPROP_DECAY, RMSPROP_EPSILON = 0.99, 1e-8
"""Defaults of `torch.optim.RMSprop`."""

_ADAM = ("exp_avg", "exp_avg_sq")
_MOMENTS = {"adamw": _ADAM, "muon": _ADAM, "adam": _ADAM, "sgd": (), "rmsprop": ("square_avg",)}


class Optimiser:
    """The optimiser named by `learner.optimiser`; only convolution and dense weights and tables have weight decay.

    Muon is for weight matrices, those of convolutions included, with AdamW for the rest.
    """

    def __init__(self, weights: FlatParameters, gradient: Tensor, config: NetworkLearnerConfig) -> None:
        """Each step reads `gradient` f32[P]."""
        names = _MOMENTS[config.optimiser] + (("momentum_buffer",) if config.momentum else ())
        self.moments = {name: torch.zeros_like(weights.values) for name in names}
        """The moments by name, f32[P] each; with the number of steps they are the optimiser's whole state."""
        self._torch_optimiser: torch.optim.Optimizer | None = None
        self._weights, self._gradient, self._config = weights, gradient, config
        self._muon: Muon | None = None
        if config.optimiser == "muon":
            average = self.moments["exp_avg"]
            self._muon = Muon(*(weights.split_matrices(flat) for flat in (weights.values, gradient, average)))
        if config.optimiser != "rmsprop":
            self._torch_optimiser = self._make_torch_optimiser()

    @torch.no_grad()
    def step(self, rate: float, skip: Tensor) -> None:
        """Update the parameters; if `skip` f32[] is 1, nothing changes."""
        if self._torch_optimiser is None:
            self._step_rmsprop(rate, skip)
            return
        for group in self._torch_optimiser.param_groups:
            group["lr"] = rate
        self._torch_optimiser.found_inf = skip  # type: ignore[attr-defined]
        self._torch_optimiser.step()
        if self._muon is not None:
            self._muon.step(rate, self._config.weight_decay, skip)

    def set_steps(self, count: int) -> None:
        """Set the number of steps that the current moments come from."""
        if self._torch_optimiser is not None:
            for state in self._torch_optimiser.state.values():
                if "step" in state:
                    state["step"].fill_(count)

    def _make_torch_optimiser(self) -> torch.optim.Optimizer:
        """Return torch's optimiser with two groups of one flat parameter each, its state in `moments`."""
        config, split = self._config, self._weights.decayed
        first = self._weights.matrices if config.optimiser == "muon" else 0
        groups: list[dict[str, Any]] = []
        states: dict[Tensor, dict[str, Tensor]] = {}
        for part, decay in ((slice(first, split), config.weight_decay), (slice(split, None), 0.0)):
            parameter = nn.Parameter(self._weights.values[part])
            parameter.grad = self._gradient[part]
            groups.append({"params": [parameter], "weight_decay": decay})
            states[parameter] = {name: moment[part] for name, moment in self.moments.items()}
            if config.optimiser != "sgd":
                states[parameter]["step"] = torch.zeros((), device=self._gradient.device)
        optimiser: torch.optim.Optimizer
        if config.optimiser == "sgd":
            optimiser = torch.optim.SGD(groups, lr=config.learning_rate, momentum=config.momentum, fused=True)
        else:
            kind = torch.optim.Adam if config.optimiser == "adam" else torch.optim.AdamW
            optimiser = kind(groups, lr=config.learning_rate, fused=True)
        optimiser.state.update(states)
        return optimiser

    def _step_rmsprop(self, rate: float, skip: Tensor) -> None:
        """Do a step of `torch.optim.RMSprop`: momentum applies to the scaled step, not to the gradient."""
        config, values, split = self._config, self._weights.values, self._weights.decayed
        gradient = self._gradient.clone()
        gradient[:split] += config.weight_decay * values[:split]
        square = RMSPROP_DECAY * self.moments["square_avg"] + (1 - RMSPROP_DECAY) * gradient.square()
        step = gradient / (square.sqrt() + RMSPROP_EPSILON)
        changed = [(self.moments["square_avg"], square)]
        if config.momentum:
            step += config.momentum * self.moments["momentum_buffer"]
            changed.append((self.moments["momentum_buffer"], step))
        for old, new in (*changed, (values, values - rate * step)):
            torch.where(skip == 0, new, old, out=old)
