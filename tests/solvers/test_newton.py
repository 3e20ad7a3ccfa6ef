# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method in the solver: the same solutions, in fewer iterations where these are many."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from bagshift.solvers import CoupledProblem, solve_coupled


def smooth_problem(seed, coupling, *, n=300, n_bags=30, c=1024.0, repeated=False):
    """Two overlapping classes in the plane, a wide kernel and high costs: SMO zigzags."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], size=n)
    shares = rng.uniform(0.05, 0.95, size=n_bags)
    rows = np.vstack(
        [
            rng.normal(size=(n, 2)) + labels[:, None],
            rng.normal(size=(n_bags, 2)) / 2 + (2 * shares - 1)[:, None],
        ]
    )
    if repeated:
        rows[1::3] = rows[0:-1:3][: len(rows[1::3])]
    return CoupledProblem(
        gram=rbf_kernel(rows, gamma=0.3),
        n_source=n,
        targets=np.concatenate([labels, np.log(shares / (1 - shares))]),
        half_widths=np.concatenate([np.zeros(n), 0.1 * shares * (1 - shares)]),
        lower=np.concatenate([np.where(labels > 0, 0.0, -c), np.full(n_bags, -c)]),
        upper=np.concatenate([np.where(labels > 0, c, 0.0), np.full(n_bags, c)]),
        coupling=coupling,
    )


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("coupling", [0.0, 1e-8, 2.0**-6, 1.0, 2.0**11, np.inf])
def test_the_solution_is_that_without_newton(coupling, repeated):
    problem = smooth_problem(0, coupling, repeated=repeated)
    result = solve_coupled(problem, tol=1e-6)
    plain = solve_coupled(problem, tol=1e-6, newton=False)
    assert result.n_newton > 0
    assert plain.n_newton == 0
    assert result.converged
    assert result.kkt_gap < 1e-6
    assert 0 <= result.dual_gap <= result.gap_bound
    assert abs(result.dual.sum()) < 1e-9
    assert result.dual_objective == pytest.approx(plain.dual_objective, rel=1e-8)
    scores = problem.gram @ result.target_coefficients + result.intercept_target
    expected = problem.gram @ plain.target_coefficients + plain.intercept_target
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    shift = result.intercept_source - result.intercept_target
    assert shift == pytest.approx(plain.intercept_source - plain.intercept_target, abs=1e-4)


def test_iterations_are_saved_where_they_are_many():
    problem = smooth_problem(1, 1.0)
    result = solve_coupled(problem, tol=1e-6)
    plain = solve_coupled(problem, tol=1e-6, newton=False)
    assert result.n_iter < plain.n_iter / 5


def test_results_are_the_same_every_time():
    problem = smooth_problem(2, 1.0)
    first, second = (solve_coupled(problem).dual for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_single_precision():
    problem = smooth_problem(3, 1.0, c=16.0)
    rough = CoupledProblem(
        gram=problem.gram.astype(np.float32),
        n_source=problem.n_source,
        targets=problem.targets,
        half_widths=problem.half_widths,
        lower=problem.lower,
        upper=problem.upper,
        coupling=1.0,
    )
    result, exact = solve_coupled(rough), solve_coupled(problem)
    assert result.converged
    assert result.dual_objective == pytest.approx(exact.dual_objective, rel=1e-4)


def test_a_wide_range_of_bounds_and_curvatures():
    """Long steps along directions without curvature, in three dimensions."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        n, d = 60, 12
        rows = rng.normal(size=(n + d, 3)) * rng.choice([1e-3, 1.0, 1e3])
        labels = rng.choice([-1.0, 1.0], size=n)
        c = 10.0 ** rng.uniform(-2, 3, size=n + d)
        problem = CoupledProblem(
            gram=rows @ rows.T,
            n_source=n,
            targets=np.concatenate([labels, rng.normal(size=d)]),
            half_widths=np.concatenate([np.zeros(n), rng.choice([0.0, 0.1], size=d)]),
            lower=np.concatenate([np.where(labels > 0, 0.0, -c[:n]), -c[n:]]),
            upper=np.concatenate([np.where(labels > 0, c[:n], 0.0), c[n:]]),
            coupling=float(rng.choice([1e-6, 0.1, 10.0, np.inf])),
        )
        result = solve_coupled(problem, max_iter=200_000)
        plain = solve_coupled(problem, max_iter=200_000, newton=False)
        assert result.converged or not plain.converged
        assert np.all(problem.lower <= result.dual)
        assert np.all(result.dual <= problem.upper)
        if plain.converged:
            bound = result.gap_bound + plain.gap_bound
            assert abs(result.dual_objective - plain.dual_objective) <= bound
