# SPDX-License-Identifier: BSD-3-Clause
"""What the TGPLM paper proves, and its formulas as corrected here, each as a test."""

import numpy as np
import pytest

from bagshift.solvers import coupling_weights, solve_coupled
from bagshift.solvers.reference import beta_dual

COUPLINGS = (2.0**-6, 1.0, 2.0**11)


def split_beta(problem, dual):
    """alpha of the source rows, and alpha, alpha* of the bags, from the signed variables."""
    n = problem.n_source
    return np.abs(dual[:n]), np.maximum(dual[n:], 0), np.maximum(-dual[n:], 0)


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("seed", range(5))
def test_dual_matrix_is_positive_semidefinite(make_task, coupling, seed):
    matrix = beta_dual(make_task(seed).problem(coupling, 1.0, 1.0)).matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12 * np.abs(matrix).max()


def test_dual_has_one_variable_per_source_row_and_two_per_bag(make_task):
    task = make_task(0)
    n, d = len(task.labels), len(task.shares)
    dual = beta_dual(task.problem(1.0, 2.0, 3.0))
    assert dual.matrix.shape == (n + 2 * d, n + 2 * d)
    np.testing.assert_array_equal(dual.equality, [*task.labels, *[1] * d, *[-1] * d])
    np.testing.assert_array_equal(dual.upper, [2.0] * n + [3.0] * (2 * d))


def test_linear_term_of_dual_is_minus_one_on_source_rows(make_task):
    """The paper prints zeros there, with which source labels would have no margin."""
    task = make_task(0)
    problem = task.problem(1.0, 1.0, 1.0)
    n = problem.n_source
    centre, half_width = problem.targets[n:], problem.half_widths[n:]
    expected = np.concatenate([-np.ones(n), half_width - centre, half_width + centre])
    np.testing.assert_allclose(beta_dual(problem).linear, expected)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_dual_objective_equals_primal_objective(make_task, coupling):
    problem = make_task(1).problem(coupling, 1.0, 1.0)
    result = solve_coupled(problem, tol=1e-9)
    dual = beta_dual(problem)
    beta = np.concatenate(split_beta(problem, result.dual))
    np.testing.assert_allclose(dual.to_signed(beta), result.dual)
    assert -dual.objective(beta) == pytest.approx(result.objective, rel=1e-8)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_formula_18_gives_stationary_weights(make_task, coupling):
    """w_c = (λu + (1+λ)v) / (1+2λ), as printed, and its missing twin w_h."""
    task = make_task(2)
    result = solve_coupled(task.problem(coupling, 1.0, 1.0), tol=1e-9)
    alpha, raise_, lower = split_beta(task.problem(coupling, 1.0, 1.0), result.dual)
    u = task.source.T @ (alpha * task.labels)
    v = task.bag_means.T @ (raise_ - lower)
    w_target = (coupling * u + (1 + coupling) * v) / (1 + 2 * coupling)
    w_source = ((1 + coupling) * u + coupling * v) / (1 + 2 * coupling)

    np.testing.assert_allclose(task.features.T @ result.target_coefficients, w_target, atol=1e-12)
    np.testing.assert_allclose(task.features.T @ result.source_coefficients, w_source, atol=1e-12)
    # Stationarity of the Lagrangian in w_h and w_c.
    scale = 1 + coupling
    np.testing.assert_allclose(scale * w_source - coupling * w_target, u, atol=1e-9 * scale)
    np.testing.assert_allclose(scale * w_target - coupling * w_source, v, atol=1e-9 * scale)


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("seed", range(4))
def test_formula_19_gives_target_intercept_with_its_tube_term(make_task, coupling, seed):
    """Every free bag gives b_c = t - (+-)ε - w_c'm; the paper leaves the tube term out."""
    task = make_task(seed)
    problem = task.problem(coupling, 4.0, 4.0, tube=0.5)
    result = solve_coupled(problem, tol=1e-9)
    n = problem.n_source
    _, raise_, lower = split_beta(problem, result.dual)
    score = task.bag_means @ (task.features.T @ result.target_coefficients)
    raised = (raise_ > 0) & (raise_ < 4.0)
    lowered = (lower > 0) & (lower < 4.0)
    assert (raised | lowered).any()

    centre, half_width = problem.targets[n:], problem.half_widths[n:]
    np.testing.assert_allclose(
        (centre - half_width - score)[raised], result.intercept_target, atol=1e-7
    )
    np.testing.assert_allclose(
        (centre + half_width - score)[lowered], result.intercept_target, atol=1e-7
    )


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_source_intercept_follows_from_target_intercept(make_task, coupling):
    """b_h = b_c + (1/λ) y'α^h, and y_i - w_h'x_i at every free source row."""
    task = make_task(3)
    result = solve_coupled(task.problem(coupling, 1.0, 1.0), tol=1e-10)
    z = result.dual[: len(task.labels)]
    shift = z.sum() / coupling
    assert result.intercept_source - result.intercept_target == pytest.approx(shift, abs=1e-12)
    free = (np.abs(z) > 0) & (np.abs(z) < 1)
    assert free.any()
    score = task.source @ (task.features.T @ result.source_coefficients)
    np.testing.assert_allclose((task.labels - score)[free], result.intercept_source, atol=1e-8)


def test_weights_couple_the_machines():
    for coupling in COUPLINGS:
        within, across = coupling_weights(coupling)
        assert within == pytest.approx((1 + coupling) / (1 + 2 * coupling), rel=1e-15)
        assert across == pytest.approx(coupling / (1 + 2 * coupling), rel=1e-15)
        assert within >= across > 0
