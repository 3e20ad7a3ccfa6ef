# SPDX-License-Identifier: BSD-3-Clause
r"""Slow and obvious counterparts of the coupled solver, for tests and benchmarks.

:func:`solve_reference` runs the same sequential minimal optimisation in NumPy on an explicit
matrix. :func:`beta_dual` writes the dual in the variables of the TGPLM paper,
:math:`\beta = [\alpha^h; \alpha; \alpha^*] \in \mathbb R^{n+2d}`, for a general solver:

.. math::

    \min_\beta\ \tfrac12\beta^\top Q\beta + e^\top\beta
    \quad\text{s.t.}\quad g^\top\beta = 0,\quad 0 \le \beta \le U,

with :math:`e = [-\mathbf 1; \varepsilon - t; \varepsilon + t]` and
:math:`g = [y; \mathbf 1; -\mathbf 1]` for :math:`n` labelled source units and :math:`d` bags.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers.coupled_qp import CoupledProblem, coupling_weights

__all__ = ["BetaDual", "beta_dual", "signed_matrix", "solve_reference"]

Array = NDArray[np.float64]

_LEAST_CURVATURE = 1e-12


def signed_matrix(problem: CoupledProblem) -> Array:
    """Matrix Q of the dual in signed variables, in full.

    Parameters
    ----------
    problem : CoupledProblem
        With two machines `coupling` must not be 0: the dual then has two equality constraints.

    Returns
    -------
    ndarray of shape (m, m)
    """
    gram = problem.gram.astype(np.float64)
    if not problem.has_two_machines:
        return gram
    if problem.is_apart:
        raise ValueError("Without coupling there are two duals, one for each machine.")
    is_source = np.arange(len(gram)) < problem.n_source
    within, across = coupling_weights(problem.coupling)
    matrix = np.where(is_source[:, None] == is_source, within, across) * gram
    matrix[np.ix_(is_source, is_source)] += 1.0 / problem.coupling
    return matrix


def solve_reference(
    problem: CoupledProblem, *, tol: float = 1e-3, max_iter: int = 100_000
) -> Array:
    """Solve a coupled problem by sequential minimal optimisation, plainly.

    Parameters
    ----------
    problem : CoupledProblem
        The program.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to accept.
    max_iter : int, default=100_000
        Largest number of iterations.

    Returns
    -------
    ndarray of shape (m,)
        Signed dual variables.
    """
    if problem.is_apart:
        n = problem.n_source
        parts = [_cut(problem, slice(None, n)), _cut(problem, slice(n, None))]
        return np.concatenate([solve_reference(p, tol=tol, max_iter=max_iter) for p in parts])
    matrix = signed_matrix(problem)
    dual = np.zeros(len(matrix))
    for _ in range(max_iter):
        pair = _most_violating_pair(problem, matrix, dual, tol)
        if pair is None:
            break
        up, down = pair
        step = _best_step(problem, matrix, dual, up, down)
        # The last bits must not leave a variable just inside its bound.
        up_room, down_room = problem.upper[up] - dual[up], dual[down] - problem.lower[down]
        dual[up] = dual[up] + step if step < up_room else problem.upper[up]
        dual[down] = dual[down] - step if step < down_room else problem.lower[down]
    return dual


def _cut(problem: CoupledProblem, units: slice) -> CoupledProblem:
    return replace(
        problem,
        gram=problem.gram[units, units],
        n_source=0,
        targets=problem.targets[units],
        half_widths=problem.half_widths[units],
        lower=problem.lower[units],
        upper=problem.upper[units],
    )


def _most_violating_pair(
    problem: CoupledProblem, matrix: Array, dual: Array, tol: float
) -> tuple[int, int] | None:
    gradient = matrix @ dual - problem.targets
    tube = problem.half_widths
    slope_up = gradient + np.where(dual >= 0, tube, -tube)
    slope_down = gradient + np.where(dual > 0, tube, -tube)
    slope_up[dual >= problem.upper] = np.inf
    slope_down[dual <= problem.lower] = -np.inf
    if not slope_down.max() - slope_up.min() >= tol:
        return None
    up = int(slope_up.argmin())
    drop = np.maximum(slope_down - slope_up[up], 0.0)
    curvature = matrix[up, up] + np.diag(matrix) - 2.0 * matrix[up]
    gain = drop**2 / np.maximum(curvature, _LEAST_CURVATURE)
    return up, int(gain.argmax())


def _best_step(problem: CoupledProblem, matrix: Array, dual: Array, up: int, down: int) -> float:
    """Compare the objective at every point where the pair's minimum can lie."""
    room = min(problem.upper[up] - dual[up], dual[down] - problem.lower[down])
    slope = (matrix[up] - matrix[down]) @ dual - (problem.targets[up] - problem.targets[down])
    curvature = matrix[up, up] + matrix[down, down] - 2.0 * matrix[up, down]
    curvature = max(curvature, _LEAST_CURVATURE)
    tube_up, tube_down = problem.half_widths[up], problem.half_widths[down]

    def objective(step: float) -> float:
        kinks = tube_up * abs(dual[up] + step) + tube_down * abs(dual[down] - step)
        return float(slope * step + 0.5 * curvature * step**2 + kinks)

    minimisers = [
        -(slope + side_up * tube_up - side_down * tube_down) / curvature
        for side_up in (-1.0, 1.0)
        for side_down in (-1.0, 1.0)
    ]
    candidates = [*minimisers, -dual[up], dual[down], room]
    return min((step for step in candidates if 0.0 < step <= room), key=objective, default=0.0)


