# SPDX-License-Identifier: BSD-3-Clause
r"""TGPLM's machines on sparse or very wide features, by dual coordinate descent.

The problem is that of :mod:`bagshift.solvers.coupled_linear`. Its dual, in one variable
:math:`z_i` for each unit, is that of :mod:`bagshift.solvers.coupled_qp` with the Gram matrix of
the features: with :math:`u` and :math:`v` the sums of :math:`z_i x_i` over source and target
units,

.. math::

    w_h = \rho_1 u + \rho_2 v, \qquad w_c = \rho_2 u + \rho_1 v, \qquad
    \rho_1 = \tfrac{1 + \lambda}{1 + 2 \lambda},\ \rho_2 = \tfrac{\lambda}{1 + 2 \lambda} .

**Method.** An epoch goes over the units of one domain, then of the other, in random order, and
finds the best :math:`z_i` of each in turn, given all others [1]_. Work is that of reading the
entries of its row that are not zero, twice, and memory is the features and some numbers per unit
and per column. Units that are far on their side of a tube leave the passes for a while.

**Intercepts.** They are not penalised, as everywhere in this package. An epoch charges
:math:`\tfrac{\rho}{2} (b + w^\top m - c)^2` for moving the score at the mean row :math:`m` away
from :math:`c`, what it was after the last one: the method of multipliers [2]_, which charges
nothing at the solution. So features need not be centred, and sparse rows stay sparse.

**Certificate.** From time to time the duality gap of the problem itself is computed: of the best
machines so far, and of dual variables moved into the conditions :math:`\sum z_i = 0` and
:math:`\lambda (b_h - b_c) = \sum_{\text{source}} z_i` by a small part of the way to a corner of
their boxes.

Where costs are large and columns few, :func:`bagshift.solvers.coupled_linear.solve_coupled_linear`
is much faster: the number of epochs grows with the costs.

References
----------
.. [1] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan. A dual coordinate
   descent method for large-scale linear SVM. ICML 2008.
.. [2] R. T. Rockafellar. Augmented Lagrangians and applications of the proximal point algorithm
   in convex programming. Mathematics of Operations Research 1(2), 1976.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bagshift import _core
from bagshift.solvers._flat_intercepts import centre_intercepts
from bagshift.solvers.coupled_linear import CoupledLinearProblem, CoupledLinearResult, Machines
from bagshift.solvers.coupled_qp import NEGLIGIBLE_COUPLING
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses

__all__ = ["CoordinateDescentResult", "solve_coordinate_descent"]

Floats = NDArray[np.float64]

_MOST_SEEDS = 2**64


@dataclass(frozen=True, eq=False)
class CoordinateDescentResult(CoupledLinearResult):
    """Solution of a coupled linear problem, with dual variables to begin another one from.

    Parameters
    ----------
    machines, objective, dual_gap, intercept_interval, n_iter, converged
        As :class:`bagshift.solvers.coupled_linear.CoupledLinearResult` has them; ``n_iter`` counts
        epochs.
    dual : ndarray of shape (n_units,)
        Dual variables of source units, then of target units, at the end of the last epoch.
    """

    dual: Floats


def solve_coordinate_descent(
    problem: CoupledLinearProblem,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    start: ArrayLike | None = None,
    random_state: int = 0,
) -> CoordinateDescentResult:
    """Solve a coupled linear problem by dual coordinate descent.

    The interpreter lock is released, and Ctrl-C is heard between epochs.

    Parameters
    ----------
    problem : CoupledLinearProblem
        Features dense in C order or CSR, with entries in any order and repeated ones added up;
        boxes with zero in them; finite numbers. Anchors play no part.
    tol : float, default=1e-4
        Duality gap, relative to the objective, at which to stop.
    max_iter : int, default=1000
        Limit on epochs.
    start : array-like of shape (n_units,), optional
        Dual variables to begin from, such as ``result.dual`` of a similar problem; clipped into
        the boxes. Zero by default.
    random_state : int, default=0
        Seed of the order of units; the same one gives the same result.

    Returns
    -------
    CoordinateDescentResult

    Raises
    ------
    ValueError, TypeError
        When arrays do not fit each other, or a number is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> rows = LinearUnits(
    ...     sparse.csr_matrix([[-1.0], [1.0]]),
    ...     targets=np.array([-1.0, 1.0]),
    ...     half_widths=np.zeros(2),
    ...     lower=np.array([-1.0, 0.0]),
    ...     upper=np.array([0.0, 1.0]),
    ... )
    >>> result = solve_coordinate_descent(CoupledLinearProblem(None, rows, 0.0))
    >>> round(result.objective, 3), result.dual.round(3)
    (0.5, array([-0.5,  0.5]))
    """
    _check_numbers(problem.coupling, tol, max_iter, random_state)
    n_units = problem.target.n_units
    if problem.source is not None:
        n_units += problem.source.n_units
        if problem.source.n_features != problem.target.n_features:
            raise ValueError(
                "Source and target features must have the same columns: there are "
                f"{problem.source.n_features} and {problem.target.n_features}."
            )
    solution = _core.descend(
        source=None if problem.source is None else _to_core("source", problem.source),
        target=_to_core("target", problem.target),
        coupling=problem.coupling,
        guess=None if start is None else _to_vector("start", start, n_units),
        tol=tol,
        max_iter=max_iter,
        seed=random_state,
    )
    gap = max(solution.objective - solution.dual_objective, 0.0)
    is_solved = gap <= tol * solution.objective
    machines, interval = _centred(problem, solution, is_solved)
    return CoordinateDescentResult(
        machines=machines,
        objective=solution.objective,
        dual_gap=gap,
        intercept_interval=interval,
        n_iter=solution.n_iter,
        converged=is_solved,
        dual=solution.dual,
    )


def _centred(
    problem: CoupledLinearProblem, solution: _core.CoreDescent, is_solved: bool
) -> tuple[Machines, tuple[float, float]]:
    """Return the machines, with intercepts in the middle where the problem leaves them open."""
    machines = Machines(
        source_weights=solution.source_weights,
        source_intercept=solution.source_intercept,
        target_weights=solution.target_weights,
        target_intercept=solution.target_intercept,
    )
    source, target = problem.source, problem.target
    n_source = 0 if source is None else source.n_units
    is_held = bool(target.is_free(solution.dual[n_source:]).any())
    if source is not None:
        is_held |= bool(source.is_free(solution.dual[:n_source]).any())
        is_held &= problem.coupling >= NEGLIGIBLE_COUPLING
    is_empty = target.n_units == 0 or (source is not None and n_source == 0)
    if is_held or is_empty or not is_solved:
        return machines, (machines.target_intercept, machines.target_intercept)
    passes = None if source is None else UnitPasses(source)
    return centre_intercepts(machines, passes, UnitPasses(target), problem.coupling)


def _check_numbers(coupling: float, tol: float, max_iter: int, random_state: int) -> None:
    if not coupling >= 0:
        raise ValueError(f"coupling must be a number from 0 to inf: {coupling}.")
    if not 0 < tol < math.inf:
        raise ValueError(f"tol must be a positive number: {tol}.")
    if max_iter < 0:
        raise ValueError(f"max_iter must not be negative: {max_iter}.")
    if not 0 <= random_state < _MOST_SEEDS:
        raise ValueError(f"random_state must be an integer from 0 to 2**64 - 1: {random_state}.")


def _to_core(domain: str, units: LinearUnits) -> _core.CoreUnits:
    """Return units of the core, which reads the features where they lie."""
    features = units.features
    n_units = features.shape[0]
    vectors = {
        name: _to_vector(f"{domain}.{name}", getattr(units, name), n_units)
        for name in ("targets", "half_widths", "lower", "upper")
    }
    if n_units and vectors["half_widths"].min() < 0:
        raise ValueError(f"{domain}.half_widths must not be negative.")
    if n_units and (vectors["lower"].max() > 0 or vectors["upper"].min() < 0):
        raise ValueError(f"Every box of the {domain} must contain 0: lower <= 0 <= upper.")
    if features.dtype not in (np.float64, np.float32):
        raise TypeError(f"{domain}.features must be float64 or float32: it is {features.dtype}.")
    if sparse.issparse(features):
        return _sparse_to_core(domain, features, vectors)
    if features.shape[1] > 1 and features.strides[1] != features.itemsize:
        raise ValueError(f"{domain}.features must be in C order: use numpy.ascontiguousarray.")
    return _core.dense_units(features=features, **vectors)


def _sparse_to_core(domain: str, features: Any, vectors: dict[str, Floats]) -> _core.CoreUnits:
    if features.format != "csr":
        raise TypeError(f"{domain}.features must be in CSR format: use its tocsr method.")
    return _core.sparse_units(
        values=features.data,
        columns=features.indices,
        starts=features.indptr,
        n_features=features.shape[1],
        **vectors,
    )


def _to_vector(name: str, values: ArrayLike, n_units: int) -> Floats:
    vector = np.ascontiguousarray(values, dtype=np.float64)
    if vector.shape != (n_units,):
        raise ValueError(
            f"{name} must have shape ({n_units},), a number for each row: it is {vector.shape}."
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} holds values that are not finite.")
    return vector
