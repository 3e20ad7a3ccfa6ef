# SPDX-License-Identifier: BSD-3-Clause
"""Polishing reaches the optimum to rounding and never makes a solution worse."""

import numpy as np
import pytest

from bagshift.solvers import CoupledProblem, solve_coupled
from bagshift.solvers.polish import polish, solve_sharply


def random_problem(seed, coupling, cost=4.0, n_source=20, n_bags=10, dimension=3):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_source + n_bags, dimension))
    rows[1::4] = rows[::4][: len(rows[1::4])]  # duplicates: a singular system
    signs = np.where(np.arange(n_source) % 2, 1.0, -1.0)
    return CoupledProblem(
        gram=rows @ rows.T,
        n_source=n_source,
        targets=np.concatenate([signs, rng.normal(size=n_bags)]),
        half_widths=np.concatenate([np.zeros(n_source), np.full(n_bags, 0.05)]),
        lower=np.concatenate([np.where(signs > 0, 0, -cost), np.full(n_bags, -cost)]),
        upper=np.concatenate([np.where(signs > 0, cost, 0), np.full(n_bags, cost)]),
        coupling=coupling,
    )


@pytest.mark.parametrize("cost", [2**-8, 1.0, 64.0])
@pytest.mark.parametrize("coupling", [0.0, 1e-16, 1e-12, 1e-8, 2**-6, 1.0, 2.0**11, np.inf])
def test_polished_solutions_agree_with_a_long_run(coupling, cost):
    for seed in range(10):
        problem = random_problem(seed, coupling, cost)
        rough = solve_coupled(problem, tol=1e-2)
        sharp = polish(problem, rough)
        exact = solve_coupled(problem, tol=1e-11)
        assert sharp.converged
        assert sharp.n_iter >= rough.n_iter
        assert sharp.kkt_gap <= max(rough.kkt_gap, 1e-9)
        assert sharp.dual_gap <= rough.dual_gap + 1e-12
        scale = 1 + abs(exact.objective)
        assert sharp.dual_gap <= 1e-8 * scale
        # Weak couplings turn the last bits of z into scores, by 1/coupling, so neither solution
        # need reach its tolerance. The primal value moves with the first power of such an error:
        # by weak duality it lies within its own gap above the optimum, and nothing closer holds.
        # The dual value moves with the square, so it has to agree up to the rounding of its sums.
        rounding = 1e-12 * scale
        apart = abs(sharp.objective - exact.objective)
        assert apart <= max(sharp.dual_gap, exact.dual_gap) + rounding
        assert abs(sharp.dual_objective - exact.dual_objective) <= rounding
        assert np.all(sharp.dual >= problem.lower)
        assert np.all(sharp.dual <= problem.upper)


@pytest.mark.parametrize("cost", [2**-8, 1.0, 64.0, 2.0**20])
@pytest.mark.parametrize("coupling", [0.0, 2**-6, np.inf])
def test_a_sharp_solution_is_a_polished_one(coupling, cost):
    for seed in range(5):
        problem = random_problem(seed, coupling, cost)
        rough = solve_coupled(problem, tol=1e-2)
        polished, sharp = polish(problem, rough), solve_sharply(problem, tol=1e-2)
        assert sharp.converged
        assert sharp.kkt_gap <= max(polished.kkt_gap, 1e-9)
        assert sharp.gap_bound == pytest.approx(polished.gap_bound, rel=1e-12)
        assert sharp.objective == pytest.approx(polished.objective, rel=1e-8)


@pytest.mark.parametrize("max_iter", [1, 5])
def test_a_sharp_solution_keeps_the_limit_on_iterations(max_iter):
    problem = random_problem(0, 1.0)
    sharp = solve_sharply(problem, tol=1e-2, max_iter=max_iter)
    assert not sharp.converged
    assert sharp.n_iter == max_iter


def test_results_that_did_not_converge_are_left_alone():
    problem = random_problem(0, 1.0)
    result = solve_coupled(problem, max_iter=2)
    assert polish(problem, result) is result


def test_steps_that_cost_more_than_was_spent_are_not_taken():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 400))
    signs = np.where(np.arange(300) % 2, 1.0, -1.0)
    problem = CoupledProblem(
        gram=rows @ rows.T,
        n_source=0,
        targets=signs,
        half_widths=np.zeros(300),
        lower=np.where(signs > 0, 0.0, -1e3),
        upper=np.where(signs > 0, 1e3, 0.0),
        coupling=0.0,
    )
    result = solve_coupled(problem, tol=1e-1)
    assert polish(problem, result) is result
