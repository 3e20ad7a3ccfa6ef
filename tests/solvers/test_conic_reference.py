# SPDX-License-Identifier: BSD-3-Clause
"""The solver against a conic solver on the explicit primal, on 72 problems.

With ``-s`` the largest differences are printed at the end.
"""

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest

from bagshift.solvers import solve_coupled

COUPLINGS = (2.0**-6, 1.0, 2.0**11)
PENALTIES = (
    (2.0**-8, 2.0**-8),
    (1.0, 1.0),
    (2.0**-8, 1.0),
    (1.0, 2.0**-8),
    (32.0, 32.0),
    (2.0**10, 2.0**10),
)
SEEDS = range(4)


@dataclass(frozen=True)
class Machines:
    """Both machines in feature space, and the primal objective that they reach."""

    w_target: np.ndarray
    w_source: np.ndarray
    b_target: float
    b_source: float
    objective: float

    def shifted(self, shift):
        return replace(self, b_target=self.b_target + shift, b_source=self.b_source + shift)

    def decisions(self, features):
        return np.concatenate(
            [features @ self.w_target + self.b_target, features @ self.w_source + self.b_source]
        )


def conic_machines(task, problem, c_source, c_target):
    n, n_features = task.source.shape
    w_target, w_source = cp.Variable(n_features), cp.Variable(n_features)
    b_target, b_source = cp.Variable(), cp.Variable()
    slack = cp.Variable(n, nonneg=True)
    below = cp.Variable(len(task.shares), nonneg=True)
    above = cp.Variable(len(task.shares), nonneg=True)
    score = task.bag_means @ w_target + b_target
    centre, half_width = problem.targets[n:], problem.half_widths[n:]
    distance = cp.sum_squares(w_target - w_source) + cp.square(b_target - b_source)
    objective = (
        0.5 * (cp.sum_squares(w_target) + cp.sum_squares(w_source) + problem.coupling * distance)
        + c_source * cp.sum(slack)
        + c_target * cp.sum(below + above)
    )
    constraints = [
        cp.multiply(task.labels, task.source @ w_source + b_source) >= 1 - slack,
        score >= centre - half_width - below,
        score <= centre + half_width + above,
    ]
    program = cp.Problem(cp.Minimize(objective), constraints)
    program.solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200
    )
    return Machines(
        w_target.value,
        w_source.value,
        float(b_target.value),
        float(b_source.value),
        program.value,
    )


def our_machines(task, result):
    return Machines(
        task.features.T @ result.target_coefficients,
        task.features.T @ result.source_coefficients,
        result.intercept_target,
        result.intercept_source,
        result.objective,
    )


@pytest.fixture(scope="module")
def largest():
    """Largest difference of each quantity over the problems of this module."""
    differences = {}
    yield differences
    for name, value in differences.items():
        print(f"\nlargest difference in {name}: {value:.1e}", end="")


def note(largest, name, difference):
    largest[name] = max(largest.get(name, 0.0), float(np.max(np.abs(difference))))


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize(("c_source", "c_target"), PENALTIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_solver_equals_conic_solver_on_primal(
    make_task, largest, coupling, c_source, c_target, seed
):
    task = make_task(seed)
    problem = task.problem(coupling, c_source, c_target)
    result = solve_coupled(problem, tol=1e-10)
    ours = our_machines(task, result)
    conic = conic_machines(task, problem, c_source, c_target)

    assert ours.objective == pytest.approx(conic.objective, rel=1e-8)
    assert result.dual_objective == pytest.approx(conic.objective, rel=1e-8)
    np.testing.assert_allclose(ours.w_target, conic.w_target, atol=1e-6)
    np.testing.assert_allclose(ours.w_source, conic.w_source, atol=1e-6)
    low, high = result.intercept_interval
    assert low - 1e-6 <= conic.b_target <= high + 1e-6
    low, high = result.intercept_source_interval
    assert low - 1e-6 <= conic.b_source <= high + 1e-6
    if high - low > 1e-6:
        # Any common shift within the interval is optimal: the two solvers need not pick the same.
        conic = conic.shifted(ours.b_target - conic.b_target)
    scale = abs(conic.objective)
    note(largest, "primal objective (relative)", (ours.objective - conic.objective) / scale)
    note(largest, "dual objective (relative)", (result.dual_objective - conic.objective) / scale)
    note(largest, "weights", ours.w_target - conic.w_target)
    note(largest, "weights", ours.w_source - conic.w_source)
    note(largest, "decisions", ours.decisions(task.features) - conic.decisions(task.features))
    np.testing.assert_allclose(
        ours.decisions(task.features), conic.decisions(task.features), rtol=0, atol=1e-6
    )
