"""What objectives without a state of their own have in common: nothing is seen, kept or taken back."""

from __future__ import annotations

from torch import Tensor, nn

from reversi.model.weights import Weights


class Stateless:
    """The part of an `Objective` that is empty where losses hang on outputs and batch alone."""

    def before_step(self, step: int, network: nn.Module) -> None:
        """Nothing is to be seen."""

    def played(self, weights: Weights) -> Weights:
        """Return them as they are."""
        return weights

    def arrays(self) -> dict[str, Tensor]:
        """Return nothing: it has no state."""
        return {}

    def restore(self, arrays: dict[str, Tensor]) -> None:
        """There is nothing to take back."""
