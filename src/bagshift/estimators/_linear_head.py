# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers that are linear on the features of a kernel and trained on a loss of their scores.

The part of ``fit`` that they share: read the data, standardise columns, map them to features,
train, and turn weights on the features into fitted attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from bagshift.estimators._class_training import ClassTraining, read_classes
from bagshift.estimators._count_starts import inverse_calibration_start, source_start
from bagshift.estimators._feature_space import ColumnScale, FeatureSpace, standardize
from bagshift.estimators._kernel_machine import TransferKernelMachine
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.estimators._target_rows import TargetRows
from bagshift.estimators._training import TrainingData, read_training
from bagshift.exceptions import plural, warn_caller
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.linear_heads import HeadResult, Machines

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training data on the features of a kernel.

    Attributes
    ----------
    data : TrainingData
        With standardised columns, where they are.
    scale : ColumnScale or None
    space : FeatureSpace
    rows : TargetRows
    source_features : matrix of shape (n_source, n_features) or None
    target_features : matrix of shape (n_rows, n_features)
        Of the rows in bags and the labelled ones, in the order of `rows`.
    """

    data: TrainingData
    scale: ColumnScale | None
    space: FeatureSpace
    rows: TargetRows
    source_features: Any
    target_features: Any


@dataclass(frozen=True, eq=False)
class Trained:
    """What training found.

    Attributes
    ----------
    result : HeadResult
        The machines, and how the optimiser ended.
    facts : dict of str to object
        Other fitted attributes, by name.
    complaint : str
        What to warn of beside an optimiser that did not converge; empty for nothing.
    """

    result: HeadResult
    facts: dict[str, Any] = field(default_factory=dict)
    complaint: str = ""


class LinearHead(LogisticMachine):
    """Base of classifiers trained by :func:`bagshift.solvers.linear_heads.solve_heads`.

    Subclasses implement ``_train``.
    """

    @abstractmethod
    def _train(self, ready: Prepared) -> Trained:
        """Return the machine for prepared data."""

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; plain labels make it logistic regression.
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
            When a bag was cut, or the shares leave the machine undetermined.
        KernelMemoryError
            When the features of the kernel would not fit into memory.
        ValueError
            When the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When ``max_iter`` steps did not reach ``tol``, or rounding keeps it out of reach.
        """
        self._check_parameters()
        read = read_classes if self._takes_more_classes else read_training
        given = read(self, X, y, source=source, sample_weight=sample_weight)
        if isinstance(given, ClassTraining):
            self._fit_classes(given)
            return self
        self._check_learnable(given)
        scale = self._column_scale(given)
        data = standardize(given, scale)
        space = self._space(data)
        rows = TargetRows.of(data)
        ready = Prepared(
            data=data,
            scale=scale,
            space=space,
            rows=rows,
            source_features=None if data.n_source == 0 else space.transform(data.X_source),
            target_features=space.transform(data.X_target[rows.rows]),
        )
        trained = self._train(ready)
        self._store(ready, trained)
        if trained.complaint:
            warn_caller(trained.complaint, ConvergenceWarning)
        elif not trained.result.converged:
            at_limit = self.n_iter_ >= self.max_iter
            more = (
                "lower the costs, or set a higher max_iter" if at_limit else "or lower the costs"
            )
            warn_caller(
                f"The optimiser stopped after {plural(self.n_iter_, 'step')} with a gradient of "
                f"norm {self.gradient_norm_:.3g}; scale the features, {more}.",
                ConvergenceWarning,
            )
        return self

    def _fit_classes(self, given: ClassTraining) -> None:
        """Train the machine of more than two classes, where there is one."""
        raise NotImplementedError

    def _check_learnable(self, data: TrainingData) -> None:
        name, tags = type(self).__name__, self._bag_tags()
        if data.n_source and not tags.uses_source:
            raise ValueError(
                f"{name} learns from bags alone and cannot use source rows; leave them out, or "
                "use CountLikelihoodClassifier or ProportionMatching."
            )
        super()._check_learnable(data)
        if tags.needs_source and data.bags.n_bags and not data.n_source:
            raise ValueError(f"{name} needs labelled history; give it as source=(X, y).")
        known = np.concatenate([data.shares, 0.5 * (1.0 + data.labelled_signs)])
        if not data.n_source and (np.all(known <= 0.0) or np.all(known >= 1.0)):
            raise ValueError(
                "All shares are those of one class, so nothing tells the classes apart; add bags "
                "with other shares."
            )

    def _store(self, ready: Prepared, trained: Trained) -> None:
        """Turn what was found into fitted attributes."""
        result, machines = trained.result, trained.result.machines
        self._begin(ready.data, ready.space.kernel)
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.gradient_norm_ = result.gradient_norm
        self.converged_ = result.converged and not trained.complaint
        for name, value in trained.facts.items():
            setattr(self, name, value)
        parts = {"": machines.target}
        if ready.data.n_source and isinstance(self, TransferKernelMachine):
            parts["source_"] = machines.source
        for prefix, machine in parts.items():
            self._store_machine(ready.data, ready.space, prefix, machine, ready.scale)


# Starts -----------------------------------------------------------------------------------


def source_machine(machine: Any, ready: Prepared) -> Machines:
    """Return logistic regression on the source.

    Parameters
    ----------
    machine : estimator
        Gives ``C_source``, ``tol`` and ``max_iter``.
    ready : Prepared
        With source rows.

    Returns
    -------
    Machines
    """
    return source_start(
        ready.source_features,
        ready.data.source_signs,
        machine.C_source * ready.data.source_weight,
        tol=machine.tol,
        max_iter=machine.max_iter,
    )


def calibrated_machine(machine: Any, ready: Prepared) -> Machines:
    """Return a regression of the logits of shares on bag means.

    Parameters
    ----------
    machine : estimator
        Gives ``C_target``.
    ready : Prepared

    Returns
    -------
    Machines
    """
    bags = ready.rows.bags
    return inverse_calibration_start(
        ready.target_features,
        BagCounts.exact(np.zeros(ready.rows.n_bags, dtype=np.int64), bags.sizes),
        bags.shares,
        machine.C_target * ready.rows.weights,
    )
