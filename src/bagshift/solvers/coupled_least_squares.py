# SPDX-License-Identifier: BSD-3-Clause
r"""TGPLM's machines with squared losses, for any number of outputs at once.

The problem of :mod:`bagshift.solvers.coupled_qp` with a squared loss of cost :math:`c_i` on every
unit is, for each output,

.. math::

    \min_{w, b}\ \tfrac12\|w_h\|^2 + \tfrac12\|w_c\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)
    + \tfrac12\sum_i c_i\,(t_i - f(\varphi_i))^2

with :math:`f` the source machine :math:`f_h` on source units and :math:`f_c` on target units. Its
solution is that of one linear system in signed dual variables :math:`z_i = c_i(t_i -
f(\varphi_i))`, the same for all outputs,

.. math::

    \sum_j \rho_{ij} K_{ij} z_j + z_i / c_i + b_i = t_i,
    \qquad \sum_i z_i = 0,\qquad b_h = b_c + \tfrac1\lambda\sum_{\text{source}} z_i,

where :math:`\rho_{ij}` is :math:`\rho_1 = \frac{1+\lambda}{1+2\lambda}` within a machine and
:math:`\rho_2 = \frac{\lambda}{1+2\lambda}` across, and :math:`b_i` the intercept of the unit's
machine. With :math:`y_i = z_i / \sqrt{c_i}` the matrix is the identity plus a positive
semidefinite one, in which units of cost zero take no part. It is factorised once; the intercepts,
which are not penalised, are eliminated after that.

**Leaving a unit out.** With :math:`P` the upper left block of the inverse of the whole system,
intercepts included, the machine that was trained without unit :math:`k` misses its target by

.. math::

    t_k - f^{(-k)}(\varphi_k) = z_k / P_{kk} ,

exactly [1]_, [2]_; for all outputs from one inverse.

References
----------
.. [1] G. C. Cawley, Leave-one-out cross-validation based model selection criteria for weighted
   LS-SVMs, IJCNN 2006.
.. [2] R. Rifkin, R. Lippert, Notes on regularized least squares, MIT technical report, 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift.solvers._checks import check_gram, to_vector
from bagshift.solvers._identity_plus import factor_identity_plus
from bagshift.solvers._intercepts import Intercepts, one_intercept, two_intercepts
from bagshift.solvers._left_out import left_out_residuals, quadratic_forms
from bagshift.solvers.coupled_qp import NEGLIGIBLE_COUPLING, coupling_weights

__all__ = [
    "CoupledLeastSquaresProblem",
    "CoupledLeastSquaresResult",
    "solve_coupled_least_squares",
]

Floats = NDArray[np.float64]

_ROWS_AT_A_TIME = 1024


@dataclass(frozen=True, eq=False)
class CoupledLeastSquaresProblem:
    """The data of one coupled least-squares problem; see the module for its formula.

    Parameters
    ----------
    gram : ndarray of shape (m, m), float64 or float32
        Raw Gram matrix of the units, source units first; symmetric, positive semidefinite.
    n_source : int
        Number of source units, from 0 to ``m``. With 0 or ``m`` there is one machine and
        `coupling` plays no part.
    targets : ndarray of shape (m, n_outputs), float64
        Wanted scores of the units.
    costs : ndarray of shape (m,), float64
        Cost of half a square of what a unit misses its target by, at least 0. Units of cost 0
        take no part.
    coupling : float
        Weight λ of the distance between the machines, from 0 (two separate machines; so is
        anything below 1e-15) to ``inf`` (one machine, with the sum of both regularisers).

    Raises
    ------
    ValueError, TypeError
        When shapes do not fit, numbers are not finite, or a value is outside its range.
    """

    gram: NDArray[np.float64] | NDArray[np.float32]
    n_source: int
    targets: Floats
    costs: Floats
    coupling: float

    def __post_init__(self) -> None:
        check_gram(self.gram)
        m = self.gram.shape[0]
        object.__setattr__(self, "costs", to_vector("costs", self.costs, m))
        object.__setattr__(self, "targets", to_targets(self.targets, m))
        if not 0 <= self.n_source <= m:
            raise ValueError(f"n_source must be from 0 to {m}, the size of gram: {self.n_source}.")
        if not self.coupling >= 0:
            raise ValueError(f"coupling must be a number from 0 to inf: {self.coupling}.")
        if self.costs.min() < 0:
            raise ValueError("costs must not be negative.")

    @property
    def has_two_machines(self) -> bool:
        """Whether there are source and target units."""
        return 0 < self.n_source < len(self.costs)

    @property
    def weights(self) -> tuple[float, float]:
        """Weights ρ₁ and ρ₂ of a unit in its own machine and in the other one."""
        if not self.has_two_machines:
            return 1.0, 1.0
        return weights_of(self.coupling)


@dataclass(frozen=True, eq=False)
class CoupledLeastSquaresResult:
    """Solution of a :class:`CoupledLeastSquaresProblem`.

    Parameters
    ----------
    dual : ndarray of shape (m, n_outputs)
        Signed dual variables z: cost times what a unit misses its target by.
    n_source : int
        Number of source units.
    within, across : float
        Weights ρ₁ and ρ₂ with which a unit enters its own machine and the other one; both 1 with
        one machine, which then stands for both.
    intercept_target, intercept_source : ndarray of shape (n_outputs,)
        Intercepts b of the two machines; 0 where no unit says anything of one.
    objective : ndarray of shape (n_outputs,)
        Value of the problem.
    score_error : float
        Largest difference between a unit's score and what its dual variable says of it; 0 but for
        rounding, which grows with costs times residuals where the kernel has a lower rank than
        there are units.
    left_out_residuals : ndarray of shape (n_left_out, n_outputs)
        What each unit's target exceeds its score by under the machines trained without the unit,
        for the units that were asked for.
    """

    dual: Floats
    n_source: int
    within: float
    across: float
    intercept_target: Floats
    intercept_source: Floats
    objective: Floats
    score_error: float
    left_out_residuals: Floats

    @property
    def target_coefficients(self) -> Floats:
        """Weights of the units in the target machine, shape (m, n_outputs)."""
        return self._coefficients(self.across, self.within)

    @property
    def source_coefficients(self) -> Floats:
        """Weights of the units in the source machine, shape (m, n_outputs)."""
        return self._coefficients(self.within, self.across)

    def _coefficients(self, on_source: float, on_target: float) -> Floats:
        weighted = np.empty_like(self.dual)
        np.multiply(self.dual[: self.n_source], on_source, out=weighted[: self.n_source])
        np.multiply(self.dual[self.n_source :], on_target, out=weighted[self.n_source :])
        return weighted


def solve_coupled_least_squares(
    problem: CoupledLeastSquaresProblem, *, leave_out: Literal["none", "target", "all"] = "target"
) -> CoupledLeastSquaresResult:
    """Solve a coupled least-squares problem for all outputs by one factorisation.

    Parameters
    ----------
    problem : CoupledLeastSquaresProblem
        The problem.
    leave_out : {"none", "target", "all"}, default="target"
        For which units to compute what they miss their target by when they are left out. For
        target units it takes less time than the solution, for all about as much again. The two
        machines stay two, even when all units of one are left out.

    Returns
    -------
    CoupledLeastSquaresResult

    Raises
    ------
    ValueError
        When costs times the entries of the Gram matrix leave the range of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> positions = np.array([-1.0, 0.0, 1.0])
    >>> problem = CoupledLeastSquaresProblem(
    ...     gram=np.outer(positions, positions),
    ...     n_source=0,
    ...     targets=np.array([[-1.0], [0.0], [1.0]]),
    ...     costs=np.ones(3),
    ...     coupling=0.0,
    ... )
    >>> result = solve_coupled_least_squares(problem)
    >>> (positions @ result.target_coefficients).round(3)
    array([0.667])
    >>> result.left_out_residuals.ravel().round(3)
    array([-1., -0.,  1.])
    """
    scale = np.sqrt(problem.costs)
    factor = factor_identity_plus(_scaled_gram(problem, scale), _rounding(problem))
    intercepts = _intercepts(problem)
    columns = intercepts.columns(problem.n_source, len(scale))
    solved = factor.solve(scale[:, None] * np.hstack([columns, problem.targets]))
    of_columns, of_targets = np.split(solved, [columns.shape[1]], axis=1)
    summed = scale[:, None] * columns
    inverse = intercepts.inverse(summed.T @ of_columns)
    unknowns = inverse @ (summed.T @ of_targets)
    scaled_dual = of_targets - of_columns @ unknowns
    dual = scale[:, None] * scaled_dual
    result = CoupledLeastSquaresResult(
        dual=dual,
        n_source=problem.n_source,
        within=problem.weights[0],
        across=problem.weights[1],
        intercept_target=intercepts.target @ unknowns,
        intercept_source=intercepts.source @ unknowns,
        objective=_objective(problem, dual, intercepts, unknowns),
        score_error=math.nan,
        left_out_residuals=np.empty((0, dual.shape[1])),
    )
    missed = problem.targets - _unit_scores(problem, result)
    first = {"none": len(scale), "target": problem.n_source, "all": 0}[leave_out]
    residuals = left_out_residuals(
        scaled_dual[first:],
        scale[first:],
        factor.inverse_diagonal(first) - quadratic_forms(of_columns[first:], inverse),
    )
    _fill_special(residuals, problem, missed)
    return replace(
        result,
        score_error=_score_error(problem, dual, missed),
        left_out_residuals=residuals,
    )


def weights_of(coupling: float) -> tuple[float, float]:
    """Return ρ₁ and ρ₂ of two machines, which are apart when the coupling is negligible.

    Parameters
    ----------
    coupling : float
        λ, from 0 to ``inf``.

    Returns
    -------
    within, across : float
        See :func:`bagshift.solvers.coupling_weights`.
    """
    return coupling_weights(0.0 if coupling < NEGLIGIBLE_COUPLING else coupling)


def to_targets(values: ArrayLike, m: int) -> Floats:
    """Return wanted scores as a matrix with a row for each unit.

    Parameters
    ----------
    values : array-like of shape (m, n_outputs)
    m : int

    Returns
    -------
    ndarray of shape (m, n_outputs)

    Raises
    ------
    ValueError
        When the shape is another one, or a number is not finite.
    """
    targets = np.ascontiguousarray(values, dtype=np.float64)
    if targets.ndim != 2 or len(targets) != m:
        raise ValueError(
            f"targets must have shape ({m}, n_outputs), one row for each row of gram: its shape "
            f"is {targets.shape}."
        )
    if not np.isfinite(targets).all():
        raise ValueError("targets holds values that are not finite.")
    return targets


def _scaled_gram(problem: CoupledLeastSquaresProblem, scale: Floats) -> Floats:
    """Return what is added to the identity: the Gram matrix with weights and roots of costs."""
    n = problem.n_source
    within, across = problem.weights
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.multiply(problem.gram, (within * scale), dtype=np.float64)
        scaled *= scale[:, None]
    scaled[n:, :n] *= across / within
    scaled[:n, n:] *= across / within
    if not math.isfinite(scaled.diagonal().sum()):
        raise ValueError(
            "The costs times the entries of gram leave the range of numbers; lower the costs."
        )
    return scaled


def _rounding(problem: CoupledLeastSquaresProblem) -> float:
    """Return what rounding of the Gram matrix does to eigenvalues in the system."""
    largest = float(np.max(problem.gram.diagonal() * problem.costs))
    return float(np.finfo(problem.gram.dtype).eps) * math.sqrt(len(problem.costs)) * largest


def _intercepts(problem: CoupledLeastSquaresProblem) -> Intercepts:
    if not problem.has_two_machines:
        return one_intercept()
    n = problem.n_source
    return two_intercepts(
        float(problem.costs[:n].sum()), float(problem.costs[n:].sum()), problem.coupling
    )


def _objective(
    problem: CoupledLeastSquaresProblem, dual: Floats, intercepts: Intercepts, unknowns: Floats
) -> Floats:
    """Return half of what targets and dual variables multiply to, free of large intercepts."""
    n = problem.n_source
    own = intercepts.columns(n, len(dual)) @ unknowns
    apart = (intercepts.source - intercepts.target) @ unknowns
    inner = np.einsum("ij,ij->j", problem.targets - own, dual)
    return np.asarray(0.5 * (inner + apart * dual[:n].sum(axis=0)))


def _unit_scores(problem: CoupledLeastSquaresProblem, result: CoupledLeastSquaresResult) -> Floats:
    """Return the scores of all units under their own machines."""
    n, m = problem.n_source, len(problem.costs)
    scores = np.empty_like(result.dual)
    for units, coefficients, intercept in (
        (range(n), result.source_coefficients, result.intercept_source),
        (range(n, m), result.target_coefficients, result.intercept_target),
    ):
        # Some rows at a time, since those of single precision are copied.
        for start in units[::_ROWS_AT_A_TIME]:
            rows = slice(start, min(start + _ROWS_AT_A_TIME, units.stop))
            scores[rows] = problem.gram[rows] @ coefficients + intercept
    return scores


def _score_error(problem: CoupledLeastSquaresProblem, dual: Floats, missed: Floats) -> float:
    used = problem.costs > 0
    errors = missed[used] - dual[used] / problem.costs[used, None]
    return float(np.max(np.abs(errors), initial=0.0))


def _fill_special(residuals: Floats, problem: CoupledLeastSquaresProblem, missed: Floats) -> None:
    """Fill in units that nothing changes without, and those alone in their machine.

    What the latter leave is all that is known of their machine from a weak coupling: the formula
    would divide a difference of nearly equal numbers by another one.
    """
    m, n = len(problem.costs), problem.n_source
    first = m - len(residuals)
    without_cost = problem.costs[first:] == 0
    residuals[without_cost] = missed[first:][without_cost]
    for machine in (range(n), range(n, m)):
        used = machine.start + np.flatnonzero(problem.costs[machine.start : machine.stop])
        if len(used) == 1 and used[0] >= first:
            residuals[used[0] - first] = _refitted_residual(problem, int(used[0]))


def _refitted_residual(problem: CoupledLeastSquaresProblem, k: int) -> Floats:
    costs = problem.costs.copy()
    costs[k] = 0.0
    refitted = replace(problem, costs=costs)
    result = solve_coupled_least_squares(refitted, leave_out="none")
    return np.asarray(problem.targets[k] - _unit_scores(refitted, result)[k])
