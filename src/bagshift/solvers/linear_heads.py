# SPDX-License-Identifier: BSD-3-Clause
r"""Linear machines trained on any smooth loss of their scores.

With features :math:`x_i` of source rows and :math:`z_j` of target rows,

.. math::

    \min_{w_h, b_h, w_c, b_c}\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)
    + L\bigl(w_h^\top x_1 + b_h, \dots, w_c^\top z_1 + b_c, \dots\bigr),

or, with one machine for both domains, :math:`\tfrac12\|w\|^2 + L`. Losses :math:`L` stand in
:mod:`bagshift.solvers.score_losses`; the unknowns are scaled as
:mod:`bagshift.solvers._coordinates` says, and the optimiser is Newton's method in a trust region
(:mod:`bagshift.solvers._trust_region`) with the exact curvature, which may be negative where the
loss is not convex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers._coordinates import (
    CoupledCoordinates,
    Machines,
    Pull,
    TargetCoordinates,
    typical_row_length,
)
from bagshift.solvers._scored_rows import ScoredRows, require_range
from bagshift.solvers._trust_region import minimise
from bagshift.solvers.score_losses import LossPoint, ScoreLoss, TargetedLogistic

__all__ = ["HeadProblem", "HeadResult", "Machines", "solve_heads", "solve_targeted_logistic"]

Floats = NDArray[np.float64]

# By how much the cost grows from one stage to the next, and how exactly a stage is solved.
_STAGE = 4.0
_STAGE_TOL = 1e-4


class _SharedCoordinates(TargetCoordinates):
    """One machine for both domains."""

    def pull_back(self, pull: Pull) -> Floats:
        both = Pull(
            source_weights=0.0,
            source_intercept=0.0,
            target_weights=pull.target_weights + pull.source_weights,
            target_intercept=pull.target_intercept + pull.source_intercept,
        )
        return super().pull_back(both)


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """Features and the loss of the scores on them.

    Parameters
    ----------
    target_features : matrix of shape (n_target, n_features)
        Dense or CSR, float64.
    loss : ScoreLoss
        Loss of the scores of all rows, source rows first.
    source_features : matrix of shape (n_source, n_features), optional
        Likewise.
    coupling : float or None, default=None
        Between the machines of the two domains, from 0 to infinity; None for one machine. Plays
        no part without source rows.

    Raises
    ------
    ValueError
        When costs and features are so large that products of them are not finite.

    Notes
    -----
    A coupling of infinity makes both machines one too, but with the penalty of two.
    """

    target_features: Any
    loss: ScoreLoss
    source_features: Any = None
    coupling: float | None = None

    def __post_init__(self) -> None:
        n_rows = sum(X.shape[0] for X in self.parts)
        with np.errstate(over="ignore", invalid="ignore"):
            at_zero = self.loss.at(np.zeros(n_rows))
            bent = at_zero.bend(np.ones(n_rows))
            cost = float(np.abs(at_zero.slope).sum() + np.abs(bent).sum())
        require_range(cost, self.parts)

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return 0 if self.source_features is None else int(self.source_features.shape[0])

    @property
    def parts(self) -> list[Any]:
        """The features that there are, of source rows first."""
        return [X for X in (self.source_features, self.target_features) if X is not None]


@dataclass(frozen=True, eq=False)
class HeadResult:
    """Solution of a head problem.

    Parameters
    ----------
    machines : Machines
        The point found; both machines are the same where there is one.
    objective : float
        Value of the problem there.
    gradient_norm : float
        Euclidean norm of its gradient in the scaled unknowns.
    n_iter : int
        Steps of the optimiser.
    converged : bool
        Whether the gradient, relative to the weights, came below the tolerance, or rounding left
        nothing to gain.
    """

    machines: Machines
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


def solve_heads(
    problem: HeadProblem,
    *,
    start: Machines | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> HeadResult:
    """Find a local minimum, which is the minimum where the loss is convex.

    Parameters
    ----------
    problem : HeadProblem
    start : Machines, optional
        Where to begin; zero by default.
    tol : float, default=1e-6
        Norm of the gradient, relative to that of the unknowns, at which to stop.
    max_iter : int, default=500
        Limit on steps.

    Returns
    -------
    HeadResult

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.solvers.linear_heads import HeadProblem, solve_heads
    >>> from bagshift.solvers.score_losses import TargetedLogistic
    >>> loss = TargetedLogistic(targets=np.array([0.0, 1.0]), weights=np.ones(2))
    >>> result = solve_heads(HeadProblem(np.array([[-1.0], [1.0]]), loss))
    >>> result.machines.target_weights.round(3)
    array([0.675])
    """
    objective = HeadObjective(problem)
    coordinates = objective.coordinates
    initial = np.zeros(coordinates.size) if start is None else coordinates.encode(start)
    end = minimise(objective, initial, tol=tol, max_iter=max_iter)
    return HeadResult(
        machines=coordinates.decode(end.point.v),
        objective=end.point.value / objective.factor,
        gradient_norm=float(np.linalg.norm(end.point.gradient)),
        n_iter=end.n_iter,
        converged=end.converged,
    )


def solve_targeted_logistic(
    features: Any,
    targets: Floats,
    weights: Floats,
    *,
    start: Machines | None = None,
    tol: float = 1e-10,
    max_iter: int = 500,
) -> HeadResult:
    r"""Minimise :math:`\tfrac12\|w\|^2 + \sum_j \omega_j (\log(1 + e^{f_j}) - t_j f_j)`.

    Parameters
    ----------
    features : matrix of shape (n_rows, n_features)
        Dense or CSR, float64.
    targets : ndarray of shape (n_rows,)
        Real numbers :math:`t_j` whose mean, by weight, lies strictly between 0 and 1; else there
        is no minimum.
    weights : ndarray of shape (n_rows,)
        Factors :math:`\omega_j`.
    start : Machines, optional
        Where to begin.
    tol : float, default=1e-10
        As in :func:`solve_heads`.
    max_iter : int, default=500
        Limit on steps, over all stages.

    Returns
    -------
    HeadResult

    Notes
    -----
    The problem is convex. Where no probabilities have the moments that targets outside of [0, 1]
    ask for, weights grow in proportion to the cost, and the loss is all but made of straight
    pieces, which Newton's method crosses one by one. Then the cost grows by stages, each starting
    from the solution of the last.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.solvers.linear_heads import solve_targeted_logistic
    >>> X = np.array([[-1.0], [1.0]])
    >>> result = solve_targeted_logistic(X, np.array([-1.0, 2.0]), np.ones(2))
    >>> result.machines.target_weights.round(3)
    array([2.2])
    """

    def problem(cost: float) -> HeadProblem:
        return HeadProblem(features, TargetedLogistic(targets, cost * weights))

    whole = problem(1.0)
    n_stages = 0 if start is not None else _n_stages(features, targets, weights)
    n_iter = 0
    for stage in range(n_stages, 0, -1):
        part = problem(_STAGE**-stage)
        rest = max(max_iter - n_iter, 0)
        result = solve_heads(part, start=start, tol=max(tol, _STAGE_TOL), max_iter=rest)
        n_iter += result.n_iter
        start = _better_start(problem(_STAGE ** (1 - stage)), result.machines)
    result = solve_heads(whole, start=start, tol=tol, max_iter=max(max_iter - n_iter, 0))
    return replace(result, n_iter=result.n_iter + n_iter)


def _n_stages(features: Any, targets: Floats, weights: Floats) -> int:
    """Return how many times the cost has to shrink until scores stay near zero."""
    if targets.min() >= 0.0 and targets.max() <= 1.0:
        return 0
    steepest = features @ (features.T @ (weights * (targets - 0.5)))
    largest = float(np.abs(steepest).max())
    return int(np.ceil(np.log(max(largest, 1.0)) / np.log(_STAGE)))


def _better_start(problem: HeadProblem, last: Machines) -> Machines:
    """Return the machines of the last stage, or grown with the cost where that is lower."""
    grown = Machines.both(_STAGE * last.target_weights, _STAGE * last.target_intercept)
    objective = HeadObjective(problem)
    same, more = (
        objective.at(objective.coordinates.encode(machines)).value for machines in (last, grown)
    )
    return grown if more < same else last


@dataclass(frozen=True, eq=False)
class HeadPoint:
    """The objective at one place.

    Parameters
    ----------
    v : ndarray
        The place, in the scaled unknowns.
    value : float
    gradient : ndarray
    loss : LossPoint
        The loss there.
    """

    v: Floats
    value: float
    gradient: Floats
    loss: LossPoint


class HeadObjective:
    """Value, gradient and products with the curvature of a head problem.

    Parameters
    ----------
    problem : HeadProblem
    """

    def __init__(self, problem: HeadProblem) -> None:
        self.problem = problem
        row_length = typical_row_length(problem.parts)
        # The problem is multiplied by this, see the head of the module of coordinates.
        self.factor = row_length**2
        n_features = int(problem.target_features.shape[1])
        self.coordinates: TargetCoordinates | CoupledCoordinates
        if problem.n_source == 0:
            self.coordinates = TargetCoordinates(n_features, row_length=row_length)
        elif problem.coupling is None:
            self.coordinates = _SharedCoordinates(n_features, row_length=row_length)
        else:
            self.coordinates = CoupledCoordinates(
                n_features, float(problem.coupling), row_length=row_length
            )
        self._rows = ScoredRows(problem.source_features, problem.target_features, self.coordinates)

    def at(self, v: Floats) -> HeadPoint:
        """Return the objective at a place.

        Parameters
        ----------
        v : ndarray
            In the scaled unknowns.

        Returns
        -------
        HeadPoint
        """
        loss = self.problem.loss.at(self._scores(v))
        penalty = self.coordinates.penalty_gradient(v)
        return HeadPoint(
            v=v,
            value=float(0.5 * (v @ penalty)) + self.factor * loss.value,
            gradient=self._pull_back(self.factor * loss.slope) + penalty,
            loss=loss,
        )

    def hessian_product(self, point: HeadPoint, direction: Floats) -> Floats:
        """Return the curvature at a point times a direction.

        Parameters
        ----------
        point : HeadPoint
        direction : ndarray

        Returns
        -------
        ndarray
        """
        bent = self._pull_back(self.factor * point.loss.bend(self._scores(direction)))
        return bent + self.coordinates.penalty_gradient(direction)

    def _scores(self, v: Floats) -> Floats:
        return np.concatenate(self._rows.scores(v))

    def _pull_back(self, slope: Floats) -> Floats:
        return self._rows.pull_back(*np.split(slope, [self.problem.n_source]))