@dataclass(frozen=True, eq=False)
class BetaDual:
    """The dual in the paper's variables β; see the module for its formula.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
        Q, positive semidefinite.
    linear, equality, upper : ndarray of shape (k,)
        e, g and U.
    unit : ndarray of shape (k,), int
        Unit to which each variable belongs; bags occur twice.
    """

    matrix: Array
    linear: Array
    equality: Array
    upper: Array
    unit: NDArray[np.int64]

    def to_signed(self, beta: Array) -> Array:
        """Signed dual variables z, shape (m,), of β."""
        signed = np.zeros(self.unit.max() + 1)
        np.add.at(signed, self.unit, self.equality * beta)
        return signed

    def objective(self, beta: Array) -> float:
        """Value of the dual as printed, to be minimised."""
        return float(0.5 * beta @ self.matrix @ beta + self.linear @ beta)


def beta_dual(problem: CoupledProblem) -> BetaDual:
    """Write the dual of a coupled problem in the variables of the TGPLM paper.

    Parameters
    ----------
    problem : CoupledProblem
        With two machines `coupling` must not be 0.

    Returns
    -------
    BetaDual
        One variable for each labelled unit, two for each bag: first the source units, then the
        variables that raise target units, then those that lower them.
    """
    is_source = np.arange(len(problem.targets)) < problem.n_source
    # A unit without room keeps the variables that it would have with some.
    left_out = problem.lower == problem.upper
    rises = (problem.upper > 0) | (left_out & (~is_source | (problem.targets > 0)))
    falls = (problem.lower < 0) | (left_out & (~is_source | (problem.targets <= 0)))
    if (is_source & rises & falls).any():
        raise ValueError("Source units must be labelled: a box on one side of 0.")
    source = np.flatnonzero(is_source)
    raised = np.flatnonzero(~is_source & rises)
    lowered = np.flatnonzero(~is_source & falls)
    unit = np.concatenate([source, raised, lowered])
    sign = np.concatenate(
        [np.where(rises[source], 1.0, -1.0), np.ones(len(raised)), -np.ones(len(lowered))]
    )
    return BetaDual(
        matrix=sign[:, None] * signed_matrix(problem)[np.ix_(unit, unit)] * sign,
        linear=problem.half_widths[unit] - sign * problem.targets[unit],
        equality=sign,
        upper=np.where(sign > 0, problem.upper[unit], -problem.lower[unit]),
        unit=unit,
    )
