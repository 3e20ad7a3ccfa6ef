# SPDX-License-Identifier: BSD-3-Clause
"""Where the coupled machine becomes a known one, it must equal that one."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from bagshift.solvers import solve_coupled

EXACT = 1e-9


def decisions(problem, coefficients, intercept):
    return problem.gram.astype(float) @ coefficients + intercept


def target_decisions(problem, result):
    return decisions(problem, result.target_coefficients, result.intercept_target)


def source_decisions(problem, result):
    return decisions(problem, result.source_coefficients, result.intercept_source)


def block(problem, units):
    return problem.gram[units, units]


def fitted_svc(gram, labels, c, sample_weight=None):
    machine = SVC(kernel="precomputed", C=c, tol=EXACT)
    return machine.fit(gram, labels, sample_weight=sample_weight)


@pytest.mark.parametrize("c", [2.0**-4, 1.0, 64.0])
@pytest.mark.parametrize("seed", range(3))
def test_labels_alone_equal_svc(make_task, one_machine, c, seed):
    task = make_task(seed)
    gram = task.source @ task.source.T
    problem = one_machine(gram, task.labels, c=c, labelled=True)
    result = solve_coupled(problem, tol=EXACT)
    expected = fitted_svc(gram, task.labels, c)
    np.testing.assert_allclose(
        target_decisions(problem, result), expected.decision_function(gram), atol=1e-4
    )


def test_weighted_labels_equal_svc_with_sample_weight(make_task):
    task = make_task(0)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, size=len(task.labels))
    problem = task.problem(0.0, 1.0, 1.0)
    n = problem.n_source
    scale = np.concatenate([weight, np.ones(len(task.shares))])
    problem = replace(problem, lower=problem.lower * scale, upper=problem.upper * scale)
    result = solve_coupled(problem, tol=EXACT)
    gram = task.source @ task.source.T
    expected = fitted_svc(gram, task.labels, 1.0, weight).decision_function(gram)
    np.testing.assert_allclose(source_decisions(problem, result)[:n], expected, atol=1e-4)


@pytest.mark.parametrize("c", [2.0**-4, 1.0, 64.0])
@pytest.mark.parametrize("seed", range(3))
def test_constant_tube_without_source_equals_svr(make_task, one_machine, c, seed):
    task = make_task(seed, n_bags=20)
    centre = task.problem(1.0, 1.0, 1.0).targets[len(task.labels) :]
    gram = task.bag_means @ task.bag_means.T
    problem = one_machine(gram, centre, c=c, half_widths=np.full(len(centre), 0.1))
    result = solve_coupled(problem, tol=EXACT)
    expected = SVR(kernel="precomputed", C=c, epsilon=0.1, tol=EXACT).fit(gram, centre)
    np.testing.assert_allclose(
        target_decisions(problem, result), expected.predict(gram), atol=1e-4
    )


@pytest.mark.parametrize("coupling", [0.0, 1e-6])
def test_no_coupling_gives_two_separate_machines(make_task, one_machine, coupling):
    task = make_task(0)
    problem = task.problem(coupling, 1.0, 1.0)
    n = problem.n_source
    result = solve_coupled(problem, tol=EXACT)

    labels_only = fitted_svc(block(problem, slice(None, n)), task.labels, 1.0)
    np.testing.assert_allclose(
        source_decisions(problem, result)[:n],
        labels_only.decision_function(block(problem, slice(None, n))),
        atol=1e-4,
    )
    bags_only = one_machine(
        np.ascontiguousarray(block(problem, slice(n, None))),
        problem.targets[n:],
        c=1.0,
        half_widths=problem.half_widths[n:],
    )
    expected = target_decisions(bags_only, solve_coupled(bags_only, tol=EXACT))
    np.testing.assert_allclose(target_decisions(problem, result)[n:], expected, atol=1e-4)


@pytest.mark.parametrize("coupling", [5e-324, 1e-14, 1e-12, 1e-8])
@pytest.mark.parametrize("c", [1.0, 2.0**10])
def test_no_coupling_equals_its_limit_in_objective(make_task, coupling, c):
    """The source sum is divided by the coupling: its last bits must not matter."""
    task = make_task(1)
    apart = solve_coupled(task.problem(0.0, c, c), tol=1e-6)
    nearly = solve_coupled(task.problem(coupling, c, c), tol=1e-6)
    assert apart.converged
    assert nearly.converged
    assert apart.objective == pytest.approx(nearly.objective, rel=1e-6)
    assert apart.dual[: apart.n_source].sum() == pytest.approx(0.0, abs=1e-13 * c)
    assert apart.dual[apart.n_source :].sum() == pytest.approx(0.0, abs=1e-13 * c)


@pytest.mark.parametrize("coupling", [1e6, np.inf])
def test_infinite_coupling_is_one_machine_with_both_regularisers(make_task, one_machine, coupling):
    """One f that minimises ‖w‖² + losses: factor 1, not one half."""
    task = make_task(2)
    problem = task.problem(coupling, 1.0, 1.0)
    result = solve_coupled(problem, tol=EXACT)
    pooled = replace(problem, gram=problem.gram / 2, n_source=0, coupling=0.0)
    expected = target_decisions(pooled, solve_coupled(pooled, tol=EXACT))
    np.testing.assert_allclose(target_decisions(problem, result), expected, atol=1e-4)
    np.testing.assert_allclose(source_decisions(problem, result), expected, atol=1e-4)


def test_infinite_coupling_has_one_intercept(make_task):
    result = solve_coupled(make_task(2).problem(np.inf, 1.0, 1.0))
    assert (result.within, result.across) == (0.5, 0.5)
    assert result.intercept_source == result.intercept_target
    np.testing.assert_array_equal(result.target_coefficients, result.source_coefficients)


@pytest.mark.parametrize("coupling", [0.25, 4.0])
def test_bags_without_weight_shrink_the_source_machine(make_task, coupling):
    """C_target = 0: w_c = λ / (1 + λ) w_h and b_c = b_h."""
    task = make_task(3)
    result = solve_coupled(task.problem(coupling, 1.0, 0.0), tol=EXACT)
    w_target = task.features.T @ result.target_coefficients
    w_source = task.features.T @ result.source_coefficients
    np.testing.assert_allclose(w_target, coupling / (1 + coupling) * w_source, atol=1e-12)
    assert result.intercept_target == pytest.approx(result.intercept_source, abs=1e-12)


@pytest.mark.parametrize("coupling", [0.25, 4.0])
def test_source_without_weight_leaves_a_scaled_target_machine(make_task, one_machine, coupling):
    """C_source = 0: the target machine alone, on the Gram matrix scaled by ρ₁."""
    task = make_task(3)
    problem = task.problem(coupling, 0.0, 1.0)
    n = problem.n_source
    result = solve_coupled(problem, tol=EXACT)
    alone = one_machine(
        result.within * block(problem, slice(n, None)),
        problem.targets[n:],
        c=1.0,
        half_widths=problem.half_widths[n:],
    )
    expected = target_decisions(alone, solve_coupled(alone, tol=EXACT))
    np.testing.assert_allclose(target_decisions(problem, result)[n:], expected, atol=1e-4)
    assert not result.dual[:n].any()


@pytest.mark.parametrize("coupling", [0.0, 0.25, np.inf])
def test_swapping_the_classes_negates_the_machines(make_task, coupling):
    task = make_task(1)
    swapped = replace(task, labels=-task.labels, shares=1 - task.shares)
    problem, mirror = task.problem(coupling, 1.0, 2.0), swapped.problem(coupling, 1.0, 2.0)
    result = solve_coupled(problem, tol=EXACT)
    mirrored = solve_coupled(mirror, tol=EXACT)
    for of in (target_decisions, source_decisions):
        np.testing.assert_allclose(of(problem, result), -of(mirror, mirrored), atol=1e-6)


def test_repeating_every_unit_at_half_the_weight_changes_nothing(make_task, one_machine):
    task = make_task(0)
    centre = task.problem(1.0, 1.0, 1.0).targets[len(task.labels) :]
    gram = task.bag_means @ task.bag_means.T
    once = one_machine(gram, centre, c=1.0)
    twice = one_machine(np.tile(gram, (2, 2)), np.tile(centre, 2), c=0.5)
    first = solve_coupled(once, tol=EXACT)
    second = solve_coupled(twice, tol=EXACT)
    assert second.objective == pytest.approx(first.objective, rel=1e-9)
    np.testing.assert_allclose(
        target_decisions(twice, second)[: len(centre)], target_decisions(once, first), atol=1e-6
    )


def test_labelled_units_may_stand_in_the_target_block(make_task):
    """Hinge units among the bags: with infinite coupling the domain of a unit does not matter."""
    task = make_task(4)
    problem = task.problem(np.inf, 1.0, 1.0)
    moved = replace(problem, n_source=problem.n_source // 2)
    first, second = solve_coupled(problem, tol=EXACT), solve_coupled(moved, tol=EXACT)
    assert second.objective == pytest.approx(first.objective, rel=1e-10)
    np.testing.assert_allclose(
        target_decisions(problem, first), target_decisions(moved, second), atol=1e-6
    )
