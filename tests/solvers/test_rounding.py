# SPDX-License-Identifier: BSD-3-Clause
"""Programs, most of them found by fuzzing, where rounding once decided what should be exact."""

import numpy as np
import pytest

from bagshift.solvers import CoupledProblem, solve_coupled


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
