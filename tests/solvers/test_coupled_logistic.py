# SPDX-License-Identifier: BSD-3-Clause
"""The coupled logistic problem: derivatives, limits, and an optimum found independently."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bagshift.solvers.count_likelihood import BagCounts, count_posterior
from bagshift.solvers.coupled_logistic import (
    CoupledLogisticProblem,
    Machines,
    _coordinates,
    _Objective,
    solve_coupled_logistic,
)
from solvers.logistic_problems import (
    COUPLINGS,
    SIZES,
    as_sparse,
    make_problem,
    same_machines,
    vector,
    with_law,
)


def solved(problem, **settings):
    result = solve_coupled_logistic(problem, tol=1e-10, **settings)
    assert result.converged
    return result


# Derivatives ------------------------------------------------------------------------------


def objective_at_random(problem, seed=1):
    coordinates = _coordinates(problem)
    v = np.random.default_rng(seed).normal(size=coordinates.size)
    return _Objective(problem, coordinates), v


@pytest.mark.parametrize("as_features", [lambda p: p, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_gradient_equals_central_differences(coupling, with_source, as_features):
    problem = as_features(make_problem(coupling=coupling, with_source=with_source))
    objective, v = objective_at_random(problem)
    step = 1e-5
    quotients = [
        (objective.at(v + step * axis).value - objective.at(v - step * axis).value) / (2 * step)
        for axis in np.eye(len(v))
    ]
    np.testing.assert_allclose(objective.at(v).gradient, quotients, atol=1e-6)


def hessian(objective, v):
    return np.column_stack(
        [objective.hessian_product(objective.at(v), axis) for axis in np.eye(len(v))]
    )


@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("kind", ["labelled", "pure bags", "bags of two"])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_hessian_is_exact_where_the_module_says_so(coupling, kind, with_source):
    sizes = np.full(12, 2) if kind == "bags of two" else SIZES
    problem = make_problem(
        coupling=coupling, with_source=with_source, sizes=sizes, labelled=kind == "labelled"
    )
    if kind == "pure bags":
        counts = np.where(np.arange(len(SIZES)) % 2, SIZES, 0)
        problem = replace(problem, counts=BagCounts.exact(counts, SIZES))
    objective, v = objective_at_random(problem)
    step = 1e-5
    quotients = [
        (objective.at(v + step * axis).gradient - objective.at(v - step * axis).gradient)
        / (2 * step)
        for axis in np.eye(len(v))
    ]
    np.testing.assert_allclose(hessian(objective, v), np.column_stack(quotients), atol=1e-6)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_hessian_is_symmetric_and_the_covariance_in_it_no_less_than_zero(coupling):
    problem = make_problem(coupling=coupling)
    objective, v = objective_at_random(problem)
    found = hessian(objective, v)
    np.testing.assert_allclose(found, found.T, atol=1e-10)
    # Without the covariance of labels it is that of logistic regression, an upper bound.
    point = objective.at(v)
    object.__setattr__(point, "label_variance", np.zeros(problem.counts.n_rows))
    chance = expit(objective._rows.scores(v)[1])
    costs = np.repeat(problem.bag_costs, SIZES)
    object.__setattr__(point, "target_curvature", costs * chance * (1 - chance))
    assert np.linalg.eigvalsh(hessian(objective, v) - found).min() > -1e-10


# Optimum ----------------------------------------------------------------------------------


def reference(problem, start):
    """Minimise over (w_h, b_h, w_c, b_c) as they are."""
    q, coupling = problem.n_features, problem.coupling
    rows = np.repeat(problem.bag_costs, problem.counts.sizes)

    def value_and_gradient(u):
        source, target = u[: q + 1], u[q + 1 :]
        f = problem.source_features @ source[:q] + source[q]
        g = problem.target_features @ target[:q] + target[q]
        posterior = count_posterior(g, problem.counts)
        gap = target - source
        value = (
            0.5 * (source[:q] @ source[:q] + target[:q] @ target[:q] + coupling * (gap @ gap))
            + problem.source_costs @ np.logaddexp(0, -problem.source_signs * f)
            - problem.bag_costs @ posterior.log_likelihood
        )
        push = -problem.source_costs * problem.source_signs * expit(-problem.source_signs * f)
        pull = rows * (expit(g) - posterior.probability)
        of_source = np.append(problem.source_features.T @ push + source[:q], push.sum())
        of_target = np.append(problem.target_features.T @ pull + target[:q], pull.sum())
        return value, np.concatenate([of_source - coupling * gap, of_target + coupling * gap])

    return minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000, "maxcor": 50},
    )


@pytest.mark.parametrize("as_features", [lambda p: p, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("coupling", [0.0, 0.7, 50.0])
def test_optimum_equals_that_of_another_solver(coupling, labelled, as_features):
    problem = make_problem(coupling=coupling, labelled=labelled)
    found = solved(as_features(problem))
    expected = reference(problem, vector(found.machines) + 0.01)
    assert found.objective == pytest.approx(expected.fun, rel=1e-9)
    np.testing.assert_allclose(vector(found.machines), expected.x, atol=1e-5)


def test_optimum_from_zero_is_the_one_that_another_solver_finds_from_there():
    problem = make_problem(coupling=0.7)
    expected = reference(problem, np.zeros(8))
    np.testing.assert_allclose(vector(solved(problem).machines), expected.x, atol=1e-5)


def logistic_regression(X, signs, costs):
    model = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    model.fit(X, signs > 0, sample_weight=costs)
    return np.append(model.coef_[0], model.intercept_)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_labelled_problem_is_logistic_regression(scale):
    problem = make_problem(labelled=True, with_source=False)
    problem = replace(problem, target_features=scale * problem.target_features)
    signs = np.where(problem.counts.first_counts == 1, 1.0, -1.0)
    expected = logistic_regression(problem.target_features, signs, problem.bag_costs)
    machines = solved(problem).machines
    found = np.append(machines.target_weights, machines.target_intercept)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(machines.source_weights, machines.target_weights)


def test_without_coupling_the_machines_are_those_of_each_domain():
    problem = make_problem(coupling=0.0)
    found = solved(problem).machines
    source = logistic_regression(
        problem.source_features, problem.source_signs, problem.source_costs
    )
    np.testing.assert_allclose(vector(found)[:4], source, atol=1e-5)
    alone = solved(
        replace(problem, source_features=None, source_signs=np.empty(0), source_costs=np.empty(0)),
        start=found,
    )
    np.testing.assert_allclose(vector(found)[4:], vector(alone.machines)[4:], atol=1e-6)


def test_infinite_coupling_makes_one_machine_of_both():
    problem = make_problem(coupling=np.inf)
    pooled = solved(problem)
    machines = pooled.machines
    np.testing.assert_array_equal(machines.source_weights, machines.target_weights)
    assert machines.source_intercept == machines.target_intercept
    nearly = solved(replace(problem, coupling=1e7), start=machines)
    same_machines(pooled, nearly, 1e-5)
    # Rows of both, every label a bag of one, under the penalty |w|^2 of two equal machines.
    n = problem.n_source
    sizes = np.concatenate([np.ones(n, int), SIZES])
    counts = np.concatenate([problem.source_signs > 0, problem.counts.first_counts])
    stacked = CoupledLogisticProblem(
        source_features=None,
        source_signs=np.empty(0),
        source_costs=np.empty(0),
        target_features=np.vstack([problem.source_features, problem.target_features]),
        counts=BagCounts.exact(counts.astype(int), sizes),
        bag_costs=0.5 * np.concatenate([problem.source_costs, problem.bag_costs]),
        coupling=0.0,
    )
    same_machines(pooled, solved(stacked, start=machines), 1e-6)


# Invariances ------------------------------------------------------------------------------


def test_costs_of_bags_are_repetitions():
    problem = replace(make_problem(), bag_costs=np.arange(1.0, 11.0) % 3 + 1)
    again = np.repeat(np.arange(10), problem.bag_costs.astype(int))
    repeated = replace(
        problem,
        target_features=problem.target_features[problem.counts.rows_of(again)],
        counts=problem.counts.take(again),
        bag_costs=np.ones(len(again)),
    )
    one, two = solved(problem), solved(repeated)
    assert one.objective == pytest.approx(two.objective, rel=1e-12)
    same_machines(one, two, 1e-6)


def test_order_of_bags_and_rows_does_not_matter():
    problem = make_problem()
    rng = np.random.default_rng(5)
    order, history = rng.permutation(10), rng.permutation(30)
    rows = problem.counts.rows_of(order)
    bag = np.repeat(np.arange(10), SIZES[order])
    rows = rows[np.lexsort([rng.random(len(rows)), bag])]
    shuffled = replace(
        problem,
        source_features=problem.source_features[history],
        source_signs=problem.source_signs[history],
        source_costs=problem.source_costs[history],
        target_features=problem.target_features[rows],
        counts=problem.counts.take(order),
        bag_costs=problem.bag_costs[order],
    )
    same_machines(solved(problem), solved(shuffled), 1e-7)


def test_number_of_threads_changes_no_bit():
    problem = make_problem(sizes=np.tile(SIZES, 5))
    one, two = (solve_coupled_logistic(replace(problem, n_threads=n)) for n in (1, 3))
    np.testing.assert_array_equal(vector(one.machines), vector(two.machines))
    assert one.n_iter == two.n_iter


def test_classes_may_be_swapped():
    problem = make_problem()
    swapped = replace(
        problem,
        source_signs=-problem.source_signs,
        counts=BagCounts.exact(SIZES - problem.counts.first_counts, SIZES),
    )
    one, two = solved(problem), solved(swapped)
    np.testing.assert_allclose(vector(one.machines), -vector(two.machines), atol=1e-7)
    same_machines(one, replace(two, machines=two.machines.mirrored()), 1e-7)


# Start and end ----------------------------------------------------------------------------


def test_start_is_respected():
    problem = make_problem(with_source=False)
    mirrored = replace(problem, counts=BagCounts.exact(SIZES // 2, SIZES))
    found = solved(mirrored)
    again = solved(mirrored, start=found.machines)
    assert again.n_iter == 0
    same_machines(found, again, 1e-12)


def test_bags_of_halves_have_a_minimum_on_either_side():
    problem = make_problem(with_source=False, sizes=np.full(20, 2))
    halves = replace(problem, counts=BagCounts.exact(np.ones(20, int), np.full(20, 2)))
    start = Machines.both(np.array([1.0, 0.0, 0.0]), 0.0)
    one, other = solved(halves, start=start), solved(halves, start=start.mirrored())
    assert one.objective == pytest.approx(other.objective, rel=1e-10)
    np.testing.assert_allclose(
        one.machines.target_weights, -other.machines.target_weights, atol=1e-6
    )
    assert np.linalg.norm(one.machines.target_weights) > 0.1


def test_a_start_where_the_gradient_is_zero_is_the_end():
    problem = make_problem(with_source=False, sizes=np.full(20, 2))
    halves = replace(problem, counts=BagCounts.exact(np.ones(20, int), np.full(20, 2)))
    result = solve_coupled_logistic(halves)
    assert result.converged
    assert result.n_iter == 0
    np.testing.assert_array_equal(result.machines.target_weights, 0.0)


@pytest.mark.parametrize("as_features", [lambda p: p, as_sparse], ids=["dense", "sparse"])
def test_result_tells_whether_it_converged(as_features):
    problem = as_features(make_problem())
    short = solve_coupled_logistic(problem, max_iter=1)
    assert not short.converged
    assert short.n_iter == 1
    result = solve_coupled_logistic(problem)
    size = np.linalg.norm(_coordinates(problem).encode(result.machines))
    assert result.converged
    assert 1 < result.n_iter < 100
    assert result.gradient_norm <= 1e-6 * size
    assert result.objective < short.objective


@pytest.mark.parametrize("as_features", [lambda p: p, as_sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("doublings", [-40, -13, -1, 1, 17, 40])
def test_columns_in_other_units_take_the_same_path(doublings, with_source, as_features):
    # The penalty on the difference of intercepts has no unit, hence no coupling.
    problem = as_features(make_problem(coupling=0.0, with_source=with_source))
    unit = 2.0**doublings
    other = replace(
        problem,
        source_features=unit * problem.source_features if with_source else None,
        target_features=unit * problem.target_features,
        source_costs=problem.source_costs / unit**2,
        bag_costs=problem.bag_costs / unit**2,
    )
    one, two = solve_coupled_logistic(problem), solve_coupled_logistic(other)
    assert two.n_iter == one.n_iter
    assert two.objective == one.objective / unit**2
    np.testing.assert_array_equal(two.machines.target_weights, one.machines.target_weights / unit)
    assert two.machines.target_intercept == one.machines.target_intercept


@pytest.mark.parametrize("coupling", [0.1, 10.0])
@pytest.mark.parametrize("unit", [1e-10, 1e-5, 1e5, 1e10])
def test_tiny_and_huge_features_converge(unit, coupling):
    problem = make_problem(coupling=coupling)
    result = solve_coupled_logistic(
        replace(
            problem,
            source_features=unit * problem.source_features,
            target_features=unit * problem.target_features,
            source_costs=problem.source_costs / unit**2,
            bag_costs=problem.bag_costs / unit**2,
        )
    )
    assert result.converged
    assert result.n_iter < 50


def test_rounding_is_no_failure():
    problem = make_problem(labelled=True, with_source=False)
    far = replace(problem, target_features=1e4 * problem.target_features + 3e4)
    result = solve_coupled_logistic(far, tol=1e-14)
    assert result.converged


def test_larger_costs_never_lower_the_likelihood():
    problem = make_problem()
    values = []
    start = None
    for cost in (0.1, 1.0, 10.0, 100.0):
        result = solve_coupled_logistic(
            replace(problem, bag_costs=np.full(10, cost)), start=start, tol=1e-8
        )
        start = result.machines
        scores = problem.target_features @ start.target_weights + start.target_intercept
        values.append(count_posterior(scores, problem.counts).log_likelihood.sum())
    assert np.all(np.diff(values) > -1e-9)


def test_a_region_that_starts_far_too_large_is_no_convergence():
    problem = make_problem(labelled=True, with_source=False)
    costs = np.ones(40)
    expected = solved(replace(problem, bag_costs=1e10 * costs))
    # The same problem in other units: features a hundred thousand times as large.
    far = replace(problem, target_features=1e5 * problem.target_features, bag_costs=costs)
    found = solve_coupled_logistic(far)
    np.testing.assert_allclose(
        1e5 * found.machines.target_weights, expected.machines.target_weights, rtol=1e-4
    )


# Noise laws -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_curvature_in_the_intercept_is_exact_under_a_law(scale):
    problem = with_law(make_problem(with_source=False), -np.arange(30) / scale)
    objective, v = objective_at_random(problem)
    axis = np.eye(len(v))[-1]
    step = 1e-5
    slopes = [objective.at(v + sign * step * axis).gradient[-1] for sign in (1, -1)]
    expected = (slopes[0] - slopes[1]) / (2 * step)
    found = objective.hessian_product(objective.at(v), axis)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_noise_does_not_slow_the_solver(scale):
    problem = with_law(make_problem(sizes=np.full(40, 8)), -np.arange(60) / scale)
    result = solve_coupled_logistic(problem, tol=1e-6)
    assert result.converged
    assert result.n_iter <= 40
