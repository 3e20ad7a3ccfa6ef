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

**Method.** Newton's method in a trust region (:mod:`bagshift.solvers._trust_region`). The Hessian
in the scores of a bag is
:math:`\mathrm{diag}(\sigma(1 - \sigma)) - \mathrm{Cov}(y \mid \text{published})`. With
:math:`a_j = r_j (1 - r_j)`, the variance :math:`V` of the count given what is published and
:math:`\rho = V / \sum_l a_l`, the covariance is taken as

.. math::

    \mathrm{Cov}(y \mid \text{published}) \approx \mathrm{diag}(v)
    - \Bigl(1 - \frac{V}{\sum_l v_l}\Bigr) \frac{v v^\top}{\sum_l v_l}, \qquad
    v_j = \frac{a_j}{1 - (1 - \rho)\, a_j / \sum_l a_l},

whose sum over all pairs is :math:`V`, as it must be, and whose diagonal is that of the covariance
to first order. :math:`V = 0` where the count is known; under a noise law it is the derivative of
:math:`\sum_j r_j` in a common shift of the scores, taken as a central difference. For known
counts the form is exact in pure bags, bags of one row (where the problem is convex and the steps
are Newton's own) and bags of two. Products with features dominate the cost: one pair of them in
every conjugate gradient step, one pair and the likelihood in every other. Many dense rows are
gone through chunk by chunk instead, with the same curvature as a matrix
(:mod:`bagshift.solvers._passes_newton`).
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from bagshift.solvers._chunks import threads
from bagshift.solvers._coordinates import (
    Coordinates,
    Machines,
    coordinates_of,
    typical_row_length,
)
from bagshift.solvers._count_loss import CountLoss
from bagshift.solvers._passes_newton import search
from bagshift.solvers._scored_rows import ScoredRows, require_range
from bagshift.solvers._trust_region import End, minimise
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import Passes, RowPasses
from bagshift.solvers.count_rows import CountedRows, LabelledRows

__all__ = [
    "CoupledLogisticProblem",
    "CoupledLogisticResult",
    "Machines",
    "solve_coupled_logistic",
    "solve_coupled_logistic_passes",
]

Floats = NDArray[np.float64]

# More rows are gone through chunk by chunk; of many features, more for each. Their squares cost
# more than products of vectors, unless a sample leads the way.
_MANY_ROWS, _MANY_FEATURES, _ROWS_EACH = 50_000, 300, 1000
# Of more features a matrix of the squared number would be too large.
_MOST_FEATURES = 2000


@dataclass(frozen=True, eq=False)
class CoupledLogisticProblem:
    """Data of the coupled logistic problem.

    Parameters
    ----------
    source_features : matrix of shape (n_source, n_features) or None
        Labelled rows, dense or CSR, float64 or float32; many dense ones may be mapped from a file.
    source_signs : ndarray of shape (n_source,)
        Their labels, -1 or +1.
    source_costs : ndarray of shape (n_source,)
        Factor on the loss of each source row.
    target_features : matrix of shape (n_rows, n_features)
        Rows bag by bag, as `counts` has them; likewise. A row of known label is a bag of one.
    counts : BagCounts
        What is published about each bag.
    bag_costs : ndarray of shape (n_bags,)
        Factor on the log-likelihood of each bag.
    coupling : float
        From 0 to infinity; plays no part without source rows.
    n_threads : int, default=1
        Threads for the likelihood; the result does not depend on it.

    Raises
    ------
    ValueError
        When costs and features are so large that products of them are not finite.
    """

    source_features: Any
    source_signs: Floats
    source_costs: Floats
    target_features: Any
    counts: BagCounts
    bag_costs: Floats
    coupling: float
    n_threads: int = 1

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            cost = float(self.source_costs.sum() + self.bag_costs.sum())
        parts = [X for X in (self.source_features, self.target_features) if X is not None]
        require_range(cost, parts)

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
        Euclidean norm of the gradient in the coordinates that it was solved in.
    n_iter : int
        Trust region steps.
    converged : bool
        Whether the gradient, relative to the weights, came below the tolerance, or rounding left
        nothing to gain.
    n_passes : int
        Passes over all rows, where they were gone through chunk by chunk; else 0.
    """

    machines: Machines
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool
    n_passes: int = 0


def solve_coupled_logistic(
    problem: CoupledLogisticProblem,
    *,
    start: Machines | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    executor: Executor | None = None,
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
    executor : Executor, optional
        Whose threads go over many rows, in place of as many as the problem says; the result does
        not depend on it.

    Returns
    -------
    CoupledLogisticResult

    Notes
    -----
    With bags of several rows the problem is not convex, and the minimum depends on `start`.

    More than 50,000 dense rows, and 1,000 for each of more than 300 features, are gone through
    by :func:`solve_coupled_logistic_passes`, which copies no more than a chunk and a sample of
    them. More than 2,000 features, and sparse rows, never are.

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
    if _has_many_rows(problem):
        return _solve_many(problem, start, tol, max_iter, executor)
    problem = _in_double(problem)
    row_length = typical_row_length(
        [X for X in (problem.source_features, problem.target_features) if X is not None]
    )
    coordinates = _coordinates(problem, row_length)
    objective = _Objective(_in_units(problem, row_length), coordinates)
    initial = coordinates.encode(start) if start is not None else np.zeros(coordinates.size)
    end = minimise(objective, initial, tol=tol, max_iter=max_iter)
    return _result(end, coordinates)


def solve_coupled_logistic_passes(
    source: Passes | None,
    target: Passes,
    coupling: float,
    *,
    start: Machines | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    row_length: float | None = None,
    executor: Executor | None = None,
) -> CoupledLogisticResult:
    """Find a local minimum of the coupled logistic problem in few passes over its rows.

    Parameters
    ----------
    source : Passes or None
        Over labelled source rows; without them the target machine stands alone.
    target : Passes
        Over target rows, bag by bag.
    coupling : float
        From 0 to infinity.
    start : Machines, optional
        Where to begin; zero by default.
    tol : float, default=1e-6
        Norm of the gradient, relative to that of the weights, at which to stop.
    max_iter : int, default=500
        Limit on steps over all rows.
    row_length : float, optional
        About the length of a row of features, which sets the unit of the weights; by default that
        of rows that are drawn.
    executor : Executor, optional
        Whose threads go over a sample; the result does not depend on it.

    Returns
    -------
    CoupledLogisticResult

    Notes
    -----
    :class:`bagshift.solvers.count_passes.RowPasses` are the passes over rows in memory or in
    files mapped into it. Memory and the work of a pass grow with the square of the number of
    features. Many rows begin with a sample; see :mod:`bagshift.solvers._passes_newton`.
    """
    found = search(
        source,
        target,
        coupling,
        start=start,
        tol=tol,
        max_iter=max_iter,
        row_length=row_length,
        pool=executor,
    )
    return _result(found.end, found.coordinates, found.n_passes)


def _has_many_rows(problem: CoupledLogisticProblem) -> bool:
    """Tell whether passes over chunks are the better way."""
    parts = [X for X in (problem.source_features, problem.target_features) if X is not None]
    if problem.n_features > _MOST_FEATURES or any(sparse.issparse(X) for X in parts):
        return False
    # Products with all rows at once would copy those of single precision, or in a file.
    is_copied = any(X.dtype != np.float64 or isinstance(X, np.memmap) for X in parts)
    is_wide = problem.n_features > _MANY_FEATURES and not is_copied
    enough = max(_MANY_ROWS, _ROWS_EACH * problem.n_features) if is_wide else _MANY_ROWS
    return bool(sum(X.shape[0] for X in parts) > enough)


def _solve_many(
    problem: CoupledLogisticProblem,
    start: Machines | None,
    tol: float,
    max_iter: int,
    executor: Executor | None,
) -> CoupledLogisticResult:
    source = LabelledRows(problem.source_features, problem.source_signs, problem.source_costs)
    target = CountedRows(problem.target_features, problem.counts, problem.bag_costs)
    with threads(1 if executor is not None else problem.n_threads) as pool:
        pool = pool if executor is None else executor
        return solve_coupled_logistic_passes(
            RowPasses(source, pool) if problem.n_source else None,
            RowPasses(target, pool),
            problem.coupling,
            start=start,
            tol=tol,
            max_iter=max_iter,
            executor=pool,
        )


def _result(end: End, coordinates: Coordinates, n_passes: int = 0) -> CoupledLogisticResult:
    return CoupledLogisticResult(
        machines=coordinates.decode(end.point.v),
        objective=end.point.value / coordinates.row_length**2,
        gradient_norm=float(np.linalg.norm(end.point.gradient)),
        n_iter=end.n_iter,
        converged=end.converged,
        n_passes=n_passes,
    )


def _coordinates(problem: CoupledLogisticProblem, row_length: float = 1.0) -> Coordinates:
    coupling = problem.coupling if problem.n_source else None
    return coordinates_of(problem.n_features, coupling, row_length=row_length)


def _in_double(problem: CoupledLogisticProblem) -> CoupledLogisticProblem:
    """Return the problem with features of double precision, which every product would make."""
    source, target = problem.source_features, problem.target_features
    return replace(
        problem,
        source_features=None if source is None else source.astype(np.float64, copy=False),
        target_features=target.astype(np.float64, copy=False),
    )


def _in_units(problem: CoupledLogisticProblem, row_length: float) -> CoupledLogisticProblem:
    """Return the problem multiplied by the square of the length of a row."""
    factor = row_length**2
    return replace(
        problem,
        source_costs=factor * problem.source_costs,
        bag_costs=factor * problem.bag_costs,
    )


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
    """Value, gradient and Hessian products."""

    problem: CoupledLogisticProblem
    coordinates: Coordinates

    def __post_init__(self) -> None:
        problem = self.problem
        self._loss = CountLoss(problem.counts, problem.bag_costs, problem.n_threads)
        self._bag = np.repeat(np.arange(problem.counts.n_bags), problem.counts.sizes)
        self._rows = ScoredRows(problem.source_features, problem.target_features, self.coordinates)

    def at(self, v: Floats) -> _Point:
        problem = self.problem
        source_scores, target_scores = self._rows.scores(v)
        margins = problem.source_signs * source_scores
        doubt = expit(-margins)
        bags = self._loss.at(target_scores)
        penalty = self.coordinates.penalty_gradient(v)
        pulled = self._rows.pull_back(
            -problem.source_costs * problem.source_signs * doubt, bags.slope
        )
        return _Point(
            v=v,
            value=float(
                0.5 * (v @ penalty)
                + problem.source_costs @ np.logaddexp(0.0, -margins)
                - problem.bag_costs @ bags.log_likelihood
            ),
            gradient=pulled + penalty,
            source_curvature=problem.source_costs * doubt * (1.0 - doubt),
            target_curvature=bags.curvature,
            label_variance=bags.label_variance,
            bag_weight=bags.bag_weight,
        )

    def hessian_product(self, point: _Point, direction: Floats) -> Floats:
        source_change, target_change = self._rows.scores(direction)
        starts = self.problem.counts.starts[:-1]
        by_bag = np.add.reduceat(point.label_variance * target_change, starts) * point.bag_weight
        pushed = point.target_curvature * target_change + point.label_variance * by_bag[self._bag]
        curved = self._rows.pull_back(point.source_curvature * source_change, pushed)
        return curved + self.coordinates.penalty_gradient(direction)
