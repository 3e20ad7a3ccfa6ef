# SPDX-License-Identifier: BSD-3-Clause
"""Machines of one program that choose between a kernel matrix and explicit features.

The exact machine needs the kernel matrix of all units. Beyond some ten thousand of them the same
program is solved on explicit features: the columns themselves under the linear kernel, else a
finite map whose inner products are nearly the kernel. Means of bags are means of mapped rows, so
the map goes first.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._class_training import ClassTraining
from bagshift.estimators._coupled import CoupledMachine, Loss, Losses, coupled_problem
from bagshift.estimators._feature_space import FeatureSpace, feature_space
from bagshift.estimators._fit_report import fit_report
from bagshift.estimators._threads import n_threads_of
from bagshift.estimators._training import TrainingData
from bagshift.kernels import Kernel, default_n_components, unit_means
from bagshift.solvers import (
    CoupledLinearProblem,
    CoupledLinearResult,
    CoupledProblem,
    CoupledResult,
    LinearUnits,
    solve_coordinate_descent,
    solve_coupled_linear,
)

Floats = NDArray[np.float64]

# Units up to which "auto" computes the kernel matrix: it takes 0.8 GiB then, and its time and
# memory grow with the square.
MOST_EXACT_UNITS = 10_000
# Columns up to which Newton's method, whose work grows with their square, is the faster one.
_MOST_NEWTON_COLUMNS = 2_000
# Duality gaps, of the objective, by unit of tolerance of the exact solver. Newton's method makes
# decisions agree as well; coordinate descent, which takes long to the last digits, the objective.
_RELATIVE_GAP = {"newton": 1e-5, "coordinate": 1e-1}
# "No limit" still ends.
_MOST_PASSES = {"newton": 2_000, "coordinate": 20_000}


@dataclass(frozen=True, eq=False)
class ExplicitSolution:
    """A solution on explicit features.

    Attributes
    ----------
    result : CoupledLinearResult
    space : FeatureSpace
    solver : str
    """

    result: CoupledLinearResult
    space: FeatureSpace
    solver: str


class ScalableMachine(CoupledMachine):
    """Coupled machine of one program, for any number of rows.

    Subclasses say in ``_losses`` which loss each unit has. They have the parameters of
    :class:`CoupledMachine`, and ``solver``, ``feature_map``, ``n_components``, ``n_jobs`` and
    ``random_state``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "solver": [StrOptions({"auto", "exact", "newton", "coordinate"})],
        "feature_map": [StrOptions({"nystroem", "fourier"})],
        "n_components": [
            StrOptions({"auto"}),
            None,
            Interval(Integral, 1, None, closed="left"),
        ],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _losses(self, data: TrainingData) -> Losses:
        """Return the losses of the units of ``data``."""

    def _problem(self, data: TrainingData, gram: NDArray[Any]) -> CoupledProblem:
        return coupled_problem(gram, **vars(self._losses(data)))

    def _train(self, data: TrainingData, kernel: Kernel) -> Any:
        solver = choose_solver(self.solver, kernel, data)
        if solver == "exact":
            return super()._train(data, kernel)
        return self._train_explicitly([data], kernel, solver)[0]

    def _train_each(self, views: list[TrainingData], kernel: Kernel) -> list[Any]:
        solver = choose_solver(self.solver, kernel, views[0])
        if solver == "exact":
            return super()._train_each(views, kernel)
        return self._train_explicitly(views, kernel, solver)

    def _train_explicitly(
        self, views: list[TrainingData], kernel: Kernel, solver: str
    ) -> list[Any]:
        """Return solutions for data that differ in labels and shares only."""
        space = feature_space(
            kernel,
            views[0],
            n_components=_number_of_components(self.n_components, views[0]),
            feature_map=self.feature_map,
            random_state=self.random_state,
        )
        features = explicit_features(space, views[0])
        problems = [explicit_problem(features, self._losses(view)) for view in views]
        return [
            ExplicitSolution(self._solve_explicitly(problem, solver), space, solver)
            for problem in problems
        ]

    def _explicit_limits(self, solver: str) -> tuple[float, int]:
        """Return tolerance and limit of passes of a solver on explicit features."""
        limit = _MOST_PASSES[solver] if self.max_iter < 0 else self.max_iter
        return _RELATIVE_GAP[solver] * self.tol, limit

    def _solve_explicitly(self, problem: CoupledLinearProblem, solver: str) -> CoupledLinearResult:
        tol, limit = self._explicit_limits(solver)
        if solver == "coordinate":
            return solve_coordinate_descent(problem, tol=tol, max_iter=limit)
        n_threads = n_threads_of(self.n_jobs)
        return solve_coupled_linear(problem, tol=tol, max_iter=limit, n_threads=n_threads)

    def _complaint(self, result: Any) -> str | None:
        return super()._complaint(getattr(result, "result", result))

    def _store(self, data: TrainingData, kernel: Kernel, result: Any) -> None:
        if isinstance(result, CoupledResult):
            super()._store(data, kernel, result)
            self.fit_report_ = fit_report(data, "exact", None)
            return
        solution, machines = result.result, result.result.machines
        self._begin(data, kernel)
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self.dual_gap_ = solution.dual_gap
        self.converged_ = solution.converged
        self.intercept_interval_ = solution.intercept_interval
        self._store_machine(data, result.space, "", machines.target)
        if data.n_source:
            self._store_machine(data, result.space, "source_", machines.source)
        self.fit_report_ = fit_report(data, result.solver, result.space)

    def _store_each(
        self,
        given: ClassTraining,
        views: list[TrainingData],
        kernel: Kernel,
        results: list[Any],
    ) -> None:
        if isinstance(results[0], CoupledResult):
            super()._store_each(given, views, kernel, results)
            self.fit_report_ = fit_report(views[0], "exact", None)
            return
        parts = [clone(self) for _ in results]
        for part, view, result in zip(parts, views, results, strict=True):
            part.n_features_in_ = self.n_features_in_
            part._store(view, kernel, result)
        self._begin(given, kernel)
        self._stack(parts)
        self._store_solutions([result.result for result in results])
        self.fit_report_ = fit_report(views[0], results[0].solver, results[0].space)


