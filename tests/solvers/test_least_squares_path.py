# SPDX-License-Identifier: BSD-3-Clause
"""Residuals of bags left out at many costs and couplings, against one solution for each."""

from itertools import product

import numpy as np
import pytest

from bagshift.solvers import (
    CoupledLeastSquaresProblem,
    LeastSquaresPoint,
    least_squares_path,
    solve_coupled_least_squares,
)

COUPLINGS = [0.0, 1e-12, 1e-3, 0.125, 1e3, 1e12, np.inf]
GRID = [
    LeastSquaresPoint(*values) for values in product([0.0, 0.01, 1.0, 1e3], [0.1, 10.0], COUPLINGS)
]


def make_data(n_source=20, n_target=8, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    m = n_source + n_target
    features = rng.normal(size=(m, n_features))
    gram = np.exp(-0.3 * ((features[:, None] - features[None]) ** 2).sum(axis=2))
    weights = rng.uniform(0.2, 2.0, size=m)
    return gram, n_source, rng.normal(size=(m, 2)), weights


def one_by_one(gram, n_source, targets, weights, points):
    residuals = []
    for point in points:
        costs = weights * point.C_target
        costs[:n_source] = weights[:n_source] * point.C_source
        problem = CoupledLeastSquaresProblem(gram, n_source, targets, costs, point.coupling)
        residuals.append(solve_coupled_least_squares(problem).left_out_residuals)
    return np.array(residuals)


@pytest.mark.parametrize(("n_source", "n_target"), [(20, 8), (3, 12), (0, 9), (6, 1), (0, 1)])
def test_equals_one_solution_for_each_point(n_source, n_target):
    data = make_data(n_source, n_target)
    found = least_squares_path(*data, GRID)
    assert found.shape == (len(GRID), n_target, 2)
    np.testing.assert_allclose(found, one_by_one(*data, GRID), rtol=1e-8, atol=1e-9)


def test_points_may_stand_in_any_order():
    data = make_data()
    order = np.random.default_rng(1).permutation(len(GRID))
    shuffled = least_squares_path(*data, [GRID[k] for k in order])
    np.testing.assert_array_equal(shuffled, least_squares_path(*data, GRID)[order])


def test_source_rows_without_weight_are_as_if_they_were_not_there():
    gram, n, targets, weights = make_data()
    weights[:5] = 0.0
    found = least_squares_path(gram, n, targets, weights, GRID)
    kept = np.arange(5, len(weights))
    expected = least_squares_path(
        np.ascontiguousarray(gram[np.ix_(kept, kept)]), n - 5, targets[kept], weights[kept], GRID
    )
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("cost", [1e6, 1e9, 1e12])
def test_large_costs_on_a_kernel_of_low_rank(cost):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(28, 3))
    data = (features @ features.T, 20, rng.normal(size=(28, 2)), np.ones(28))
    large = least_squares_path(*data, [LeastSquaresPoint(cost, cost, c) for c in (0.0, 1.0)])
    enough = least_squares_path(*data, [LeastSquaresPoint(1e5, 1e5, c) for c in (0.0, 1.0)])
    np.testing.assert_allclose(large, enough, atol=2e-3)


def test_single_precision():
    gram, *rest = make_data()
    found = least_squares_path(gram.astype(np.float32), *rest, GRID)
    np.testing.assert_allclose(found, least_squares_path(gram, *rest, GRID), atol=1e-2)


def test_what_is_refused():
    gram, n, targets, weights = make_data()
    with pytest.raises(ValueError, match="n_source is 28, so that no target unit can be left"):
        least_squares_path(gram, 28, targets, weights, GRID)
    with pytest.raises(ValueError, match="a C_target above 0, both finite"):
        least_squares_path(gram, n, targets, weights, [LeastSquaresPoint(1.0, 0.0, 1.0)])
    with pytest.raises(ValueError, match="points must have a coupling from 0 to inf"):
        least_squares_path(gram, n, targets, weights, [LeastSquaresPoint(1.0, 1.0, -1.0)])
    weights[-1] = 0.0
    with pytest.raises(ValueError, match="weights of target units must be above 0"):
        least_squares_path(gram, n, targets, weights, GRID)
