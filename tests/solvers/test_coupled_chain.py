# SPDX-License-Identifier: BSD-3-Clause
"""Chains of programs against programs solved one by one."""

from dataclasses import replace

import numpy as np
import pytest

from bagshift.solvers import CoupledProblem, solve_coupled, solve_coupled_chain

COSTS = 2.0 ** np.arange(-4, 5, 2)
COUPLINGS = (0.0, 1e-3, 2.0**-6, 1.0, 2.0**11, np.inf)


def alone(problem, source_cost, target_cost, coupling, *, tol):
    n = problem.n_source
    cost = np.where(np.arange(problem.targets.size) < n, source_cost, target_cost)
    return solve_coupled(
        replace(
            problem, lower=cost * problem.lower, upper=cost * problem.upper, coupling=coupling
        ),
        tol=tol,
    )


def settings(ratio):
    costs = np.repeat(COSTS, len(COUPLINGS))
    return ratio * costs, costs, np.tile(COUPLINGS, len(COSTS))


@pytest.mark.parametrize("ratio", [0.25, 1.0, 4.0])
def test_a_chain_gives_what_single_programs_give(make_task, ratio):
    problem = make_task(3).problem(1.0, 1.0, 1.0)
    chain = solve_coupled_chain(problem, *settings(ratio), tol=1e-8)
    assert chain.converged.all()
    for s, setting in enumerate(zip(*settings(ratio), strict=True)):
        single = alone(problem, *setting, tol=1e-8)
        assert chain.dual_objective[s] == pytest.approx(single.dual_objective, rel=1e-9)
        assert chain.objective[s] == pytest.approx(single.objective, rel=1e-7)
        low, high = single.intercept_interval
        assert low - 1e-5 <= chain.intercept_target[s] <= high + 1e-5
        weights = problem.gram @ chain.target_coefficients[s]
        scores = weights + chain.intercept_target[s]
        np.testing.assert_allclose(chain.scores(problem.gram)[:, s], scores, atol=1e-12)
        expected = problem.gram @ single.target_coefficients
        np.testing.assert_allclose(weights, expected, atol=1e-5)
        expected = problem.gram @ single.source_coefficients + chain.intercept_source[s]
        np.testing.assert_allclose(chain.source_scores(problem.gram)[:, s], expected, atol=1e-5)
        low, high = single.intercept_source_interval
        assert low - 1e-5 <= chain.intercept_source[s] <= high + 1e-5
        assert 0 <= chain.dual_gap[s] <= single.gap_bound
        assert chain.kkt_gap[s] < 1e-8


def test_any_order_and_costs_of_zero_are_allowed(make_task):
    problem = make_task(5).problem(1.0, 1.0, 1.0)
    rng = np.random.default_rng(0)
    source, target, couplings = (
        rng.choice(values, size=60)
        for values in ([0.0, 0.5, 1.0, 8.0], [0.0, 0.5, 2.0], [0.0, 0.1, 4.0])
    )
    chain = solve_coupled_chain(problem, source, target, couplings, tol=1e-8)
    for s, setting in enumerate(zip(source, target, couplings, strict=True)):
        single = alone(problem, *setting, tol=1e-8)
        assert chain.dual_objective[s] == pytest.approx(single.dual_objective, abs=1e-7)


@pytest.mark.parametrize("domain", ["source", "target"])
def test_one_machine(make_task, domain):
    whole = make_task(1).problem(1.0, 1.0, 1.0)
    n = whole.n_source
    units = slice(None, n) if domain == "source" else slice(n, None)
    problem = CoupledProblem(
        gram=np.ascontiguousarray(whole.gram[units, units]),
        n_source=n if domain == "source" else 0,
        targets=whole.targets[units],
        half_widths=whole.half_widths[units],
        lower=whole.lower[units],
        upper=whole.upper[units],
        coupling=0.0,
    )
    chain = solve_coupled_chain(problem, COSTS, COSTS, np.ones(len(COSTS)), tol=1e-8)
    for s, cost in enumerate(COSTS):
        single = alone(problem, cost, cost, 1.0, tol=1e-8)
        assert chain.dual_objective[s] == pytest.approx(single.dual_objective, rel=1e-9)
        assert chain.intercept_source[s] == chain.intercept_target[s]
        np.testing.assert_allclose(
            chain.target_coefficients[s], single.target_coefficients, atol=1e-5
        )


