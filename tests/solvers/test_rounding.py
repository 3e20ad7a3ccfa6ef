# SPDX-License-Identifier: BSD-3-Clause
"""Programs, most of them found by fuzzing, where rounding once decided what should be exact."""

import numpy as np
import pytest

from bagshift.solvers import CoupledProblem, solve_coupled
from bagshift.solvers.reference import signed_matrix


def test_a_source_sum_below_the_last_bit_of_the_dual_is_kept():
    """Of 1e5 with a coupling of 1e-12, the last bit stands for an intercept of thousands."""
    cost = 1e5
    targets = np.array([-1.0, 1.0, 1.0, 0.7])
    problem = CoupledProblem(
        gram=np.zeros((4, 4)),
        n_source=2,
        targets=targets,
        half_widths=np.zeros(4),
        lower=np.array([-0.9 * cost, 0.0, 0.0, -cost]),
        upper=np.array([0.0, cost, cost, 0.3 * cost]),
        coupling=1e-12,
    )
    result = solve_coupled(problem, tol=1e-9)
    assert result.converged
    assert result.dual_gap <= result.gap_bound


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("newton", [False, True])
def test_optimal_is_said_of_optimal_programs_only(dtype, newton):
    for seed in range(400):
        problem = degenerate_problem(np.random.default_rng(seed), dtype)
        result = solve_coupled(problem, tol=1e-6, max_iter=2000, newton=newton)
        largest = np.abs(np.concatenate([problem.lower, problem.upper])).max()
        n_roundings = result.n_iter + 100 * (1 + result.n_newton)
        assert abs(result.dual.sum()) <= 1e-15 * largest * n_roundings
        if result.converged:
            size = np.abs(problem.targets).max() + np.abs(problem.gram @ result.dual).max()
            widths = (problem.upper - problem.lower).sum()
            assert result.dual_gap <= 1.01 * result.gap_bound + 1e-12 * widths * size


def degenerate_problem(rng, dtype):
    """Make equal rows, a matrix of low rank or zero, costs and a coupling of any size."""
    m = int(rng.integers(3, 16))
    rows = rng.integers(-1, 2, size=(m, int(rng.integers(1, 3)))).astype(float)
    cost = 10.0 ** rng.integers(-6, 7, size=2)[(np.arange(m) < m // 2).astype(int)]
    kind = rng.choice([-1, 0, 1], size=m)
    return CoupledProblem(
        gram=(rng.choice([0.0, 1.0, 100.0]) * (rows @ rows.T)).astype(dtype),
        n_source=m // 2,
        targets=np.where(kind == 0, rng.normal(size=m), kind),
        half_widths=np.where(kind == 0, rng.choice([0.0, 0.3], size=m), 0.0),
        lower=np.where(kind == 1, 0.0, -cost),
        upper=np.where(kind == -1, 0.0, cost * rng.choice([1.0, rng.random()], size=m)),
        coupling=float(rng.choice([1e-12, 1e-9, 1e-6, 1.0, np.inf])),
    )


@pytest.mark.parametrize("newton", [False, True])
def test_optimal_holds_on_a_gradient_made_anew_where_rows_differ_in_length(newton):
    """Steps of short rows round the slopes of long ones by more than their own size shows."""
    n_converged = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = 30, 8
        rows = rng.normal(size=(n + d, 4)) * 10.0 ** rng.uniform(-3, 2, size=(n + d, 1))
        labels = rng.choice([-1.0, 1.0], size=n)
        problem = CoupledProblem(
            gram=rows @ rows.T,
            n_source=n,
            targets=np.concatenate([labels, rng.normal(size=d)]),
            half_widths=np.concatenate([np.zeros(n), np.full(d, 0.1)]),
            lower=np.concatenate([np.minimum(labels, 0.0), -np.ones(d)]),
            upper=np.concatenate([np.maximum(labels, 0.0), np.ones(d)]),
            coupling=float(rng.choice([0.1, 10.0, np.inf])),
        )
        result = solve_coupled(problem, tol=1e-6, max_iter=20_000, newton=newton)
        if not result.converged:
            continue
        n_converged += 1
        z, tube = result.dual, problem.half_widths
        slope = signed_matrix(problem) @ z - problem.targets
        up = (slope + np.where(z >= 0, tube, -tube))[z < problem.upper].min()
        down = (slope + np.where(z > 0, tube, -tube))[z > problem.lower].max()
        rounding = 1e-15 * (np.abs(problem.gram) @ np.abs(z)).max()
        assert down - up <= 1.001e-6 + 10 * rounding
    assert n_converged >= 10
