# SPDX-License-Identifier: BSD-3-Clause
"""The kernel machine behind TGPLM, IC-SVM and the source SVM.

All three solve the coupled quadratic program of :mod:`bagshift.solvers` over units (source rows,
bags, labelled target rows) and differ only in which units they use and what they ask of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from bagshift.estimators._class_training import ClassTraining, read_classes
from bagshift.estimators._kernel_machine import KernelMachine, TransferKernelMachine
from bagshift.estimators._training import TrainingData, read_training
from bagshift.exceptions import warn_caller
from bagshift.kernels import Kernel, unit_grams
from bagshift.solvers import CoupledProblem, CoupledResult
from bagshift.solvers.polish import solve_sharply

Floats = NDArray[np.float64]

_MOST_COST = 1e300


@dataclass(frozen=True)
class Loss:
    """The loss terms of a group of units, as the dual sees them.

    Attributes
    ----------
    targets : ndarray of shape (n_units,)
        Label (-1 or +1) of a hinge unit, wanted score of a bag.
    half_widths : ndarray of shape (n_units,)
        Half width of the tube around the wanted score; 0 on hinge units.
    lower, upper : ndarray of shape (n_units,)
        Box of the signed dual variable.
    """

    targets: Floats
    half_widths: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class Losses:
    """The losses of one program.

    Attributes
    ----------
    source : Loss
        Of the source rows.
    target : list of Loss
        Of the groups of target units: bags, then labelled rows.
    coupling : float
    """

    source: Loss
    target: list[Loss]
    coupling: float


def hinge_loss(signs: Floats, cost: Floats) -> Loss:
    """Return the hinge loss: score times label at least one, at ``cost`` per unit of slack."""
    with np.errstate(over="ignore"):
        if not cost.sum() < _MOST_COST:
            raise ValueError(
                "The costs of the rows, weights included, leave the range of numbers; lower the "
                "costs or the weights."
            )
    far_end = signs * cost
    return Loss(
        targets=signs,
        half_widths=np.zeros(len(signs)),
        lower=np.minimum(far_end, 0.0),
        upper=np.maximum(far_end, 0.0),
    )


def tube_loss(centres: Floats, half_widths: Floats, cost: Floats) -> Loss:
    """Return the tube loss: score within the tube, at ``cost`` per unit of slack."""
    return Loss(targets=centres, half_widths=half_widths, lower=-cost, upper=cost)


def coupled_problem(
    gram: NDArray[Any], source: Loss, target: list[Loss], coupling: float
) -> CoupledProblem:
    """Assemble the dual problem; units stand in the order source, then the target's groups."""
    losses = [source, *target]
    return CoupledProblem(
        gram=gram,
        n_source=len(source.targets),
        targets=np.concatenate([loss.targets for loss in losses]),
        half_widths=np.concatenate([loss.half_widths for loss in losses]),
        lower=np.concatenate([loss.lower for loss in losses]),
        upper=np.concatenate([loss.upper for loss in losses]),
        coupling=coupling,
    )


def labelled_rows_problem(data: TrainingData, gram: NDArray[Any], cost: float) -> CoupledProblem:
    """Assemble the dual problem of one machine on the labelled target rows, with hinge loss."""
    return coupled_problem(gram, **vars(labelled_rows_losses(data, cost)))


def labelled_rows_losses(data: TrainingData, cost: float) -> Losses:
    """Return the hinge loss of the labelled target rows, and of nothing else."""
    rows = hinge_loss(data.labelled_signs, cost * data.labelled_weight)
    return Losses(hinge_loss(np.empty(0), np.empty(0)), [rows], coupling=0.0)


