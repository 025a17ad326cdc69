"""Every field of `SearchConfig` refuses what makes no sense, by name."""

from __future__ import annotations

import numpy as np
import pytest

from reversi.errors import ConfigError
from reversi.search.config import SearchConfig
from reversi.search.params import SearchParams, params_of
from tests.configs import search_config


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("simulations", -1),
        ("simulations", 2_000_000),
        ("first_simulations", -1),
        ("first_simulations", 65),
        ("full_share", 0),
        ("full_share", 1.5),
        ("fast_simulations", -1),
        ("c_puct", -0.1),
        ("c_puct", float("nan")),
        ("fpu_reduction", 3),
        ("policy_temperature", 0),
        ("min_visit_share", 0),
        ("min_visit_share", 1.1),
        ("backup_temperature", -0.1),
        ("dirichlet_alpha", 0),
        ("dirichlet_weight", 1.5),
        ("leaves", 0),
        ("virtual_loss", -1),
        ("considered", 0),
        ("considered", 65),
        ("c_visit", -1),
        ("c_visit", float("inf")),
        ("c_scale", -0.1),
        ("c_scale", float("nan")),
        ("method", "uct"),
    ],
)
def test_a_value_out_of_range_is_named(field: str, value: float | str) -> None:
    with pytest.raises(ConfigError, match=rf"^search\.{field} must be .*, got {value!r}$"):
        search_config(**{field: value})


def test_no_value_is_left_to_a_default() -> None:
    with pytest.raises(TypeError, match="missing 21 required keyword-only arguments"):
        SearchConfig(method="puct")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'c_puct' and 'fpu_reduction'"):
        SearchConfig.puct(simulations=8)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'c_visit' and 'c_scale'"):
        SearchConfig.gumbel(simulations=8, considered=4)  # type: ignore[call-arg]


def test_a_plain_search_is_the_method_and_what_is_chosen() -> None:
    puct = SearchConfig.puct(simulations=8, c_puct=1.25, fpu_reduction=0, solve_empties=6)
    assert (puct.method, puct.simulations, puct.c_puct, puct.solve_empties) == ("puct", 8, 1.25, 6)
    gumbel = SearchConfig.gumbel(simulations=8, considered=4, c_visit=50, c_scale=1, margin_weight=0.1)
    assert (gumbel.method, gumbel.considered, gumbel.c_visit, gumbel.margin_weight) == ("gumbel", 4, 50, 0.1)
    for plain in (puct, gumbel):
        assert (plain.full_share, plain.dirichlet_weight, plain.leaves, plain.backup_temperature) == (1, 0, 1, 0)
        assert not any((plain.bounds, plain.wipeouts, plain.keep_subtree, plain.first_simulations))


def test_the_papers_values_are_in_range() -> None:
    assert search_config(simulations=0, c_puct=0, fpu_reduction=0, dirichlet_weight=0).simulations == 0
    zero = search_config(simulations=1600, c_puct=1.25, dirichlet_weight=0.25, leaves=8, virtual_loss=3)
    assert zero.dirichlet_alpha == 10


def test_gumbel_and_a_kept_subtree_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match=r"^search\.keep_subtree must be false with search\.method=gumbel: "):
        search_config(method="gumbel", keep_subtree=True)


def test_gumbel_has_no_policy_temperature() -> None:
    with pytest.raises(ConfigError, match=r"^search\.policy_temperature must be 1 with search\.method=gumbel, got 2"):
        search_config(method="gumbel", policy_temperature=2)
    assert params_of(search_config(policy_temperature=1.75)).policy_temperature == 1.75


def test_a_rule_holds_what_kernels_need() -> None:
    config = search_config(
        method="gumbel",
        c_puct=1.25,
        fpu_reduction=0.5,
        policy_temperature=1.0,
        min_visit_share=0.75,
        virtual_loss=3,
        considered=7,
        c_scale=0.25,
        margin_weight=0.125,
        solve_empties=9,
    )
    scalars = map(np.float32, (1.25, 0.5, 1, 0.75, 50, 0.25, 0.125))
    c_puct, fpu, temperature, share, c_visit, c_scale, margin_weight = scalars
    assert params_of(config) == SearchParams(
        True, c_puct, fpu, temperature, share, np.float32(0), 3, 7, c_visit, c_scale, margin_weight, 9, *[False] * 4
    )
    assert not params_of(search_config()).gumbel
    assert params_of(search_config(bounds=True)).bounds
    assert params_of(search_config(wipeouts=True)).wipeouts
    assert params_of(search_config(), every_move=True).every_move
    assert params_of(search_config(), tables=True).judged
    assert not params_of(config, tables=True).judged, "Gumbel's values are its own"
    assert params_of(search_config(backup_temperature=0.25)).backup_temperature == np.float32(0.25)
