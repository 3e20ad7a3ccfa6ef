# SPDX-License-Identifier: BSD-3-Clause
r"""The coupled logistic problem of several classes, whose bags have known counts of each.

With scores :math:`f_h(x) = W_h x + b_h` of labelled source rows and
:math:`f_c(z) = W_c z + b_c` of target rows, one for each of :math:`C` classes,

.. math::

    \min\ \tfrac{C}{C - 1}\Bigl[\tfrac12\|W_c\|^2 + \tfrac12\|W_h\|^2
    + \tfrac\lambda2\bigl(\|W_c - W_h\|^2 + \|b_c - b_h\|^2\bigr)\Bigr]
    - \sum_i C_i \log \mathrm{softmax}(f_h(x_i))_{y_i} - \sum_k C_k \log P_k(n_k \mid f_c),

where :math:`P_k` is the probability of the counts of bag :math:`k`
(:mod:`bagshift.solvers.class_counts`). Two weight vectors share one difference between two
classes; with the factor :math:`C / (C - 1)` the difference of the two scores is the machine of
:mod:`bagshift.solvers.coupled_logistic`. A shift of all classes changes no probability, and
weights and intercepts sum to zero over the classes.

**Method.** Newton's method in a trust region, as for two classes, in the coordinates of
:mod:`bagshift.solvers._coordinates` for each class. With :math:`r_j` the probabilities of a row
given the counts, :math:`V_j = \mathrm{diag}(r_j) - r_j r_j^\top` and :math:`\Sigma = \sum_j V_j`,
the covariance of the labels of rows :math:`j` and :math:`l` of a bag is taken as
:math:`\delta_{jl} V_j - V_j \Sigma^+ V_l`: the sum over all rows is zero, as it must be where the
counts are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax

from bagshift.solvers._class_tilt import covariances, inverse_in_classes, sums_of_bags
from bagshift.solvers._coordinates import (
    Coordinates,
    Machines,
    Pull,
    coordinates_of,
    typical_row_length,
)
from bagshift.solvers._scored_rows import require_range
from bagshift.solvers._trust_region import minimise
from bagshift.solvers.class_counts import ClassCounts, class_count_posterior

__all__ = [
    "ClassMachines",
    "CoupledSoftmaxProblem",
    "CoupledSoftmaxResult",
    "solve_coupled_softmax",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassMachines:
    """Linear machines of all classes, for both domains.

    Parameters
    ----------
    source_weights, target_weights : ndarray of shape (n_classes, n_features)
    source_intercepts, target_intercepts : ndarray of shape (n_classes,)
    """

    source_weights: Floats
    source_intercepts: Floats
    target_weights: Floats
    target_intercepts: Floats

    @classmethod
    def of_classes(cls, machines: list[Machines]) -> ClassMachines:
        """Return the machines of the classes as arrays.

        Parameters
        ----------
        machines : list of Machines
            One for each class.

        Returns
        -------
        ClassMachines
        """
        return cls(
            np.array([each.source_weights for each in machines]),
            np.array([each.source_intercept for each in machines]),
            np.array([each.target_weights for each in machines]),
            np.array([each.target_intercept for each in machines]),
        )

    def centred(self) -> ClassMachines:
        """Return machines with the same probabilities that sum to zero over the classes."""
        return ClassMachines(*(values - values.mean(axis=0) for values in vars(self).values()))

    def of_class(self, place: int) -> Machines:
        """Return the machines of one class.

        Parameters
        ----------
        place : int

        Returns
        -------
        Machines
        """
        return Machines(
            self.source_weights[place],
            float(self.source_intercepts[place]),
            self.target_weights[place],
            float(self.target_intercepts[place]),
        )


@dataclass(frozen=True, eq=False)
class CoupledSoftmaxProblem:
    """Data of the coupled problem of several classes.

    Parameters
    ----------
    source_features : matrix of shape (n_source, n_features) or None
        Labelled rows, dense or CSR.
    source_codes : ndarray of shape (n_source,)
        Their classes, from 0.
    source_costs : ndarray of shape (n_source,)
        Factor on the loss of each source row.
    target_features : matrix of shape (n_rows, n_features)
        Rows bag by bag, as `counts` has them. A row of known label is a bag of one.
    counts : ClassCounts
    bag_costs : ndarray of shape (n_bags,)
        Factor on the log-likelihood of each bag.
    coupling : float
        From 0 to infinity; plays no part without source rows.

    Raises
    ------
    ValueError
        When costs and features are so large that products of them are not finite.
    """

    source_features: Any
    source_codes: NDArray[np.intp]
    source_costs: Floats
    target_features: Any
    counts: ClassCounts
    bag_costs: Floats
    coupling: float

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            cost = float(self.source_costs.sum() + self.bag_costs.sum())
        require_range(cost, self.parts)

    @property
    def parts(self) -> list[Any]:
        """The matrices of features that there are."""
        return [X for X in (self.source_features, self.target_features) if X is not None]

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return len(self.source_codes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.counts.n_classes

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.target_features.shape[1])


@dataclass(frozen=True, eq=False)
class CoupledSoftmaxResult:
    """Solution of a coupled problem of several classes.

    Parameters
    ----------
    machines : ClassMachines
        The best point found; those of source and target are the same where there is no source.
    objective : float
        Value of the problem there.
    gradient_norm : float
        Euclidean norm of the gradient in the coordinates that it was solved in.
    n_iter : int
        Trust region steps.
    converged : bool
        Whether the gradient, relative to the weights, came below the tolerance, or rounding left
        nothing to gain.
    """

    machines: ClassMachines
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


def solve_coupled_softmax(
    problem: CoupledSoftmaxProblem,
    *,
    start: ClassMachines | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> CoupledSoftmaxResult:
    """Find a local minimum of the coupled problem of several classes.

    Parameters
    ----------
    problem : CoupledSoftmaxProblem
    start : ClassMachines, optional
        Where to begin; zero by default. What all classes have in common is taken away.
    tol : float, default=1e-6
        Norm of the gradient, relative to that of the weights, at which to stop.
    max_iter : int, default=500
        Limit on trust region steps.

    Returns
    -------
    CoupledSoftmaxResult

    Notes
    -----
    With bags of several rows the problem is not convex, and the minimum depends on `start`.

    Examples
    --------
    >>> import numpy as np
    >>> problem = CoupledSoftmaxProblem(
    ...     source_features=np.array([[-1.0], [0.0], [1.0]]),
    ...     source_codes=np.arange(3),
    ...     source_costs=np.ones(3),
    ...     target_features=np.array([[-2.0], [2.0], [3.0]]),
    ...     counts=ClassCounts([0, 3], [[1, 0, 2]]),
    ...     bag_costs=np.ones(1),
    ...     coupling=1.0,
    ... )
    >>> result = solve_coupled_softmax(problem)
    >>> result.converged, result.machines.target_weights.shape
    (True, (3, 1))
    """
    row_length = typical_row_length(problem.parts)
    coupling = problem.coupling if problem.n_source else None
    coordinates = coordinates_of(problem.n_features, coupling, row_length=row_length)
    objective = _Objective(problem, coordinates)
    initial = np.zeros(problem.n_classes * coordinates.size)
    if start is not None:
        centred = start.centred()
        encoded = [coordinates.encode(centred.of_class(c)) for c in range(problem.n_classes)]
        initial = np.concatenate(encoded)
    end = minimise(objective, initial, tol=tol, max_iter=max_iter)
    return CoupledSoftmaxResult(
        machines=objective.machines(end.point.v),
        objective=end.point.value / objective.factor,
        gradient_norm=float(np.linalg.norm(end.point.gradient)),
        n_iter=end.n_iter,
        converged=end.converged,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """The objective at one place, and its curvature in the scores."""

    v: Floats
    value: float
    gradient: Floats
    source_chances: Floats
    target_chances: Floats
    posterior: Floats
    answers: Floats


class _Objective:
    """Value, gradient and Hessian products, in the units of the coordinates.

    The problem is divided by C / (C - 1) and multiplied by the square of the length of a row.
    """

    def __init__(self, problem: CoupledSoftmaxProblem, coordinates: Coordinates) -> None:
        n_classes = problem.n_classes
        self.problem, self.coordinates = problem, coordinates
        self.factor = coordinates.row_length**2 * (n_classes - 1) / n_classes
        self._source_costs = self.factor * problem.source_costs
        self._bag_costs = self.factor * problem.bag_costs
        self._bag = np.repeat(np.arange(problem.counts.n_bags), problem.counts.sizes)
        self._row_costs = self._bag_costs[self._bag]
        self._labels = np.eye(n_classes)[problem.source_codes]
        self._source, self._target = map(
            _in_double, (problem.source_features, problem.target_features)
        )

    def machines(self, v: Floats) -> ClassMachines:
        of_classes = v.reshape(self.problem.n_classes, -1)
        return ClassMachines.of_classes([self.coordinates.decode(own) for own in of_classes])

    def at(self, v: Floats) -> _Point:
        problem, counts = self.problem, self.problem.counts
        source_scores, target_scores = self._scores(v)
        source_log = log_softmax(source_scores, axis=1)
        source, target = np.exp(source_log), np.exp(log_softmax(target_scores, axis=1))
        found = class_count_posterior(target_scores, counts)
        slope = self._row_costs[:, None] * (target - found.probability)
        source_slope = self._source_costs[:, None] * (source - self._labels)
        penalty = self._penalty(v)
        labels_log = source_log[np.arange(problem.n_source), problem.source_codes]
        posterior = np.clip(found.probability, 0.0, 1.0)
        spread = covariances(posterior, counts.starts)
        return _Point(
            v=v,
            value=float(
                0.5 * (v @ penalty)
                - self._source_costs @ labels_log
                - self._bag_costs @ found.log_likelihood
            ),
            gradient=self._pull_back(source_slope, slope) + penalty,
            source_chances=source,
            target_chances=target,
            posterior=posterior,
            answers=inverse_in_classes(spread, counts.counts > 0),
        )

    def hessian_product(self, point: _Point, direction: Floats) -> Floats:
        source_change, target_change = self._scores(direction)
        known = _times_covariance(point.posterior, target_change)
        by_bag = sums_of_bags(known, self.problem.counts.starts)
        common = np.einsum("kcd,kd->kc", point.answers, by_bag)[self._bag]
        pushed = _times_covariance(point.target_chances, target_change) - known
        pushed += _times_covariance(point.posterior, common)
        source = _times_covariance(point.source_chances, source_change)
        curved = self._pull_back(
            self._source_costs[:, None] * source, self._row_costs[:, None] * pushed
        )
        return curved + self._penalty(direction)

    def _scores(self, v: Floats) -> tuple[Floats, Floats]:
        machines = self.machines(v)
        target = self._target @ machines.target_weights.T + machines.target_intercepts
        if self._source is None:
            return np.empty((0, self.problem.n_classes)), np.asarray(target)
        source = self._source @ machines.source_weights.T + machines.source_intercepts
        return np.asarray(source), np.asarray(target)

    def _pull_back(self, source: Floats, target: Floats) -> Floats:
        """Return derivatives in the unknowns from derivatives in the scores."""
        target_weights = np.asarray(self._target.T @ target).T
        source_weights = np.zeros_like(target_weights)
        if self._source is not None:
            source_weights = np.asarray(self._source.T @ source).T
        levels = zip(source.sum(axis=0), target.sum(axis=0), strict=True)
        return np.concatenate(
            [
                self.coordinates.pull_back(Pull(w_h, float(b_h), w_c, float(b_c)))
                for w_h, w_c, (b_h, b_c) in zip(
                    source_weights, target_weights, levels, strict=True
                )
            ]
        )

    def _penalty(self, v: Floats) -> Floats:
        of_classes = v.reshape(self.problem.n_classes, -1)
        return np.concatenate([self.coordinates.penalty_gradient(own) for own in of_classes])


def _in_double(X: Any) -> Any:
    if X is None:
        return None
    X = X.astype(np.float64, copy=False)
    return X.tocsr() if sparse.issparse(X) else X


def _times_covariance(chances: Floats, values: Floats) -> Floats:
    """Return (diag(p) - p p') v of every row."""
    return np.asarray(chances * (values - (chances * values).sum(axis=1)[:, None]))
