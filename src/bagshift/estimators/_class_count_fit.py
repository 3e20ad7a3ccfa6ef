# SPDX-License-Identifier: BSD-3-Clause
r"""The count-likelihood machine of more than two classes, from data to linear machines.

The problem is that of :mod:`bagshift.solvers.coupled_softmax`. It starts from the source machine,
multinomial logistic regression, or from inverse calibration: with
:math:`T_{kc} = \log P_{kc} - \tfrac1C\sum_{c'}\log P_{kc'}` of the clipped shares,
:math:`\min \tfrac12\|W\|^2 + \tfrac{C_c}2\sum_k\|W m_k + b - T_k\|^2` on the means of the bags.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from bagshift.calibration import clip_levels, clip_shares
from bagshift.estimators._class_training import ClassTraining
from bagshift.estimators._class_units import ClassUnits
from bagshift.kernels import unit_means
from bagshift.solvers.class_counts import ClassCounts
from bagshift.solvers.coupled_softmax import (
    ClassMachines,
    CoupledSoftmaxProblem,
    CoupledSoftmaxResult,
    solve_coupled_softmax,
)

Floats = NDArray[np.float64]

_START_TOL = 1e-4


def softmax_problem(
    machine: Any, given: ClassTraining, units: ClassUnits, source: Any, target: Any
) -> CoupledSoftmaxProblem:
    """Return the problem on features of the source rows and of the rows of the units.

    Parameters
    ----------
    machine : estimator
        Gives ``C_source``, ``C_target`` and ``coupling``.
    given : ClassTraining
    units : ClassUnits
    source, target : matrix
        Features; None for no source.

    Returns
    -------
    CoupledSoftmaxProblem
    """
    return CoupledSoftmaxProblem(
        source_features=source,
        source_codes=given.source_codes,
        source_costs=machine.C_source * given.source_weight,
        target_features=target,
        counts=units.counts,
        bag_costs=machine.C_target * units.weights,
        coupling=float(machine.coupling),
    )


def solve_from(
    start: str, machine: Any, given: ClassTraining, problem: CoupledSoftmaxProblem, means: Any
) -> CoupledSoftmaxResult:
    """Solve the problem from one of the starts.

    Parameters
    ----------
    start : {"source", "inverse_calibration", "zero"}
    machine : estimator
        Gives ``C_target``, ``tol`` and ``max_iter``.
    given : ClassTraining
    problem : CoupledSoftmaxProblem
    means : matrix of shape (n_bags, n_features)
        Mean features of the bags; used from inverse calibration only.

    Returns
    -------
    CoupledSoftmaxResult
    """
    first = None
    if start == "source":
        first = source_start(problem, machine.max_iter)
    elif start == "inverse_calibration":
        first = inverse_calibration_start(machine, given, means)
    return solve_coupled_softmax(problem, start=first, tol=machine.tol, max_iter=machine.max_iter)


def source_start(problem: CoupledSoftmaxProblem, max_iter: int) -> ClassMachines:
    """Return multinomial logistic regression on the source, as both machines.

    Parameters
    ----------
    problem : CoupledSoftmaxProblem
        With a source.
    max_iter : int

    Returns
    -------
    ClassMachines
    """
    codes = problem.source_codes
    alone = CoupledSoftmaxProblem(
        source_features=None,
        source_codes=np.empty(0, dtype=np.intp),
        source_costs=np.empty(0),
        target_features=problem.source_features,
        counts=ClassCounts(
            np.arange(len(codes) + 1), np.eye(problem.n_classes, dtype=np.int64)[codes]
        ),
        bag_costs=problem.source_costs,
        coupling=0.0,
    )
    return solve_coupled_softmax(alone, tol=_START_TOL, max_iter=max_iter).machines


def inverse_calibration_start(
    machine: Any, given: ClassTraining, means: Any, *, bags: Any = slice(None)
) -> ClassMachines:
    """Return ridge regression of centred log shares on the means of bags, as both machines.

    Parameters
    ----------
    machine : estimator
        Gives ``C_target``.
    given : ClassTraining
    means : matrix of shape (n_bags, n_features)
    bags : index, optional
        Those to learn from; all by default.

    Returns
    -------
    ClassMachines
    """
    levels = clip_levels("auto", sizes=given.bags.sizes, n_rows=len(given.bags))
    shares, means = clip_shares(given.class_shares, levels[:, None])[bags], means[bags]
    logs = np.log(shares / shares.sum(axis=1, keepdims=True))
    wanted = logs - logs.mean(axis=1, keepdims=True)
    centre, level = np.asarray(means.mean(axis=0)).ravel(), wanted.mean(axis=0)
    weights = _ridge(means, centre, wanted - level, 1.0 / max(machine.C_target, 1e-12))
    intercepts = level - weights @ centre
    return ClassMachines(weights, intercepts, weights, intercepts)


def _ridge(X: Any, centre: Floats, wanted: Floats, ridge: float) -> Floats:
    """Return weights of shape (n_outputs, n_features), through the matrix of inner products."""
    if sparse.issparse(X):
        return _sparse_ridge(X, centre, wanted, ridge)
    centred = X - centre
    gram = centred @ centred.T
    gram.flat[:: len(gram) + 1] += ridge
    return np.asarray((centred.T @ np.linalg.solve(gram, wanted)).T)


def _sparse_ridge(X: Any, centre: Floats, wanted: Floats, ridge: float) -> Floats:
    n_bags = X.shape[0]

    def times(v: Floats) -> Floats:
        back = X.T @ v - centre * v.sum()
        return np.asarray(X @ back - centre @ back + ridge * v)

    operator = LinearOperator((n_bags, n_bags), matvec=times)
    duals = [cg(operator, column, rtol=1e-6, maxiter=500)[0] for column in wanted.T]
    return np.array([X.T @ dual - centre * dual.sum() for dual in duals])


def mean_features(given: ClassTraining, transform: Any) -> Any:
    """Return the mean features of the bags.

    Parameters
    ----------
    given : ClassTraining
    transform : callable or None
        From rows to features.

    Returns
    -------
    matrix of shape (n_bags, n_features)
    """
    return unit_means(given.X_target, given.bags.bag_index, given.bags.n_bags, transform=transform)