def choose_solver(wanted: str, kernel: Kernel, data: TrainingData) -> str:
    """Return which solver takes the data.

    Parameters
    ----------
    wanted : {"auto", "exact", "newton", "coordinate"}
    kernel : Kernel
    data : TrainingData

    Returns
    -------
    {"exact", "newton", "coordinate"}
    """
    n_units = data.n_source + data.n_target_units
    if wanted != "auto":
        return wanted
    if kernel.name == "precomputed" or n_units <= MOST_EXACT_UNITS:
        return "exact"
    parts = [X for X in (data.X_source, data.X_target) if X is not None]
    is_wide = parts[0].shape[1] > _MOST_NEWTON_COLUMNS
    if kernel.name == "linear" and (is_wide or any(sparse.issparse(X) for X in parts)):
        return "coordinate"
    return "newton"


def _number_of_components(wanted: int | str | None, data: TrainingData) -> int | None:
    if wanted != "auto":
        return wanted  # type: ignore[return-value]
    return default_n_components(data.n_source + len(data.bags))


@dataclass(frozen=True, eq=False)
class ExplicitFeatures:
    """Features of all units.

    Attributes
    ----------
    source : matrix of shape (n_source, n_components) or None
    target : matrix of shape (n_target_units, n_components)
    """

    source: Any
    target: Any


def explicit_features(space: FeatureSpace, data: TrainingData) -> ExplicitFeatures:
    """Map source rows, and means of bags and labelled rows.

    Parameters
    ----------
    space : FeatureSpace
    data : TrainingData

    Returns
    -------
    ExplicitFeatures

    Raises
    ------
    KernelMemoryError
        When the features do not fit into memory.
    ValueError
        When there is no unit.
    """
    if data.n_source + data.n_target_units == 0:
        raise ValueError("There is nothing to learn from: no row is in a bag or has a label.")
    means = unit_means(
        data.X_target,
        data.unit_of_row,
        data.n_target_units,
        transform=None if space.feature_map is None else space.transform,
    )
    source = None
    if data.n_source:
        source = space.transform(data.X_source, data.X_source.dtype)
    return ExplicitFeatures(source, means)


def explicit_problem(features: ExplicitFeatures, losses: Losses) -> CoupledLinearProblem:
    """State a program on explicit features.

    Parameters
    ----------
    features : ExplicitFeatures
    losses : Losses

    Returns
    -------
    CoupledLinearProblem
    """
    source = None
    if features.source is not None:
        source = _units(features.source, [losses.source])
    return CoupledLinearProblem(source, _units(features.target, losses.target), losses.coupling)


def _units(features: Any, losses: list[Loss]) -> LinearUnits:
    values = {
        name: np.concatenate([getattr(loss, name) for loss in losses])
        for name in ("targets", "half_widths", "lower", "upper")
    }
    if not sparse.issparse(features):
        features = np.ascontiguousarray(features)  # rows are read one by one, or in chunks
    return LinearUnits(features, **values)
