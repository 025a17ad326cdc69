"""The kernels of norm, residual, ReLU and lines: equal to torch's, blind to separators, rounded as torch rounds."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from learner.cpu_pass.kernels import (
    activate,
    add_lines,
    finish_gradient,
    finish_norm,
    norm_gradient,
    relu_gradient,
    scatter_lines,
    sum_features,
)
from reversi.games.rules import game_named
from reversi.model.line_patterns import table_rows
from reversi.model.line_table import LineRows, summed_rows
from tests.learner.cpu_pass.rows import CHANNELS, FILLED, PERIOD, planes_of, separators, squares, stored


def some(seed: int, dtype: torch.dtype = torch.float32, rows: int = 6 * 3 * 8) -> Tensor:
    """Rows [R, C]: boards of three columns, and a separator after each."""
    return (torch.randn(rows, CHANNELS, generator=torch.Generator().manual_seed(seed)) * 2 + 1).to(dtype)


def norm() -> nn.BatchNorm1d:
    made = nn.BatchNorm1d(CHANNELS)
    with torch.no_grad():
        made.weight.copy_(torch.linspace(0.5, 2, CHANNELS))
        made.bias.copy_(torch.linspace(-0.5, 0.5, CHANNELS))
    return made


def forward(made: nn.BatchNorm1d, features: Tensor, residual: Tensor | None, chunks: int = 1) -> tuple[Tensor, Any]:
    """What the kernels make of `features` in so many chunks, and the statistics they made it with."""
    sums, statistics = np.empty((chunks, 2, CHANNELS)), np.empty((4, CHANNELS), np.float32)
    parts = np.array_split(stored(features).reshape(-1, PERIOD, CHANNELS), chunks)
    for part, place in zip(parts, sums, strict=True):
        sum_features(part.reshape(-1, CHANNELS), FILLED, PERIOD, place)
    assert made.running_mean is not None
    assert made.running_var is not None
    finish_norm(
        sums,
        len(squares(features)),
        made.weight.detach().numpy(),
        made.bias.detach().numpy(),
        made.running_mean.numpy(),
        made.running_var.numpy(),
        0.1,
        made.eps,
        statistics,
    )
    out = torch.empty_like(features)
    extra = stored(features)[:0] if residual is None else stored(residual)
    activate(stored(features), extra, statistics, FILLED, PERIOD, stored(out))
    return out, statistics


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("chunks", [1, 3])
def test_forward_is_torchs_and_separators_neither_count_nor_stay(
    dtype: torch.dtype, tolerance: float, chunks: int
) -> None:
    made, twin = norm(), norm()
    features, residual = some(1, dtype), some(2, dtype)
    out, _ = forward(made, features, residual, chunks)
    expected = functional.relu(twin(squares(features).float()) + squares(residual).float())
    torch.testing.assert_close(squares(out).float(), expected, rtol=tolerance, atol=tolerance)
    assert not separators(out).any()
    torch.testing.assert_close(made.running_mean, twin.running_mean, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(made.running_var, twin.running_var, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("with_residual", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_backward_is_autograds(with_residual: bool, in_place: bool) -> None:
    made, twin = norm(), norm()
    features, residual = some(1), some(2)
    inputs = squares(features).clone().requires_grad_()
    beside = squares(residual).clone().requires_grad_()
    first, second = some(3), some(4)
    outputs = functional.relu(twin(inputs) + (beside if with_residual else 0))
    outputs.backward(squares(first) + squares(second))

    out, statistics = forward(made, features, residual if with_residual else None)
    sums, line = np.empty((1, 2, CHANNELS)), np.empty((3, CHANNELS), np.float32)
    d_norm = np.empty((2, CHANNELS), np.float32)
    gradient = first.clone()
    rows = (stored(gradient), stored(second), stored(out), stored(features))
    relu_gradient(*rows, statistics, FILLED, PERIOD, sums[0])
    masked = gradient.clone()
    finish_gradient(sums, len(inputs), made.weight.detach().numpy(), statistics, *d_norm, line)
    d_features = torch.empty_like(gradient)
    target = stored(d_features)[:0] if in_place else stored(d_features)
    norm_gradient(stored(gradient), stored(features), line, FILLED, PERIOD, target)
    d_features = gradient if in_place else d_features

    torch.testing.assert_close(squares(d_features), inputs.grad, rtol=1e-4, atol=1e-4)
    assert not separators(d_features).any()
    torch.testing.assert_close(torch.from_numpy(d_norm[0]), twin.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.from_numpy(d_norm[1]), twin.bias.grad, rtol=1e-4, atol=1e-4)
    if with_residual:
        torch.testing.assert_close(squares(masked), beside.grad, rtol=1e-6, atol=1e-6)


def test_a_gradient_in_one_part_is_that_with_a_second_part_of_zero() -> None:
    features, gradient = some(1), some(3)
    out, statistics = forward(norm(), features, None)
    found = []
    for extra in (stored(features)[:0], np.zeros_like(stored(features))):
        masked, sums = gradient.clone(), np.empty((2, CHANNELS))
        relu_gradient(stored(masked), extra, stored(out), stored(features), statistics, FILLED, PERIOD, sums)
        found.append((masked, sums))
    torch.testing.assert_close(squares(found[0][0]), squares(found[1][0]), rtol=0, atol=0)
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_bfloat16_is_rounded_as_torch_rounds_it() -> None:
    features = some(5, torch.bfloat16)
    rounded, _ = forward(norm(), features, None)
    exact, _ = forward(norm(), features.float(), None)
    torch.testing.assert_close(rounded, exact.bfloat16(), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_nan_stays_a_nan(dtype: torch.dtype) -> None:
    features = some(6, dtype)
    features[0, 2] = torch.nan
    out, _ = forward(copy.deepcopy(norm()), features, None)
    assert squares(out)[:, 2].isnan().all()
    assert squares(out)[:, [0, 1, 3, 4]].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("boards", [0, 6])
def test_lines_are_added_and_taken_back_between_separators_that_nobody_touches(dtype: torch.dtype, boards: int) -> None:
    """Three boards of tic-tac-toe and a separator after each in a strip."""
    across, channels = 3, 5
    game = game_named("tictactoe")
    rows = LineRows(3)(planes_of(game, boards))
    features = torch.randn(boards * 12, channels, generator=torch.Generator().manual_seed(1)).to(dtype)
    table = torch.randn(table_rows(3), channels, generator=torch.Generator().manual_seed(2))

    def side_by_side(each: Tensor) -> Tensor:
        """[B, C, 3, 3] as the squares [R, C] of strips."""
        return each.view(-1, across, channels, 3, 3).permute(0, 3, 1, 4, 2).reshape(-1, channels)

    added = features.clone()
    add_lines(stored(added), table.numpy(), rows.numpy(), 3, across)
    expected = squares(features).float() + side_by_side(summed_rows(table, rows))
    torch.testing.assert_close(
        squares(added), expected.to(dtype), rtol=0, atol=1e-6 if dtype == torch.float32 else 0.02
    )
    assert separators(added).equal(separators(features))

    d_table = torch.full_like(table, torch.nan)
    scatter_lines(stored(features), rows.numpy(), 3, across, d_table.numpy())
    twin = table.clone().requires_grad_()
    (side_by_side(summed_rows(twin, rows)) * squares(features).float()).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(d_table, twin.grad, rtol=1e-5, atol=1e-5)