class CoupledMachine(KernelMachine):
    """Kernel machine trained by the coupled quadratic program.

    Subclasses say in ``_problem`` which loss each unit has, and in ``_select`` which part of the
    training data they use.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
    }
    # A number, and an array of one for each of more than two classes.
    objective_: Any
    dual_gap_: Any
    intercept_interval_: Any
    # False where training solves a sequence of programs, which a search over one cannot do.
    _is_one_program: ClassVar[bool] = True

    @abstractmethod
    def _problem(self, data: TrainingData, gram: NDArray[Any]) -> CoupledProblem:
        """Return the dual problem of this machine on the units of ``data``."""

    def _select(self, data: TrainingData) -> TrainingData:
        """Return the part of the training data that this machine uses."""
        return data

    def _finish(self, data: TrainingData) -> None:
        """Complete a fitted machine with what else the training data say."""

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags, array-like of shape (n_rows,) or None
            Bags of the rows; plain labels make it an ordinary supervised machine. None goes with
            a source, where a method asks nothing more of the target than its rows.
        source : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When a bag was cut, for example by a plain KFold.
        KernelMemoryError
            When the kernel matrix would not fit into memory; raised before it is allocated.
        ValueError
            When the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When the solver, or a method that trains again and again, stopped before its end.
        """
        self._check_parameters()
        read = read_classes if self._takes_more_classes else read_training
        given = read(self, X, y, source=source, sample_weight=sample_weight)
        if isinstance(given, ClassTraining):
            return self._fit_each_class(given)
        data = self._select(given)
        kernel = self._kernel(data)
        result = self._train(data, kernel)
        self._store(data, kernel, result)
        self._finish(given)
        complaint = self._complaint(result)
        if complaint:
            warn_caller(complaint, ConvergenceWarning)
        return self

    def _fit_each_class(self, given: ClassTraining) -> Self:
        """Train one machine for each class, of it against all the others, on one kernel."""
        views = [self._select(view) for view in given.each_against_rest()]
        kernel = self._kernel(views[0])
        results = self._train_each(views, kernel)
        self._store_each(given, views, kernel, results)
        complaints = [said for said in map(self._complaint, results) if said]
        if complaints:
            warn_caller(complaints[0], ConvergenceWarning)
        return self

    def _train_each(self, views: list[TrainingData], kernel: Kernel) -> list[Any]:
        """Return the solutions of all classes, whose units are the same."""
        gram = finite_gram(kernel, views[0])
        return [self._solve(view, gram) for view in views]

    def _train(self, data: TrainingData, kernel: Kernel) -> CoupledResult:
        """Return the solution on the units of ``data``."""
        return self._solve(data, finite_gram(kernel, data))

    def _solve(self, data: TrainingData, gram: NDArray[Any]) -> CoupledResult:
        """Return the solution of the machine's problem."""
        return self._solve_exactly(self._problem(data, gram))

    def _solve_exactly(
        self, problem: CoupledProblem, start: Floats | None = None
    ) -> CoupledResult:
        """Solve a problem and remove what the solver's tolerance leaves to chance."""
        return solve_sharply(problem, tol=self.tol, max_iter=self.max_iter, start=start)

    def _complaint(self, result: CoupledResult) -> str | None:
        """Return what to warn of when the solution is not to be relied upon."""
        if result.converged:
            return None
        return (
            f"The solver stopped after {result.n_iter} iterations with a duality gap of "
            f"{result.dual_gap:.3g}; scale the features, lower the costs, or set a higher "
            "max_iter."
        )

    def _store(self, data: TrainingData, kernel: Kernel, result: CoupledResult) -> None:
        """Turn the dual solution into fitted attributes, and forget those of an earlier fit."""
        self._begin(data, kernel)
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.dual_gap_ = result.dual_gap
        self.converged_ = result.converged
        self.intercept_interval_ = result.intercept_interval
        self.intercept_ = np.array([result.intercept_target])
        coefficients = {"": self._coefficients(data, result)}
        if result.n_source:
            self.source_intercept_ = np.array([result.intercept_source])
            coefficients["source_"] = row_coefficients(result.source_coefficients, data)
        self._store_expansion(data, coefficients)

    def _store_each(
        self,
        given: ClassTraining,
        views: list[TrainingData],
        kernel: Kernel,
        results: list[Any],
    ) -> None:
        """Turn the dual solutions of all classes into fitted attributes."""
        self._begin(given, kernel)
        self._store_solutions(results)
        self.intercept_ = np.array([result.intercept_target for result in results])
        pairs = list(zip(views, results, strict=True))
        coefficients = {"": np.array([self._coefficients(*pair) for pair in pairs])}
        if results[0].n_source:
            self.source_intercept_ = np.array([result.intercept_source for result in results])
            coefficients["source_"] = np.array(
                [row_coefficients(result.source_coefficients, view) for view, result in pairs]
            )
        self._store_expansion(views[0], coefficients)

    def _store_solutions(self, results: list[Any]) -> None:
        """Store what the solver says of each class."""
        self.n_iter_ = sum(result.n_iter for result in results)
        self.objective_ = np.array([result.objective for result in results])
        self.dual_gap_ = np.array([result.dual_gap for result in results])
        self.converged_ = all(result.converged for result in results)
        self.intercept_interval_ = np.array([result.intercept_interval for result in results])

    def _coefficients(self, data: TrainingData, result: Any) -> Floats:
        """Return the coefficients of all rows in the decision function."""
        return row_coefficients(result.target_coefficients, data)


class TransferMachine(TransferKernelMachine, CoupledMachine):
    """Coupled machine that keeps a machine of the source beside that of the target."""


def finite_gram(kernel: Kernel, data: TrainingData) -> NDArray[Any]:
    """Return the kernel matrix of all units, or say why it cannot be computed.

    Parameters
    ----------
    kernel : Kernel
        The kernel with its numbers filled in.
    data : TrainingData
        The units.

    Returns
    -------
    ndarray of shape (n_source + n_target_units, n_source + n_target_units)

    Raises
    ------
    ValueError
        When there is no unit, or the kernel overflows.
    KernelMemoryError
        When the matrix would not fit into memory.
    """
    return finite_grams([kernel], data)[0]


def finite_grams(kernels: Sequence[Kernel], data: TrainingData) -> list[NDArray[Any]]:
    """Return the kernel matrices of all units for several kernels, as `finite_gram` does."""
    if data.n_source + data.n_target_units == 0:
        raise ValueError("There is nothing to learn from: no row is in a bag or has a label.")
    with np.errstate(over="ignore", invalid="ignore"):
        grams = unit_grams(
            kernels, data.X_source, data.X_target, data.unit_of_row, data.n_target_units
        )
        if not all(np.isfinite(gram.sum()) or np.all(np.isfinite(gram)) for gram in grams):
            raise ValueError(
                "The kernel matrix holds values that are not finite: the features are too large "
                "for this kernel, so scale them, or check the kernel function."
            )
    return grams


def row_coefficients(unit_coefficients: Floats, data: TrainingData) -> Floats:
    """Spread the coefficient of every unit over the rows whose mean it is.

    Parameters
    ----------
    unit_coefficients : ndarray of shape (n_source + n_target_units,)
        Expansion of a decision function on units.
    data : TrainingData
        The rows behind the units.

    Returns
    -------
    ndarray of shape (n_source + n_target,)
        Expansion of the same function on rows.
    """
    if len(data.labelled_rows) == len(data.bags):  # every row is a unit
        return unit_coefficients
    source = unit_coefficients[: data.n_source]
    target = unit_coefficients[data.n_source :]
    # Rows in no unit, number -1, count for none and take the zero at the end.
    size = np.bincount(data.unit_of_row + 1, minlength=len(target) + 1)[1:]
    of_one_row = np.append(target / np.maximum(size, 1), 0.0)
    return np.concatenate([source, of_one_row[data.unit_of_row]])
