# SPDX-License-Identifier: BSD-3-Clause
"""The coupled least-squares machines against their primal problem, refits and known machines."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bagshift.solvers import CoupledLeastSquaresProblem, solve_coupled_least_squares

COUPLINGS = [0.0, 1e-12, 1e-3, 0.125, 1.0, 1e3, 1e8, 1e12, np.inf]
N_SOURCE, N_TARGET, N_FEATURES = 9, 6, 4


def make_features(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N_SOURCE + N_TARGET, N_FEATURES)) + 0.5


def make_problem(coupling=0.125, *, seed=0, c_source=1.0, c_target=4.0, **changes):
    """Unequal costs within both domains, three outputs."""
    rng = np.random.default_rng(seed + 100)
    features = make_features(seed)
    costs = rng.uniform(0.3, 2.0, size=len(features))
    costs[:N_SOURCE] *= c_source
    costs[N_SOURCE:] *= c_target
    problem = CoupledLeastSquaresProblem(
        gram=features @ features.T,
        n_source=N_SOURCE,
        targets=rng.normal(size=(len(features), 3)),
        costs=costs,
        coupling=coupling,
    )
    return replace(problem, **changes)


def solved_primal(problem, features):
    """Weights and intercepts (w_h, b_h, w_c, b_c) of the problem as it is written, as columns."""
    m, p = features.shape
    rows = np.hstack([features, np.ones((m, 1))])
    is_source = np.arange(m)[:, None] < problem.n_source
    if np.isinf(problem.coupling):
        losses, penalties = rows, [np.sqrt(2.0) * np.eye(p, p + 1)]
    else:
        losses = np.hstack([rows * is_source, rows * ~is_source])
        one = np.eye(p, p + 1)
        pull = np.sqrt(problem.coupling) * np.eye(p + 1)
        penalties = [
            np.hstack([one, 0 * one]),
            np.hstack([0 * one, one]),
            np.hstack([pull, -pull]),
        ]
    root = np.sqrt(problem.costs)[:, None]
    matrix = np.vstack([root * losses, *penalties])
    wanted = np.zeros((len(matrix), problem.targets.shape[1]))
    wanted[:m] = root * problem.targets
    # Twice: the second time for what rounding left, which large couplings make much of.
    q, r = np.linalg.qr(matrix)
    found = np.linalg.solve(r, q.T @ wanted)
    found += np.linalg.solve(r, q.T @ (wanted - matrix @ found))
    value = 0.5 * ((wanted - matrix @ found) ** 2).sum(axis=0)
    halves = np.split(np.vstack([found, found]) if np.isinf(problem.coupling) else found, 2)
    return halves, value


def machines(problem, result, features):
    """Return (w_h, b_h), (w_c, b_c) with intercepts as last rows."""
    return [
        np.vstack([features.T @ coefficients, intercept])
        for coefficients, intercept in (
            (result.source_coefficients, result.intercept_source),
            (result.target_coefficients, result.intercept_target),
        )
    ]


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("costs", [(1.0, 4.0), (100.0, 0.01), (1e-3, 1e3), (1e3, 1e3)])
def test_solves_the_primal_problem(coupling, costs):
    features = make_features()
    problem = make_problem(coupling, c_source=costs[0], c_target=costs[1])
    result = solve_coupled_least_squares(problem)
    expected, value = solved_primal(problem, features)
    for found, wanted in zip(machines(problem, result, features), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8)
    np.testing.assert_allclose(result.objective, value, rtol=1e-8)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_conditions_of_optimality(coupling):
    problem = make_problem(coupling)
    result = solve_coupled_least_squares(problem)
    n = problem.n_source
    scores = np.vstack(
        [
            problem.gram[:n] @ result.source_coefficients + result.intercept_source,
            problem.gram[n:] @ result.target_coefficients + result.intercept_target,
        ]
    )
    missed = problem.costs[:, None] * (problem.targets - scores)
    np.testing.assert_allclose(result.dual, missed, atol=1e-11)
    np.testing.assert_allclose(result.dual.sum(axis=0), 0.0, atol=1e-12)
    pull = result.dual[:n].sum(axis=0)
    if coupling < 1e4:
        apart = result.intercept_source - result.intercept_target
        np.testing.assert_allclose(pull, coupling * apart, atol=1e-11)


def refitted_residuals(problem):
    residuals = []
    for k in range(len(problem.costs)):
        costs = problem.costs.copy()
        costs[k] = 0.0
        result = solve_coupled_least_squares(replace(problem, costs=costs), leave_out="all")
        residuals.append(result.left_out_residuals[k])
        is_source = k < problem.n_source
        machine = result.source_coefficients if is_source else result.target_coefficients
        shift = result.intercept_source if is_source else result.intercept_target
        score = problem.gram[k] @ machine + shift
        np.testing.assert_allclose(problem.targets[k] - score, residuals[-1], atol=1e-12)
    return np.array(residuals)


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("costs", [(1.0, 4.0), (100.0, 0.01), (1e-3, 1e3)])
def test_left_out_units_equal_refits(coupling, costs):
    problem = make_problem(coupling, c_source=costs[0], c_target=costs[1])
    expected = refitted_residuals(problem)
    whole = solve_coupled_least_squares(problem, leave_out="all")
    np.testing.assert_allclose(whole.left_out_residuals, expected, rtol=1e-8, atol=1e-8)
    part = solve_coupled_least_squares(problem)
    np.testing.assert_allclose(
        part.left_out_residuals, expected[problem.n_source :], rtol=1e-8, atol=1e-8
    )
    none = solve_coupled_least_squares(problem, leave_out="none")
    assert none.left_out_residuals.shape == (0, 3)


@pytest.mark.parametrize("n_source", [0, N_SOURCE + N_TARGET])
def test_left_out_units_of_one_machine_equal_refits(n_source):
    problem = make_problem(5.0, n_source=n_source)
    result = solve_coupled_least_squares(problem, leave_out="all")
    np.testing.assert_allclose(result.left_out_residuals, refitted_residuals(problem), atol=1e-8)


def without(problem, k):
    kept = np.arange(len(problem.costs)) != k
    return replace(
        problem,
        gram=np.ascontiguousarray(problem.gram[np.ix_(kept, kept)]),
        n_source=problem.n_source - int(k < problem.n_source),
        targets=problem.targets[kept],
        costs=problem.costs[kept],
    )


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
@pytest.mark.parametrize("k", [0, N_SOURCE, N_SOURCE + N_TARGET - 1])
def test_a_unit_without_cost_is_as_if_it_were_not_there(coupling, k):
    problem = make_problem(coupling)
    costs = problem.costs.copy()
    costs[k] = 0.0
    result = solve_coupled_least_squares(replace(problem, costs=costs))
    expected = solve_coupled_least_squares(without(problem, k))
    assert not result.dual[k].any()
    np.testing.assert_allclose(np.delete(result.dual, k, axis=0), expected.dual, atol=1e-12)
    np.testing.assert_allclose(result.intercept_target, expected.intercept_target, atol=1e-12)


@pytest.mark.parametrize("coupling", [0.0, 1e-9, 0.125, np.inf])
def test_the_only_bag_left_out(coupling):
    """Nothing of the target is left then but what the coupling carries over."""
    problem = make_problem(coupling)
    costs = problem.costs.copy()
    costs[N_SOURCE + 1 :] = 0.0
    problem = replace(problem, costs=costs)
    result = solve_coupled_least_squares(problem)
    expected = refitted_residuals(problem)[N_SOURCE:]
    np.testing.assert_allclose(result.left_out_residuals, expected, rtol=1e-12)
    if coupling == 0:
        np.testing.assert_array_equal(expected[0], problem.targets[N_SOURCE])


def test_a_unit_alone_left_out_leaves_nothing():
    problem = CoupledLeastSquaresProblem(np.ones((1, 1)), 0, [[3.0]], np.ones(1), 0.0)
    result = solve_coupled_least_squares(problem)
    np.testing.assert_allclose(result.intercept_target, [3.0])
    np.testing.assert_array_equal(result.left_out_residuals, [[3.0]])


# Limits -----------------------------------------------------------------------------------


def ridge(features, targets, weights, alpha):
    machine = Ridge(alpha=alpha, solver="cholesky").fit(features, targets, sample_weight=weights)
    return np.vstack([machine.coef_.T, machine.intercept_])


@pytest.mark.parametrize("coupling", [0.0, 1e-13])
def test_no_coupling_gives_two_ridge_regressions(coupling):
    problem, features = make_problem(coupling), make_features()
    result = solve_coupled_least_squares(problem)
    source, target = machines(problem, result, features)
    for found, units in ((source, slice(None, N_SOURCE)), (target, slice(N_SOURCE, None))):
        expected = ridge(features[units], problem.targets[units], problem.costs[units], 1.0)
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("coupling", [1e12, np.inf])
def test_infinite_coupling_gives_one_machine_with_both_regularisers(coupling):
    problem, features = make_problem(coupling), make_features()
    result = solve_coupled_least_squares(problem)
    expected = ridge(features, problem.targets, problem.costs, 2.0)
    for found in machines(problem, result, features):
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("coupling", [1e-3, 0.125, 10.0])
def test_without_target_costs_the_target_machine_shrinks_that_of_the_source(coupling):
    problem, features = make_problem(coupling, c_target=0.0), make_features()
    source, target = machines(problem, solve_coupled_least_squares(problem), features)
    np.testing.assert_allclose(target[:-1], coupling / (1 + coupling) * source[:-1], atol=1e-12)
    np.testing.assert_allclose(target[-1], source[-1], atol=1e-12)


@pytest.mark.parametrize("coupling", [1e-3, 0.125, 10.0, np.inf])
def test_without_source_costs_the_regulariser_grows(coupling):
    problem, features = make_problem(coupling, c_source=0.0), make_features()
    _, target = machines(problem, solve_coupled_least_squares(problem), features)
    factor = 2.0 if np.isinf(coupling) else (1 + 2 * coupling) / (1 + coupling)
    units = slice(N_SOURCE, None)
    expected = ridge(features[units], problem.targets[units], problem.costs[units], factor)
    np.testing.assert_allclose(target, expected, atol=1e-8)


@pytest.mark.parametrize("n_source", [0, N_SOURCE + N_TARGET])
def test_units_of_one_domain_are_one_ridge_regression(n_source):
    problem, features = make_problem(7.0, n_source=n_source), make_features()
    expected = ridge(features, problem.targets, problem.costs, 1.0)
    for found in machines(problem, solve_coupled_least_squares(problem), features):
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
def test_no_costs_at_all_give_zero(coupling):
    result = solve_coupled_least_squares(make_problem(coupling, c_source=0.0, c_target=0.0))
    assert not result.dual.any()
    assert not result.intercept_target.any()
    assert not result.intercept_source.any()
    np.testing.assert_array_equal(result.left_out_residuals, make_problem().targets[N_SOURCE:])


# Invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
def test_outputs_do_not_know_of_each_other(coupling):
    problem = make_problem(coupling)
    together = solve_coupled_least_squares(problem)
    for output in range(3):
        alone = solve_coupled_least_squares(replace(problem, targets=problem.targets[:, [output]]))
        np.testing.assert_allclose(together.dual[:, [output]], alone.dual, atol=1e-13)
        np.testing.assert_allclose(
            together.left_out_residuals[:, [output]], alone.left_out_residuals, atol=1e-12
        )


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
def test_is_linear_in_the_targets(coupling):
    problem = make_problem(coupling)
    mix = np.array([[1.0, -2.0], [0.5, 0.0], [0.0, 3.0]])
    mixed = solve_coupled_least_squares(replace(problem, targets=problem.targets @ mix))
    plain = solve_coupled_least_squares(problem)
    np.testing.assert_allclose(mixed.dual, plain.dual @ mix, atol=1e-12)
    shifted = solve_coupled_least_squares(replace(problem, targets=problem.targets + 5.0))
    np.testing.assert_allclose(shifted.dual, plain.dual, atol=1e-12)
    np.testing.assert_allclose(shifted.intercept_source, plain.intercept_source + 5, atol=1e-12)


def test_the_order_of_units_and_their_weights_say_nothing_new():
    problem = make_problem()
    plain = solve_coupled_least_squares(problem)
    order = np.concatenate(
        [np.random.default_rng(0).permutation(N_SOURCE), np.arange(N_SOURCE, N_SOURCE + N_TARGET)]
    )
    # The first unit twice, each time at half of its cost.
    order = np.concatenate([[0], order])
    costs = problem.costs[order]
    costs[order == 0] /= 2
    shuffled = CoupledLeastSquaresProblem(
        problem.gram[np.ix_(order, order)],
        N_SOURCE + 1,
        problem.targets[order],
        costs,
        problem.coupling,
    )
    result = solve_coupled_least_squares(shuffled)
    np.testing.assert_allclose(result.intercept_target, plain.intercept_target, atol=1e-12)
    np.testing.assert_allclose(result.objective, plain.objective, rtol=1e-12)
    np.testing.assert_allclose(result.left_out_residuals, plain.left_out_residuals, atol=1e-12)


# Numbers that are hard --------------------------------------------------------------------


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
@pytest.mark.parametrize("cost", [1e-30, 1e-8])
def test_tiny_costs_leave_the_weighted_mean(coupling, cost):
    problem = make_problem(coupling, c_source=cost, c_target=cost)
    result = solve_coupled_least_squares(problem, leave_out="all")
    units = slice(N_SOURCE if coupling == 0 else 0, None)
    mean = np.average(problem.targets[units], axis=0, weights=problem.costs[units])
    if coupling != 0.125:
        np.testing.assert_allclose(result.intercept_target, mean, atol=1e-6)
    np.testing.assert_allclose(result.left_out_residuals, refitted_residuals(problem), atol=1e-8)


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
def test_large_costs_end_in_least_squares(coupling):
    features = make_features()
    problem = make_problem(coupling, c_source=1e6, c_target=1e6)
    result = solve_coupled_least_squares(problem)
    expected, _ = solved_primal(problem, features)
    for found, wanted in zip(machines(problem, result, features), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-7)
    assert result.score_error < 1e-7


@pytest.mark.parametrize("cost", [1e12, 1e16, 1e20, 1e40, 1e150])
@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
def test_what_huge_costs_lose_is_told(coupling, cost):
    """Of rank four and more units than that: rounding must not be taken for a direction."""
    problem = make_problem(coupling, c_source=cost, c_target=cost)
    result = solve_coupled_least_squares(problem)
    assert np.isfinite(result.left_out_residuals).all()
    scores = problem.gram[N_SOURCE:] @ result.target_coefficients + result.intercept_target
    expected, _ = solved_primal(
        make_problem(coupling, c_source=1e8, c_target=1e8), make_features()
    )
    wanted = make_features()[N_SOURCE:] @ expected[1][:-1] + expected[1][-1]
    assert np.abs(scores - wanted).max() < 10 * result.score_error + 1e-6


@pytest.mark.parametrize("cost", [1e12, 1e20])
def test_huge_costs_interpolate_where_the_kernel_can(cost):
    features = make_features()
    gram = np.exp(-((features[:, None] - features[None]) ** 2).sum(axis=2))
    problem = make_problem(gram=gram, c_source=cost, c_target=cost)
    result = solve_coupled_least_squares(problem)
    scores = gram[N_SOURCE:] @ result.target_coefficients + result.intercept_target
    np.testing.assert_allclose(scores, problem.targets[N_SOURCE:], atol=1e-8)
    assert result.score_error < 1e-8


def test_far_from_the_origin_as_near_it_when_machines_are_apart_or_one():
    features = make_features()
    far = features + 1000.0
    for coupling in (0.0, np.inf):
        near = make_problem(coupling)
        there = replace(near, gram=far @ far.T)
        np.testing.assert_allclose(
            solve_coupled_least_squares(there).left_out_residuals,
            solve_coupled_least_squares(near).left_out_residuals,
            atol=1e-6,
        )


def test_single_precision():
    problem = make_problem()
    single = replace(problem, gram=problem.gram.astype(np.float32))
    result = solve_coupled_least_squares(single)
    assert result.dual.dtype == np.float64
    np.testing.assert_allclose(result.dual, solve_coupled_least_squares(problem).dual, atol=1e-4)


def test_a_kernel_that_is_not_positive_semidefinite_is_taken_for_the_nearest_that_is():
    problem = make_problem(n_source=0, costs=np.full(N_SOURCE + N_TARGET, 1e3))
    values, vectors = np.linalg.eigh(problem.gram)
    values[:3] = -1.0
    result = solve_coupled_least_squares(
        replace(problem, gram=np.ascontiguousarray((vectors * values) @ vectors.T))
    )
    values[:3] = 0.0
    expected = solve_coupled_least_squares(
        replace(problem, gram=np.ascontiguousarray((vectors * values) @ vectors.T))
    )
    np.testing.assert_allclose(result.dual, expected.dual, atol=1e-7)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"targets": np.zeros(3)}, r"targets must have shape \(15, n_outputs\), one row"),
        ({"targets": np.full((15, 1), np.nan)}, "targets holds values that are not finite"),
        ({"costs": np.ones(3)}, r"costs must have shape \(15,\)"),
        ({"costs": np.full(15, -1.0)}, "costs must not be negative"),
        ({"coupling": -1.0}, "coupling must be a number from 0 to inf: -1.0"),
        ({"coupling": np.nan}, "coupling must be a number from 0 to inf: nan"),
        ({"n_source": 16}, "n_source must be from 0 to 15, the size of gram: 16"),
        ({"gram": np.ones((15, 2))}, "gram must be square"),
    ],
)
def test_what_is_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_problem(**changes)


def test_costs_that_leave_the_range_of_numbers_are_refused():
    problem = make_problem(costs=np.full(N_SOURCE + N_TARGET, 1e308))
    with pytest.raises(ValueError, match="The costs times the entries of gram leave the range"):
        solve_coupled_least_squares(problem)
