# SPDX-License-Identifier: BSD-3-Clause
"""Losses of scores and the machines trained on them: derivatives, minima, stages."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from bagshift.solvers.linear_heads import (
    HeadObjective,
    HeadProblem,
    solve_heads,
    solve_targeted_logistic,
)
from bagshift.solvers.score_losses import (
    BagShares,
    LossBlocks,
    LossSum,
    MeanProbabilityLoss,
    SquaredSums,
    TargetedLogistic,
    cross_entropy,
    proportion_matching,
)

N_ROWS = 12


def bags_of(rng):
    return BagShares.of_sizes(np.array([3, 1, 5, 2, 1]), np.array([1 / 3, 1.0, 0.4, 0.0, 0.25]))


def losses(rng):
    """Return one of every loss of twelve rows, by name."""
    logistic = TargetedLogistic(rng.normal(0.5, 2.0, N_ROWS), rng.uniform(0.5, 2.0, N_ROWS))
    means = MeanProbabilityLoss(bags_of(rng), rng.uniform(0.5, 2.0, 5), cross_entropy)
    squares = SquaredSums(rng.normal(size=(4, N_ROWS)), rng.uniform(0.5, 2.0, 4))
    thin = SquaredSums(sparse.csr_array(squares.sums), squares.costs)
    first = TargetedLogistic(np.array([0.0, 1.0, 0.3]), np.ones(3))
    second = TargetedLogistic(rng.uniform(size=9), np.ones(9))
    return {
        "logistic": logistic,
        "means": means,
        "squares": squares,
        "thin squares": thin,
        "sum": LossSum((logistic, means, squares)),
        "blocks": LossBlocks((first, second), (3, 9)),
    }


def central_difference(function, place, step=1e-6):
    found = []
    for i in range(len(place)):
        move = np.zeros(len(place))
        move[i] = step
        found.append((function(place + move) - function(place - move)) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("name", losses(np.random.default_rng(0)))
@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_slopes_and_bends_are_derivatives(name, spread):
    rng = np.random.default_rng(1)
    loss = losses(rng)[name]
    scores = rng.normal(scale=spread, size=N_ROWS)
    point = loss.at(scores)
    slope = central_difference(lambda s: loss.at(s).value, scores)
    np.testing.assert_allclose(point.slope, slope, rtol=1e-6, atol=1e-6)
    curvature = central_difference(lambda s: loss.at(s).slope, scores)
    bends = np.array([point.bend(unit) for unit in np.eye(N_ROWS)])
    np.testing.assert_allclose(bends, curvature, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(bends, bends.T, atol=1e-12)


@pytest.mark.parametrize("coupling", [None, 0.0, 0.7, np.inf])
@pytest.mark.parametrize("with_source", [True, False])
def test_gradient_and_curvature_in_the_weights(coupling, with_source):
    rng = np.random.default_rng(0)
    bag_loss = MeanProbabilityLoss(bags_of(rng), np.full(5, 2.0), cross_entropy)
    target, source = rng.normal(size=(N_ROWS, 3)), rng.normal(size=(7, 3))
    if with_source:
        of_source = TargetedLogistic(rng.integers(0, 2, 7).astype(float), np.ones(7))
        loss = LossBlocks((of_source, bag_loss), (7, N_ROWS))
        problem = HeadProblem(target, loss, source, coupling)
    else:
        problem = HeadProblem(target, bag_loss, coupling=coupling)
    objective = HeadObjective(problem)
    v = rng.normal(size=objective.coordinates.size)
    point = objective.at(v)
    gradient = central_difference(lambda u: objective.at(u).value, v)
    np.testing.assert_allclose(point.gradient, gradient, rtol=1e-6, atol=1e-6)
    curvature = central_difference(lambda u: objective.at(u).gradient, v)
    products = np.array([objective.hessian_product(point, unit) for unit in np.eye(len(v))])
    np.testing.assert_allclose(products, curvature, rtol=1e-5, atol=1e-5)


def test_coupled_objective_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    target, source = rng.normal(size=(N_ROWS, 3)), rng.normal(size=(7, 3))
    of_source = TargetedLogistic(rng.integers(0, 2, 7).astype(float), np.ones(7))
    of_target = TargetedLogistic(rng.uniform(size=N_ROWS), np.ones(N_ROWS))
    loss = LossBlocks((of_source, of_target), (7, N_ROWS))

    def value(w):
        h, c = w[:4], w[4:]
        scores = np.concatenate([source @ h[:3] + h[3], target @ c[:3] + c[3]])
        pull = 0.7 * np.sum((h - c) ** 2)
        return 0.5 * (h[:3] @ h[:3] + c[:3] @ c[:3] + pull) + loss.at(scores).value

    found = solve_heads(HeadProblem(target, loss, source, 0.7), tol=1e-12)
    machines = found.machines
    place = np.concatenate(
        [
            machines.source_weights,
            [machines.source_intercept],
            machines.target_weights,
            [machines.target_intercept],
        ]
    )
    assert found.objective == pytest.approx(value(place), rel=1e-12)
    np.testing.assert_allclose(central_difference(value, place), 0.0, atol=1e-7)


def test_one_machine_for_both_domains_is_logistic_regression_on_all_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(19, 3)), rng.integers(0, 2, 19)
    loss = TargetedLogistic(y.astype(float), np.full(19, 2.0))
    expected = LogisticRegression(C=2.0, tol=1e-12, solver="newton-cholesky").fit(X, y)
    found = solve_heads(HeadProblem(X[7:], loss, X[:7]), tol=1e-10).machines
    np.testing.assert_allclose(found.target_weights, expected.coef_[0], atol=1e-8)
    assert found.target_intercept == pytest.approx(expected.intercept_[0], abs=1e-8)
    alone = solve_targeted_logistic(X, y.astype(float), np.full(19, 2.0)).machines
    np.testing.assert_allclose(alone.target_weights, expected.coef_[0], atol=1e-8)


@pytest.mark.parametrize("cost", [0.1, 10.0, 1e3, 1e5])
def test_targets_that_no_probabilities_meet_are_reached_by_stages(cost):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    targets = 0.5 + 3.0 * rng.choice([-1.0, 1.0], 20).repeat(2)
    targets += 0.4 - targets.mean()
    found = solve_targeted_logistic(X, targets, np.full(40, cost))
    assert found.converged
    assert found.n_iter < 300
    Z = np.column_stack([X, np.ones(40)])

    def value_and_gradient(w):
        scores = Z @ w
        chance = np.exp(-np.logaddexp(0, -scores))
        value = np.logaddexp(0, scores).sum() - targets @ scores + 0.5 * w[:4] @ w[:4] / cost
        return value, Z.T @ (chance - targets) + np.append(w[:4], 0) / cost

    machines = found.machines
    place = np.append(machines.target_weights, machines.target_intercept)
    value, gradient = value_and_gradient(place)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
    assert found.objective == pytest.approx(cost * value)
    start = place + 0.01 * np.abs(place).max()
    again = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B")
    assert again.fun >= value - 1e-9 * abs(value)


def test_proportion_matching_of_bags_of_one_is_the_log_loss():
    scores = np.array([-400.0, -3.0, 0.0, 2.0, 300.0])
    labels = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    found, slopes = proportion_matching(scores, BagShares.of_sizes(np.ones(5), labels))
    expected = np.logaddexp(0, np.where(labels == 1, -scores, scores))
    np.testing.assert_allclose(found, expected, atol=1e-15)
    chance = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(slopes, chance - labels, atol=1e-12)


def test_bags_without_rows_have_no_sums():
    nothing = BagShares.of_sizes(np.empty(0), np.empty(0))
    assert nothing.sum(np.empty(0)).shape == (0,)
    assert nothing.spread(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_columns_in_other_units_with_costs_to_match_give_the_same_machine(unit):
    rng = np.random.default_rng(0)
    target, source = rng.normal(size=(N_ROWS, 3)), rng.normal(size=(7, 3))
    labels = rng.integers(0, 2, 7).astype(float)

    def solved(unit):
        cost = unit**-2
        bag_loss = MeanProbabilityLoss(bags_of(rng), np.full(5, 20.0 * cost), cross_entropy)
        loss = LossBlocks((TargetedLogistic(labels, np.full(7, cost)), bag_loss), (7, N_ROWS))
        return solve_heads(HeadProblem(unit * target, loss, unit * source), tol=1e-9)

    one, other = solved(1.0), solved(unit)
    assert other.converged
    assert other.n_iter < one.n_iter + 10
    weights = unit * other.machines.target_weights
    np.testing.assert_allclose(weights, one.machines.target_weights, rtol=1e-5)
    assert other.objective * unit**2 == pytest.approx(one.objective, rel=1e-6)


@pytest.mark.parametrize("unit", [1e80, 1.0])
def test_products_outside_of_the_range_of_numbers_are_refused(unit):
    rng = np.random.default_rng(0)
    cost = 1e200 if unit == 1.0 else 1.0
    target = unit * rng.normal(size=(N_ROWS, 2))
    bag_loss = MeanProbabilityLoss(bags_of(rng), np.full(5, cost), cross_entropy)
    with pytest.raises(ValueError, match="leave the range of numbers"):
        HeadProblem(target, bag_loss)
    with pytest.raises(ValueError, match="leave the range of numbers"):
        solve_targeted_logistic(target, rng.normal(size=N_ROWS), np.full(N_ROWS, cost))
