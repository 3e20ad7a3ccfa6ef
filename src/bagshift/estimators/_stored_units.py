# SPDX-License-Identifier: BSD-3-Clause
"""TGPLM and the inverse-calibrated SVM fitted on rows in files, by passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from bagshift.estimators._coupled import Loss
from bagshift.estimators._feature_space import FeatureSpace
from bagshift.estimators._mapped_rows import MappedRows, SampledMap
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
    mapped: SampledMap | None = None,
    n_threads: int = 1,
) -> ScalableMachine:
    """Fit a machine on means of bags, and history, in files.

    Parameters
    ----------
    machine : TGPLM or InverseCalibrationSVM
        Fitted in place.
    data : StoredData
        With the means of the bags as its target, of mapped rows where there is a map; its
        history is not mapped.
    record : callable, optional
        Keeps what passes answer; see :mod:`bagshift.solvers.recorded_passes`.
    mapped : SampledMap, optional
        The map of the kernel, where it is not linear.
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

        history = data.X_source if mapped is None else MappedRows(data.X_source, mapped.space)
        source = passes(history, losses.source, "source") if data.n_source else None
        target = passes(data.X_target, losses.target[0], "target")
        return fit_unit_passes(machine, data, source, target, losses.coupling, mapped=mapped)


def fit_unit_passes(
    machine: ScalableMachine,
    data: StoredData,
    source: LinearPasses | None,
    target: LinearPasses,
    coupling: float,
    *,
    mapped: SampledMap | None = None,
) -> ScalableMachine:
    """Fit a machine by passes over its units, wherever they lie.

    Parameters
    ----------
    machine : TGPLM or InverseCalibrationSVM
        Fitted in place.
    data : StoredData
        Its rows are not looked at.
    source, target : LinearPasses or None
    coupling : float
    mapped : SampledMap, optional
        What the features of the units are, where they are not the columns.

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
    space = _LINEAR if mapped is None else mapped.space
    store_columns(machine, target.n_features if mapped is None else mapped.n_columns)
    if mapped is not None:
        data = mapped.described(data)
    solution = ExplicitSolution(result, space, "newton")
    machine._store(data, space.kernel, solution)  # type: ignore[arg-type]
    if complaint := machine._complaint(solution):
        warn_caller(complaint, ConvergenceWarning)
    return machine


def store_columns(machine: Any, n_features: int) -> None:
    """Say of how many columns a machine that reads no table is; they have no names."""
    machine.n_features_in_ = n_features
    if hasattr(machine, "feature_names_in_"):
        del machine.feature_names_in_
