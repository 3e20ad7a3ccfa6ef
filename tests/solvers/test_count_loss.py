# SPDX-License-Identifier: BSD-3-Clause
"""The compiled loss of bags against its formulas in NumPy, and its slope against differences."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from bagshift import _core
from bagshift.solvers._count_loss import CountLoss
from bagshift.solvers.count_likelihood import BagCounts, count_posterior
from solvers.logistic_problems import SIZES, make_problem, with_law

NOISE = -np.arange(8) / 2.0
SHIFT = 1e-3


def written_out(counts, costs, scores):
    """Return the same in the words of the formulas: loss, slope, curvature of every bag."""
    posterior = count_posterior(scores, counts)
    up, down = (count_posterior(scores + shift, counts).probability for shift in (SHIFT, -SHIFT))
    slopes, curvatures = [], []
    for bag, (start, end) in enumerate(zip(counts.starts[:-1], counts.starts[1:], strict=True)):
        rows = slice(start, end)
        chance, given = expit(scores[rows]), posterior.probability[rows]
        is_known = np.diff(counts.weight_starts)[bag] == 1
        variance = 0.0 if is_known else max((up - down)[rows].sum() / (2 * SHIFT), 0.0)
        a = given * (1 - given)
        rho = min(variance / a.sum(), 1.0) if a.sum() > 1e-100 else 0.0
        v = a / np.maximum(1 - (1 - rho) * a / (a.sum() or 1.0), 0.5)
        known = 1 - min(variance / v.sum(), 1.0) if v.sum() > 1e-100 else 1.0
        covariance = np.diag(v) - known * np.outer(v, v) / (v.sum() or 1.0)
        slopes.append(costs[bag] * (chance - given))
        curvatures.append(costs[bag] * (np.diag(chance * (1 - chance)) - covariance))
    return posterior.log_likelihood, np.concatenate(slopes), curvatures


def problems():
    exact = make_problem(sizes=np.tile(SIZES, 5))
    return {"exact": exact, "noisy": with_law(exact, NOISE)}


@pytest.mark.parametrize("kind", ["exact", "noisy"])
@pytest.mark.parametrize("size", [0.3, 4.0, 60.0])
def test_loss_is_what_the_formulas_say(kind, size):
    problem = problems()[kind]
    counts = problem.counts
    rng = np.random.default_rng(3)
    scores = size * rng.standard_normal(counts.n_rows)
    costs = rng.uniform(0.5, 2.0, counts.n_bags)
    point = CountLoss(counts, costs).at(scores)
    log_likelihood, slope, curvatures = written_out(counts, costs, scores)
    np.testing.assert_array_equal(point.log_likelihood, log_likelihood)
    np.testing.assert_allclose(point.slope, slope, atol=1e-13)
    for bag, expected in enumerate(curvatures):
        rows = slice(counts.starts[bag], counts.starts[bag + 1])
        v = point.label_variance[rows]
        found = np.diag(point.curvature[rows]) + point.bag_weight[bag] * np.outer(v, v)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_slope_is_the_derivative_of_the_loss():
    counts = problems()["noisy"].counts
    rng = np.random.default_rng(5)
    costs = rng.uniform(0.5, 2.0, counts.n_bags)
    loss = CountLoss(counts, costs)
    scores, way = rng.standard_normal((2, counts.n_rows))
    up, down = (costs @ loss.at(scores + t * way).log_likelihood for t in (1e-5, -1e-5))
    assert -(up - down) / 2e-5 == pytest.approx(loss.at(scores).slope @ way, rel=1e-7)


def test_number_of_threads_changes_nothing():
    counts = BagCounts.exact(np.tile([1, 0, 7], 900), np.tile([3, 1, 40], 900))
    scores = np.random.default_rng(1).standard_normal(counts.n_rows)
    one, three = (CountLoss(counts, np.ones(counts.n_bags), n).at(scores) for n in (1, 3))
    for name in ("log_likelihood", "slope", "curvature", "label_variance", "bag_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_scores_must_be_numbers():
    loss = CountLoss(BagCounts.exact([1], [2]), np.ones(1))
    with pytest.raises(ValueError, match="not finite"):
        loss.at(np.array([0.0, np.nan]))


def test_arrays_that_do_not_fit_are_refused():
    loss = CountLoss(BagCounts.exact([1], [2]), np.ones(2))
    with pytest.raises(ValueError, match="a cost for each bag"):
        loss.at(np.zeros(2))
    with pytest.raises(ValueError, match="arrays of a count problem do not fit"):
        CountLoss(BagCounts.exact([1], [2]), np.ones(1)).at(np.zeros(3))


# Sums over rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_features"), [(0, 3), (1, 1), (63, 7), (200, 8), (131, 21)])
def test_weighted_squares(dtype, n_rows, n_features):
    rng = np.random.default_rng(n_rows)
    features = rng.standard_normal((n_rows, n_features)).astype(dtype)
    factors = rng.standard_normal(n_rows)
    rows = np.column_stack([features.astype(float), np.ones(n_rows)])
    found = _core.weighted_squares(features, factors).reshape(n_features + 1, n_features + 1)
    np.testing.assert_allclose(found, rows.T @ (factors[:, None] * rows), atol=1e-11)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [[5], [1, 0, 3, 4, 17], [0, 0], []])
def test_bag_sums(dtype, sizes):
    rng = np.random.default_rng(7)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    features = rng.standard_normal((starts[-1], 11)).astype(dtype)
    factors = rng.standard_normal(starts[-1])
    rows = factors[:, None] * np.column_stack([features.astype(float), np.ones(starts[-1])])
    expected = [rows[a:b].sum(axis=0) for a, b in pairwise(starts)]
    found = _core.bag_sums(features, factors, starts).reshape(len(sizes), 12)
    np.testing.assert_allclose(found, np.reshape(expected, (-1, 12)), atol=1e-12)


def test_rows_and_factors_must_fit():
    features, factors = np.zeros((3, 2)), np.zeros(4)
    with pytest.raises(ValueError, match="a factor for each row"):
        _core.weighted_squares(features, factors)
    with pytest.raises(ValueError, match="do not fit"):
        _core.bag_sums(features, factors, np.array([0, 4]))
    with pytest.raises(ValueError, match="do not fit"):
        _core.bag_sums(features, np.zeros(3), np.array([0, 2, 1, 3]))
