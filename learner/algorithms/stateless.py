"""The part of `Objective` that is the same for all objectives without state."""

from __future__ import annotations

from torch import Tensor, nn

from reversi.model.weights import Weights


class Stateless:
    """Base of objectives whose losses depend on outputs and batch alone."""

    def before_step(self, step: int, network: nn.Module) -> None:
        """Do nothing."""

    def played(self, weights: Weights) -> Weights:
        """Return the weights unchanged."""
        return weights

    def arrays(self) -> dict[str, Tensor]:
        """Return no tensors."""
        return {}

    def restore(self, arrays: dict[str, Tensor]) -> None:
        """Do nothing."""
