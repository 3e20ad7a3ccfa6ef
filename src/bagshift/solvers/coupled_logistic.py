# SPDX-License-Identifier: BSD-3-Clause
r"""The coupled logistic problem: labelled source rows, and target bags with published counts.

With features :math:`x_i` of labelled source rows, :math:`z_j` of target rows and
:math:`f_h(x) = w_h^\top x + b_h`, :math:`f_c(z) = w_c^\top z + b_c`,

.. math::

    \min_{w_h, b_h, w_c, b_c}\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)
    + \sum_i C_i \log\bigl(1 + e^{-y_i f_h(x_i)}\bigr) - \sum_k C_k \log P_k(f_c),

where :math:`P_k` is the probability of what is published about bag :math:`k`
(:mod:`bagshift.solvers.count_likelihood`). Without source rows there is no coupling and the
target machine stands alone.

The unknowns are scaled as :mod:`bagshift.solvers._coordinates` says.

**Method.** Newton's method in a trust region, each step by conjugate gradients that stop at the
border or at negative curvature (Steihaug). The Hessian in the scores of a bag is
:math:`\mathrm{diag}(\sigma(1 - \sigma)) - \mathrm{Cov}(y \mid \text{published})`. The covariance
is taken as

.. math::

    \mathrm{Cov}(y \mid \text{published}) \approx \mathrm{diag}(v) - \frac{v v^\top}{\sum_j v_j},
    \qquad v_j = \frac{r_j (1 - r_j)}{1 - r_j (1 - r_j) / \sum_l r_l (1 - r_l)},

whose rows sum to zero, as they must when the count is known, and whose diagonal is that of the
covariance to first order. It is exact for pure bags, for bags of one row (where the problem is
convex and the steps are Newton's own) and for two rows. Products with features dominate the cost:
one pair of them in every conjugate gradient step, one pair and the likelihood in every other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit

from bagshift.solvers._coordinates import (
    Coordinates,
    CoupledCoordinates,
    Machines,
    Pull,
    TargetCoordinates,
)
from bagshift.solvers.count_likelihood import BagCounts, count_posterior

__all__ = [
    "CoupledLogisticProblem",
    "CoupledLogisticResult",
    "Machines",
    "solve_coupled_logistic",
]

Floats = NDArray[np.float64]

# Decrease, relative to the objective, that rounding hides, and how often in a row the region may
# shrink at such a point before the search ends.
_ROUNDING = 1e-14
_MOST_IDLE_STEPS = 3
# Decrease promised by Newton's step, relative to the objective, that is not worth a search.
_NOTHING = 1e-12
# Beyond rounding: the part of the gradient that a step must take away, and the part that solving
# for the step may leave.
_SLOWEST = 0.9
_STEP_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class CoupledLogisticProblem:
    """Data of the coupled logistic problem.

    Parameters
    ----------
    source_features : matrix of shape (n_source, n_features) or None
        Labelled rows, dense or CSR, float64.
    source_signs : ndarray of shape (n_source,)
        Their labels, -1 or +1.
    source_costs : ndarray of shape (n_source,)
        Factor on the loss of each source row.
    target_features : matrix of shape (n_rows, n_features)
        Rows bag by bag, as `counts` has them; dense or CSR, float64. A row of known label is a
        bag of one.
    counts : BagCounts
        What is published about each bag.
    bag_costs : ndarray of shape (n_bags,)
        Factor on the log-likelihood of each bag.
    coupling : float
        From 0 to infinity; plays no part without source rows.
    n_threads : int, default=1
        Threads for the likelihood; the result does not depend on it.
    """

    source_features: Any
    source_signs: Floats
    source_costs: Floats
    target_features: Any
    counts: BagCounts
    bag_costs: Floats
    coupling: float
    n_threads: int = 1

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return len(self.source_signs)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.target_features.shape[1])


@dataclass(frozen=True, eq=False)
class CoupledLogisticResult:
    """Solution of a coupled logistic problem.

    Parameters
    ----------
    machines : Machines
        The best point found; both machines are the same where there is no source.
    objective : float
        Value of the problem there.
    gradient_norm : float
        Euclidean norm of the gradient in the coordinates of the module's head.
    n_iter : int
        Trust region steps.
    converged : bool
        Whether the gradient, relative to the weights, came below the tolerance, or rounding left
        nothing to gain.
    """

    machines: Machines
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


def solve_coupled_logistic(
    problem: CoupledLogisticProblem,
    *,
    start: Machines | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> CoupledLogisticResult:
    """Find a local minimum of the coupled logistic problem.

    Parameters
    ----------
    problem : CoupledLogisticProblem
    start : Machines, optional
        Where to begin; zero by default.
    tol : float, default=1e-6
        Norm of the gradient, relative to that of the weights, at which to stop.
    max_iter : int, default=500
        Limit on trust region steps.

    Returns
    -------
    CoupledLogisticResult

    Notes
    -----
    With bags of several rows the problem is not convex, and the minimum depends on `start`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.solvers.coupled_logistic import (
    ...     CoupledLogisticProblem, solve_coupled_logistic)
    >>> from bagshift.solvers.count_likelihood import BagCounts
    >>> problem = CoupledLogisticProblem(
    ...     source_features=np.array([[-1.0], [1.0]]),
    ...     source_signs=np.array([-1.0, 1.0]),
    ...     source_costs=np.ones(2),
    ...     target_features=np.array([[-2.0], [2.0], [3.0]]),
    ...     counts=BagCounts.exact([2], [3]),
    ...     bag_costs=np.ones(1),
    ...     coupling=1.0,
    ... )
    >>> result = solve_coupled_logistic(problem)
    >>> bool(result.converged), bool(result.machines.target_weights[0] > 0)
    (True, True)
    """
    coordinates = _coordinates(problem)
    objective = _Objective(problem, coordinates)
    initial = coordinates.encode(start) if start is not None else np.zeros(coordinates.size)
    monitor = _Monitor(objective, tol)
    point, n_iter = objective.at(initial), 0
    is_done = monitor.is_stationary(initial)
    if not is_done:
        found = _minimize(objective, monitor, initial, max_iter)
        point, n_iter = objective.at(found.x), int(found.nit)
        # Status 2: the next step would gain less than rounding.
        is_done = monitor.is_done or found.status == 2
        if is_done:
            point, n_more = _refine(objective, monitor, point, max_iter - n_iter)
            n_iter += n_more
    return CoupledLogisticResult(
        machines=coordinates.decode(point.v),
        objective=point.value,
        gradient_norm=float(np.linalg.norm(point.gradient)),
        n_iter=n_iter,
        converged=is_done or monitor.is_stationary(point.v),
    )


def _minimize(
    objective: _Objective, monitor: _Monitor, initial: Floats, max_iter: int
) -> OptimizeResult:
    return minimize(
        objective.value_and_gradient,
        initial,
        jac=True,
        hessp=objective.hessian_product,
        method="trust-ncg",
        callback=monitor,
        options={
            "gtol": 0.0,
            "maxiter": max_iter,
            "initial_trust_radius": min(max(1.0, 0.1 * float(np.linalg.norm(initial))), 1e8),
            "max_trust_radius": 1e9,
        },
    )


def _coordinates(problem: CoupledLogisticProblem) -> Coordinates:
    if problem.n_source == 0:
        return TargetCoordinates(problem.n_features)
    return CoupledCoordinates(problem.n_features, problem.coupling)


def _refine(
    objective: _Objective, monitor: _Monitor, point: _Point, max_steps: int
) -> tuple[_Point, int]:
    """Go on where rounding hides the decrease of the objective, as long as the gradient shrinks.

    Near a minimum the objective fixes the point to the root of the precision only, the gradient
    to the precision itself.
    """
    for n_steps in range(max_steps):
        if monitor.is_stationary(point.v):
            return point, n_steps
        following = objective.at(point.v + _newton_step(objective, point))
        rise = following.value - point.value
        shrinks = np.linalg.norm(following.gradient) < _SLOWEST * np.linalg.norm(point.gradient)
        if not shrinks or rise > _ROUNDING * abs(point.value):
            return point, n_steps
        point = following
    return point, max(max_steps, 0)


def _newton_step(objective: _Objective, point: _Point) -> Floats:
    """Solve for Newton's step by conjugate gradients, up to the first negative curvature."""
    step, residual = np.zeros_like(point.v), -point.gradient
    direction, square = residual, float(residual @ residual)
    goal = _STEP_TOLERANCE**2 * square
    for _ in range(len(step)):
        bent = objective.hessian_product(point.v, direction)
        curvature = float(direction @ bent)
        if square <= goal or curvature <= 0.0:
            break
        length = square / curvature
        step, residual = step + length * direction, residual - length * bent
        last, square = square, float(residual @ residual)
        direction = residual + square / last * direction
    return step


