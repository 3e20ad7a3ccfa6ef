# SPDX-License-Identifier: BSD-3-Clause
r"""What bags left out say of many costs and couplings of the least-squares machines.

The system of :mod:`bagshift.solvers.coupled_least_squares` holds the source rows in one block,
:math:`I + \rho_1 C_s \tilde K_{ss}` with :math:`\tilde K_{ss}` the Gram matrix of source rows
times the roots of their weights. Its eigenvectors serve every :math:`C_s`, :math:`C_t` and
:math:`\lambda`: with :math:`\tilde K_{ss} = V\Lambda V^\top` and :math:`X = V^\top\tilde K_{st}`,
what is left of the system after elimination of the source is

.. math::

    T = I + C_t\Bigl(\rho_1\tilde K_{tt}
    - \rho_2^2 C_s X^\top (I + \rho_1 C_s\Lambda)^{-1} X\Bigr) ,

as large as the number of target units. One eigendecomposition of the source block, a product for
each pair of :math:`C_s` and :math:`\lambda`, and a Cholesky factor of :math:`T` for each point
give the residuals of all target units left out one by one, for all outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from bagshift.solvers._identity_plus import factor_identity_plus
from bagshift.solvers._intercepts import Intercepts, one_intercept, two_intercepts
from bagshift.solvers._left_out import left_out_residuals, quadratic_forms
from bagshift.solvers.coupled_least_squares import (
    CoupledLeastSquaresProblem,
    solve_coupled_least_squares,
    weights_of,
)

__all__ = ["LeastSquaresPoint", "least_squares_path"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class LeastSquaresPoint:
    """Costs and coupling of one machine.

    Parameters
    ----------
    C_source, C_target : float
        Factors on the weights of source units, at least 0, and of target units, above 0.
    coupling : float
        From 0 to infinity; plays no part without a source.
    """

    C_source: float
    C_target: float
    coupling: float


def least_squares_path(
    gram: NDArray[np.float64] | NDArray[np.float32],
    n_source: int,
    targets: Floats,
    weights: Floats,
    points: Sequence[LeastSquaresPoint],
) -> Floats:
    """Return what target units miss their targets by when left out, at many costs and couplings.

    Parameters
    ----------
    gram : ndarray of shape (m, m), float64 or float32
        Raw Gram matrix of the units, source units first; symmetric, positive semidefinite.
    n_source : int
        Number of source units, less than ``m``.
    targets : ndarray of shape (m, n_outputs)
        Wanted scores of the units.
    weights : ndarray of shape (m,)
        Factors on the cost of every unit: at least 0, and above 0 on target units.
    points : sequence of LeastSquaresPoint
        In any order; those with equal ``C_source`` and ``coupling`` share work. Without a
        source only ``C_target`` counts.

    Returns
    -------
    ndarray of shape (n_points, m - n_source, n_outputs)
        ``left_out_residuals`` of :func:`solve_coupled_least_squares` at each point.

    Raises
    ------
    ValueError
        When shapes do not fit, or a value is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> positions = np.array([-1.0, 0.0, 1.0])
    >>> points = [LeastSquaresPoint(0.0, C, 0.0) for C in (1e-3, 1.0, 1e3)]
    >>> targets = positions[:, None]
    >>> residuals = least_squares_path(
    ...     np.outer(positions, positions), 0, targets, np.ones(3), points
    ... )
    >>> (residuals**2).sum(axis=(1, 2)).round(3)
    array([4.496, 2.   , 0.   ])
    """
    problem = CoupledLeastSquaresProblem(gram, n_source, targets, weights, coupling=0.0)
    _check(problem, points)
    if n_source == len(weights) - 1:
        return np.array([_residuals_of_one(problem, point) for point in points])
    blocks = _Blocks.of(problem)
    residuals = np.empty((len(points), len(blocks.target_scale), problem.targets.shape[1]))
    for numbers, (c_source, coupling) in _groups(points, n_source):
        reduced = _Reduced.of(blocks, c_source, coupling)
        by_cost = {cost: reduced.residuals(cost) for cost in {points[k].C_target for k in numbers}}
        for number in numbers:
            residuals[number] = by_cost[points[number].C_target]
    return residuals


def _check(problem: CoupledLeastSquaresProblem, points: Sequence[LeastSquaresPoint]) -> None:
    n = problem.n_source
    if n == len(problem.costs):
        raise ValueError(f"n_source is {n}, so that no target unit can be left out; add bags.")
    if not problem.costs[n:].min() > 0:
        raise ValueError("weights of target units must be above 0; leave out units of weight 0.")
    for point in points:
        if not (0 <= point.C_source < np.inf and 0 < point.C_target < np.inf):
            raise ValueError(
                f"points must have a C_source from 0 and a C_target above 0, both finite: {point}."
            )
        if not point.coupling >= 0:
            raise ValueError(f"points must have a coupling from 0 to inf: {point}.")


def _residuals_of_one(problem: CoupledLeastSquaresProblem, point: LeastSquaresPoint) -> Floats:
    """Return the residual of the only target unit, without which its block is empty."""
    costs = problem.costs * point.C_source
    costs[-1] = problem.costs[-1] * point.C_target
    at_point = replace(problem, costs=costs, coupling=point.coupling)
    return solve_coupled_least_squares(at_point).left_out_residuals


def _groups(
    points: Sequence[LeastSquaresPoint], n_source: int
) -> Iterator[tuple[list[int], tuple[float, float]]]:
    """Yield the numbers of points that share the source's part, and their cost and coupling."""

    def key(number: int) -> tuple[float, float]:
        point = points[number]
        return (point.C_source, point.coupling) if n_source else (0.0, 0.0)

    for shared, numbers in groupby(sorted(range(len(points)), key=key), key=key):
        yield list(numbers), shared


