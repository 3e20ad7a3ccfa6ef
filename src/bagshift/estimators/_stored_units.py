# SPDX-License-Identifier: BSD-3-Clause
"""TGPLM and the inverse-calibrated SVM fitted on rows in files, by passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from bagshift.estimators._coupled import Loss
from bagshift.estimators._feature_space import FeatureSpace
from bagshift.estimators._scalable import ExplicitSolution, ScalableMachine
from bagshift.estimators._stored_data import StoredData
from bagshift.exceptions import warn_caller
from bagshift.kernels import Kernel
from bagshift.solvers._chunks import threads
from bagshift.solvers._linear_passes import LinearPasses
from bagshift.solvers.coupled_linear import solve_coupled_linear_passes
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses

AnyPasses = TypeVar("AnyPasses")
# From passes and the name of their domain, "source" or "target", to passes whose answers are kept.
Record = Callable[[AnyPasses, str], AnyPasses]

_LINEAR = FeatureSpace(Kernel("linear"), None)


def fit_stored_units(
    machine: ScalableMachine,
    data: StoredData,
    *,
    record: Record[LinearPasses] = lambda passes, domain: passes,
    n_threads: int = 1,
) -> ScalableMachine:
    """Fit a machine with a linear kernel on means of bags, and history, in files.

    Parameters
    ----------
    machine : TGPLM or InverseCalibrationSVM
        Fitted in place.
    data : StoredData
        With the means of the bags as its target.
    record : callable, optional
        Keeps what passes answer; see :mod:`bagshift.solvers.recorded_passes`.
    n_threads : int, default=1
        The result does not depend on it.

    Returns
    -------
    ScalableMachine
        The machine.

    Warns
    -----
    ConvergenceWarning
        When the solver stopped before its end.
    """
    machine._check_parameters()
    losses = machine._losses(data)  # type: ignore[arg-type]
    with threads(n_threads) as pool:

        def passes(features: Any, loss: Loss, domain: str) -> LinearPasses:
            return record(UnitPasses(LinearUnits(features, **vars(loss)), pool), domain)

        source = passes(data.X_source, losses.source, "source") if data.n_source else None
        target = passes(data.X_target, losses.target[0], "target")
        return fit_unit_passes(machine, data, source, target, losses.coupling)


def fit_unit_passes(
    machine: ScalableMachine,
    data: StoredData,
    source: LinearPasses | None,
    target: LinearPasses,
    coupling: float,
) -> ScalableMachine:
    """Fit a machine with a linear kernel by passes over its units, wherever they lie.

    Parameters
    ----------
    machine : TGPLM or InverseCalibrationSVM
        Fitted in place.
    data : StoredData
        Its rows are not looked at.
    source, target : LinearPasses or None
    coupling : float

    Returns
    -------
    ScalableMachine
        The machine.

    Warns
    -----
    ConvergenceWarning
        When the solver stopped before its end.
    """
    tol, limit = machine._explicit_limits("newton")
    result = solve_coupled_linear_passes(source, target, coupling, tol=tol, max_iter=limit)
    store_columns(machine, target.n_features)
    solution = ExplicitSolution(result, _LINEAR, "newton")
    machine._store(data, _LINEAR.kernel, solution)  # type: ignore[arg-type]
    if complaint := machine._complaint(solution):
        warn_caller(complaint, ConvergenceWarning)
    return machine


def store_columns(machine: Any, n_features: int) -> None:
    """Say of how many columns a machine that reads no table is; they have no names."""
    machine.n_features_in_ = n_features
    if hasattr(machine, "feature_names_in_"):
        del machine.feature_names_in_