# Objective --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Point:
    """The objective at one place, and its curvature in the scores."""

    v: Floats
    value: float
    gradient: Floats
    source_curvature: Floats
    target_curvature: Floats
    label_variance: Floats
    bag_weight: Floats


@dataclass(eq=False)
class _Objective:
    """Value, gradient and Hessian products, remembered for the last two places."""

    problem: CoupledLogisticProblem
    coordinates: Coordinates
    _last: list[_Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        counts = self.problem.counts
        self._bag = np.repeat(np.arange(counts.n_bags), counts.sizes)
        self._row_costs = self.problem.bag_costs[self._bag]
        # Made once: turning a sparse matrix costs as much as a product with it.
        has_source = self.problem.n_source > 0
        self._source_columns = self.problem.source_features.T if has_source else None
        self._target_columns = self.problem.target_features.T

    def at(self, v: Floats) -> _Point:
        for point in self._last:
            if point.v is v or np.array_equal(point.v, v):
                return point
        point = self._evaluate(v.copy())
        self._last = [point, *self._last[:1]]
        return point

    def value_and_gradient(self, v: Floats) -> tuple[float, Floats]:
        point = self.at(v)
        return point.value, point.gradient

    def hessian_product(self, v: Floats, direction: Floats) -> Floats:
        point = self.at(v)
        source_change, target_change = self._scores(direction)
        by_bag = self._sum_by_bag(point.label_variance * target_change) * point.bag_weight
        pushed = point.target_curvature * target_change + point.label_variance * by_bag[self._bag]
        curved = self._pull_back(point.source_curvature * source_change, pushed)
        return curved + self.coordinates.penalty_gradient(direction)

    def _evaluate(self, v: Floats) -> _Point:
        problem = self.problem
        source_scores, target_scores = self._scores(v)
        margins = problem.source_signs * source_scores
        doubt = expit(-margins)
        posterior = count_posterior(target_scores, problem.counts, n_threads=problem.n_threads)
        chance = expit(target_scores)
        penalty = self.coordinates.penalty_gradient(v)
        pulled = self._pull_back(
            -problem.source_costs * problem.source_signs * doubt,
            self._row_costs * (chance - posterior.probability),
        )
        variance, weight = self._label_covariance(posterior.variance)
        return _Point(
            v=v,
            value=float(
                0.5 * (v @ penalty)
                + problem.source_costs @ np.logaddexp(0.0, -margins)
                - problem.bag_costs @ posterior.log_likelihood
            ),
            gradient=pulled + penalty,
            source_curvature=problem.source_costs * doubt * (1.0 - doubt),
            target_curvature=self._row_costs * (chance * (1.0 - chance) - variance),
            label_variance=variance,
            bag_weight=weight,
        )

    def _label_covariance(self, marginal: Floats) -> tuple[Floats, Floats]:
        """Return v of the module's head, and the cost of a bag over the sum of its v."""
        total = _nothing_as_one(self._sum_by_bag(marginal))
        variance = marginal / np.maximum(1.0 - marginal / total[self._bag], 0.5)
        return variance, self.problem.bag_costs / _nothing_as_one(self._sum_by_bag(variance))

    def _scores(self, v: Floats) -> tuple[Floats, Floats]:
        machines, problem = self.coordinates.decode(v), self.problem
        target = problem.target_features @ machines.target_weights + machines.target_intercept
        if problem.n_source == 0:
            return np.empty(0), target
        source = problem.source_features @ machines.source_weights + machines.source_intercept
        return source, target

    def _pull_back(self, source_push: Floats, target_push: Floats) -> Floats:
        source = self._source_columns
        return self.coordinates.pull_back(
            Pull(
                source_weights=0.0 if source is None else source @ source_push,
                source_intercept=float(source_push.sum()),
                target_weights=self._target_columns @ target_push,
                target_intercept=float(target_push.sum()),
            )
        )

    def _sum_by_bag(self, values: Floats) -> Floats:
        return np.bincount(self._bag, values, self.problem.counts.n_bags).astype(np.float64)


def _nothing_as_one(totals: Floats) -> Floats:
    """Make divisors of sums over bags; a bag without variance is divided by one."""
    return np.where(totals > 1e-100, totals, 1.0)


@dataclass(eq=False)
class _Monitor:
    """Ends the search when the gradient is small or rounding leaves nothing to gain."""

    objective: _Objective
    tol: float
    is_done: bool = False
    _value: float = np.inf
    _n_idle: int = 0

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        value = float(intermediate_result.fun)
        is_idle = self._value - value <= _ROUNDING * abs(value)
        self._n_idle = self._n_idle + 1 if is_idle else 0
        self._value = value
        if self._n_idle > _MOST_IDLE_STEPS:
            self._n_idle = 0
            self.is_done = self._has_nothing_to_gain(intermediate_result.x)
        if self.is_done or self.is_stationary(intermediate_result.x):
            self.is_done = True
            raise StopIteration

    def _has_nothing_to_gain(self, v: Floats) -> bool:
        """Tell rounding from a region that is still too large for a step to succeed."""
        point = self.objective.at(v)
        promise = -0.5 * float(point.gradient @ _newton_step(self.objective, point))
        return promise <= _NOTHING * abs(point.value)

    def is_stationary(self, v: Floats) -> bool:
        """Tell whether the gradient is small against the weights it must balance."""
        gradient = self.objective.at(v).gradient
        return bool(np.linalg.norm(gradient) <= self.tol * max(float(np.linalg.norm(v)), 1e-3))
