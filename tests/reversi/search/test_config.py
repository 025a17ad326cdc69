"""Every field of `SearchConfig` refuses what makes no sense, by name."""

from __future__ import annotations

import pytest

from reversi.errors import ConfigError
from reversi.search.config import SearchConfig


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("simulations", -1),
        ("simulations", 2_000_000),
        ("c_puct", -0.1),
        ("c_puct", float("nan")),
        ("fpu_reduction", 3),
        ("dirichlet_alpha", 0),
        ("dirichlet_weight", 1.5),
        ("leaves", 0),
        ("virtual_loss", -1),
    ],
)
def test_a_value_out_of_range_is_named(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"^search\.{field} must be .*, got {value}$"):
        SearchConfig(**{field: value})  # type: ignore[arg-type]


def test_the_defaults_and_the_papers_values_are_in_range() -> None:
    assert SearchConfig().leaves == 1
    assert SearchConfig(simulations=0, c_puct=0, fpu_reduction=0, dirichlet_weight=0).simulations == 0
    zero = SearchConfig(simulations=1600, c_puct=1.25, dirichlet_weight=0.25, leaves=8, virtual_loss=3)
    assert zero.dirichlet_alpha == 10