@dataclass(frozen=True, eq=False)
class _Blocks:
    """What all points share: blocks times roots of weights, the source in its eigenvectors."""

    eigenvalues: Floats
    across: Floats
    target_block: Floats
    source_ones: Floats
    source_targets: Floats
    targets: Floats
    target_scale: Floats
    source_weight: float
    rounding: float

    @classmethod
    def of(cls, problem: CoupledLeastSquaresProblem) -> _Blocks:
        n = problem.n_source
        scale = np.sqrt(problem.costs)
        source, target = scale[:n], scale[n:]
        gram = np.asarray(problem.gram, dtype=np.float64)
        eigenvalues, vectors = np.empty(0), np.empty((0, 0))
        if n:
            block = source[:, None] * gram[:n, :n] * source
            eigenvalues, vectors = eigh(block, overwrite_a=True, check_finite=False)
        largest = float(np.max(gram.diagonal()[n:] * problem.costs[n:]))
        eps = float(np.finfo(problem.gram.dtype).eps)
        return cls(
            eigenvalues=np.maximum(eigenvalues, 0.0),
            across=vectors.T @ (source[:, None] * gram[:n, n:] * target),
            target_block=target[:, None] * gram[n:, n:] * target,
            source_ones=vectors.T @ source,
            source_targets=vectors.T @ (source[:, None] * problem.targets[:n]),
            targets=problem.targets[n:],
            target_scale=target,
            source_weight=float(problem.costs[:n].sum()),
            rounding=eps * np.sqrt(len(scale)) * largest,
        )

    @property
    def has_source(self) -> bool:
        return len(self.eigenvalues) > 0


@dataclass(frozen=True, eq=False)
class _Reduced:
    """The system without the source rows, at one cost of these and one coupling.

    The parts of the right-hand side and of its quadratic forms that come from the source are
    those of its ones and of its targets, without factors of C_target.
    """

    blocks: _Blocks
    c_source: float
    coupling: float
    block: Floats
    pulls: Floats
    forms: Floats

    @classmethod
    def of(cls, blocks: _Blocks, c_source: float, coupling: float) -> _Reduced:
        within, across = weights_of(coupling) if blocks.has_source else (1.0, 0.0)
        kept = 1.0 / (1.0 + within * c_source * blocks.eigenvalues)
        rooted = np.sqrt(kept)[:, None] * blocks.across
        right = np.hstack([blocks.source_ones[:, None], blocks.source_targets])
        return cls(
            blocks=blocks,
            c_source=c_source,
            coupling=coupling,
            block=within * blocks.target_block - (across**2 * c_source) * (rooted.T @ rooted),
            pulls=-(across * c_source) * (blocks.across.T @ (kept[:, None] * right)),
            forms=c_source * (right.T @ (kept[:, None] * right)),
        )

    def residuals(self, c_target: float) -> Floats:
        """Return the residuals of target units left out; shape (n_target_units, n_outputs)."""
        blocks, intercepts = self.blocks, self._intercepts(c_target)
        factor = factor_identity_plus(c_target * self.block, c_target * blocks.rounding)
        q = len(intercepts.target)
        mix = self._mix(intercepts)
        scale = np.sqrt(c_target) * blocks.target_scale
        own = np.hstack([intercepts.columns(0, len(scale)), blocks.targets])
        right = scale[:, None] * own + np.sqrt(c_target) * (self.pulls @ mix)
        solved = factor.solve(right)
        forms = mix[:, :q].T @ self.forms @ mix + right[:, :q].T @ solved
        inverse = intercepts.inverse(forms[:, :q])
        of_columns, of_targets = solved[:, :q], solved[:, q:]
        scaled_dual = of_targets - of_columns @ (inverse @ forms[:, q:])
        leverage = factor.inverse_diagonal(0) - quadratic_forms(of_columns, inverse)
        return left_out_residuals(scaled_dual, scale, leverage)

    def _mix(self, intercepts: Intercepts) -> Floats:
        """Return how unknown intercepts, then outputs, are made of the source's ones and targets.

        Shape (1 + n_outputs, n_unknowns + n_outputs).
        """
        q, n_outputs = len(intercepts.source), self.blocks.targets.shape[1]
        mix = np.zeros((1 + n_outputs, q + n_outputs))
        mix[0, :q] = intercepts.source
        mix[1:, q:] = np.eye(n_outputs)
        return mix

    def _intercepts(self, c_target: float) -> Intercepts:
        if not self.blocks.has_source:
            return one_intercept()
        target_cost = c_target * float(self.blocks.target_scale @ self.blocks.target_scale)
        source_cost = self.c_source * self.blocks.source_weight
        return two_intercepts(source_cost, target_cost, self.coupling)