def test_single_precision(make_task):
    task = make_task(2)
    problem = task.problem(1.0, 1.0, 1.0, dtype=np.float32)
    chain = solve_coupled_chain(problem, *settings(1.0), tol=1e-5)
    exact = solve_coupled_chain(task.problem(1.0, 1.0, 1.0), *settings(1.0), tol=1e-5)
    assert chain.converged.all()
    np.testing.assert_allclose(chain.dual_objective, exact.dual_objective, rtol=1e-4)


def test_later_settings_begin_from_earlier_ones(make_task):
    problem = make_task(4, n_source=60, n_bags=10).problem(1.0, 1.0, 1.0)
    chain = solve_coupled_chain(problem, *settings(1.0))
    cold = sum(
        alone(problem, *setting, tol=1e-3).n_iter for setting in zip(*settings(1.0), strict=True)
    )
    assert chain.n_iter.sum() < 0.5 * cold


def test_two_machines_may_follow_one():
    """The sum over the source means nothing under an infinite coupling, and much after it."""
    targets = np.array([1.0, -1.234, -1.562, 0.508, -1.0, -1.0, -1.0, -1.0, 1.0])
    problem = CoupledProblem(
        gram=np.ones((9, 9)),
        n_source=6,
        targets=targets,
        half_widths=np.array([0.0, 3e-4, 4e-4, 0.98, 0.0, 0.0, 0.0, 0.0, 0.0]),
        lower=np.array([0.0, -1.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
        upper=np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        coupling=1.0,
    )
    source = np.array([1e4, 1.0, 0.1, 0.1, 0.1])
    couplings = [0.01, np.inf, 1e6, np.inf, 2.0]
    chain = solve_coupled_chain(problem, source, source / 10, couplings, tol=1e-8)
    np.testing.assert_allclose(chain.dual.sum(axis=1), 0.0, atol=1e-12)
    for s, setting in enumerate(zip(source, source / 10, couplings, strict=True)):
        single = alone(problem, *setting, tol=1e-8)
        assert chain.dual_objective[s] == pytest.approx(single.dual_objective, rel=1e-7)


def test_no_settings_at_all(make_task):
    chain = solve_coupled_chain(make_task(0).problem(1.0, 1.0, 1.0), [], [], [])
    assert chain.dual.shape == (0, 30)


@pytest.mark.parametrize(
    ("source", "target", "couplings", "tol", "sentence"),
    [
        ([1.0], [1.0, 2.0], [1.0], 1e-3, "same length"),
        ([-1.0], [1.0], [1.0], 1e-3, "none of them negative"),
        ([1.0], [np.inf], [1.0], 1e-3, "finite"),
        ([1.0], [1.0], [np.nan], 1e-3, "from 0 to inf"),
        ([1.0], [1.0], [1.0], 0.0, "tol must be"),
    ],
)
def test_what_does_not_fit_is_refused(make_task, source, target, couplings, tol, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve_coupled_chain(
            make_task(0).problem(1.0, 1.0, 1.0), source, target, couplings, tol=tol
        )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([1.0, 1.0, 1.0], [1e-16, 1e-14, 1e-13]),
        ([1e-13, 0.0, 1e-13], [1.0, 1.0, 1.0]),
        ([1.0, 3.0, 9.0], [1.0, 3.0, 9.0]),
        ([1.0, 1.0 + 1e-13], [1.0, 1.0]),
        ([1e-308, 1e3], [1e-308, 1e3]),
    ],
    ids=["no bags", "no source", "powers of three", "rounding", "overflow"],
)
def test_costs_in_nearly_the_same_ratio(make_task, source, target):
    problem = make_task(3).problem(1.0, 1.0, 1.0)
    chain = solve_coupled_chain(problem, source, target, np.ones(len(source)), tol=1e-6)
    for s, costs in enumerate(zip(source, target, strict=True)):
        single = alone(problem, *costs, 1.0, tol=1e-6)
        assert chain.objective[s] == pytest.approx(single.objective, rel=1e-6)
        is_source = np.arange(len(problem.targets)) < problem.n_source
        cost = np.where(is_source, *costs)
        assert np.all(cost * problem.lower <= chain.dual[s])
        assert np.all(chain.dual[s] <= cost * problem.upper)


def test_a_limit_is_for_both_of_two_machines(make_task):
    problem = make_task(3).problem(1.0, 1.0, 1.0)
    chain = solve_coupled_chain(problem, [8.0], [8.0], [0.0], max_iter=5)
    assert chain.n_iter == 5
    assert not chain.converged
