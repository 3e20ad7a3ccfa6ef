# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers whose score is a kernel expansion, whatever trained it."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from bagshift.estimators._base import BagClassifier, ClassifierTags
from bagshift.estimators._class_training import ClassTraining
from bagshift.estimators._feature_space import ColumnScale, FeatureSpace
from bagshift.estimators._training import TrainingData
from bagshift.kernels import (
    FeatureMap,
    FourierMap,
    Kernel,
    decision_values,
    resolve_kernel,
    take_rows,
)
from bagshift.solvers import LinearMachine

Floats = NDArray[np.float64]

# Fitted attributes with a row for each class, and those that all classes share.
_OF_EACH_CLASS = (
    "intercept_",
    "coef_",
    "dual_coef_",
    "source_intercept_",
    "source_coef_",
    "source_dual_coef_",
)
_OF_ALL_CLASSES = ("support_vectors_", "frequencies_", "feature_center_", "feature_scale_")
# Rows that are mapped at a time.
_MAPPED_ROWS = 8192


class KernelMachine(BagClassifier):
    """Base of classifiers with the score sum_i a_i kernel(x, x_i) + b.

    Subclasses store ``intercept_`` and, by kernel, ``coef_`` (linear), ``dual_coef_`` by column
    (precomputed) or ``dual_coef_`` with ``support_vectors_``; or ``coef_`` on Fourier features
    with their ``frequencies_``. A second machine for the source has the same with the prefix
    ``source_``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"linear", "rbf", "poly", "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "paper"}), Interval(Real, 0.0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    def _kernel(self, data: TrainingData) -> Kernel:
        with np.errstate(over="ignore", invalid="ignore"):
            return resolve_kernel(
                self.kernel,
                self.gamma,
                self.degree,
                self.coef0,
                data.X_source,
                data.X_target,
                weights=data.row_weight,
            )

    def _begin(self, data: TrainingData | ClassTraining, kernel: Kernel) -> None:
        """Forget the attributes of an earlier fit and store what every machine has."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            if name not in ("n_features_in_", "feature_names_in_"):
                delattr(self, name)
        self.classes_ = data.classes
        if not isinstance(data, ClassTraining):
            self.positive_class_ = data.positive
        self.kernel_ = kernel

    def _by_column(self, data: TrainingData | ClassTraining, coefficients: Floats) -> Floats:
        """Return coefficients in the order of the given kernel matrix's columns."""
        coefficients = np.atleast_2d(coefficients)
        n_outputs, n_rows = coefficients.shape
        by_column = np.zeros((n_outputs, self.n_features_in_))
        order = data.column_order
        columns = np.arange(n_rows) if order is None else order[:n_rows]
        by_column[:, columns] = coefficients
        return by_column

    def _store_expansion(self, data: TrainingData, coefficients: dict[str, Floats]) -> None:
        """Store weights (linear), or coefficients with their support rows (other kernels).

        Coefficients of all rows have the shape (n_rows,) or (n_outputs, n_rows).
        """
        if self.kernel_.name == "precomputed":
            for prefix, values in coefficients.items():
                setattr(self, f"{prefix}dual_coef_", self._by_column(data, values))
            return
        coefficients = {prefix: np.atleast_2d(own) for prefix, own in coefficients.items()}
        used = np.flatnonzero(sum((own != 0).any(axis=0) for own in coefficients.values()))
        rows = take_rows(data.X_source, data.X_target, used)
        if self.kernel_.name == "linear":
            for prefix, values in coefficients.items():
                weights = safe_sparse_dot(values[:, used], rows, dense_output=True)
                setattr(self, f"{prefix}coef_", np.asarray(weights, dtype=np.float64))
            return
        self.support_vectors_ = rows
        for prefix, values in coefficients.items():
            setattr(self, f"{prefix}dual_coef_", values[:, used])

    def _store_machine(
        self,
        data: TrainingData | ClassTraining,
        space: FeatureSpace,
        prefix: str,
        machine: LinearMachine,
        scale: ColumnScale | None = None,
    ) -> None:
        """Turn a machine on the features of a space into fitted attributes."""
        weights, intercept = machine.weights, machine.intercept
        if space.feature_map is None:
            if scale is not None:
                weights = weights / scale.scale
                intercept -= float(scale.center @ weights)
            setattr(self, f"{prefix}coef_", weights[None, :])
        elif isinstance(space.feature_map, FourierMap):
            self.frequencies_ = space.feature_map.frequencies
            self._store_scale(scale)
            setattr(self, f"{prefix}coef_", weights[None, :])
        elif space.kernel.name == "precomputed":
            coefficients = np.zeros(self.n_features_in_)
            coefficients[space.feature_map.landmarks] = space.feature_map.coefficients(weights)
            setattr(self, f"{prefix}dual_coef_", self._by_column(data, coefficients))
        else:
            self.support_vectors_ = space.feature_map.landmarks
            self._store_scale(scale)
            setattr(self, f"{prefix}dual_coef_", space.feature_map.coefficients(weights)[None, :])
        setattr(self, f"{prefix}intercept_", np.array([intercept]))

    def _stack(self, parts: list[KernelMachine]) -> None:
        """Take the fitted attributes of machines on the same features, one for each class."""
        for name in _OF_EACH_CLASS:
            if hasattr(parts[0], name):
                setattr(self, name, np.concatenate([getattr(part, name) for part in parts]))
        for name in _OF_ALL_CLASSES:
            if hasattr(parts[0], name):
                setattr(self, name, getattr(parts[0], name))

    def _store_scale(self, scale: ColumnScale | None) -> None:
        if scale is not None:
            self.feature_center_, self.feature_scale_ = scale.center, scale.scale

    def _scores(self, X: Any) -> Floats:
        return one_or_more(self._expansion(X, "") + self.intercept_)

    def _expansion(self, X: Any, prefix: str) -> Floats:
        """Return scores without their intercepts; shape (n_rows, n_outputs)."""
        if hasattr(self, "frequencies_"):
            return mapped_scores(FourierMap(self.frequencies_), X, getattr(self, f"{prefix}coef_"))
        if self.kernel_.name == "linear":
            scores = safe_sparse_dot(X, getattr(self, f"{prefix}coef_").T, dense_output=True)
            return np.asarray(scores, dtype=np.float64)
        coefficients = getattr(self, f"{prefix}dual_coef_").T
        if self.kernel_.name == "precomputed":
            scores = safe_sparse_dot(X, coefficients, dense_output=True)
            return np.asarray(scores, dtype=np.float64)
        return decision_values(self.kernel_, X, self.support_vectors_, coefficients)

    def __sklearn_tags__(self) -> ClassifierTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class TransferKernelMachine(KernelMachine):
    """Kernel machine that keeps a machine of the source beside that of the target."""

    def source_decision_function(self, X: Any) -> Floats:
        """Return the score of the source machine for every row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows of the source domain.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            When the machine was fitted without a source.
        """
        check_is_fitted(self)
        if not hasattr(self, "source_intercept_"):
            raise ValueError(
                f"This {type(self).__name__} was fitted without a source, so it has no source "
                "machine."
            )
        return self._score_rows(X, self._source_scores)

    def _source_scores(self, X: Any) -> Floats:
        return one_or_more(self._expansion(X, "source_") + self.source_intercept_)


def mapped_scores(feature_map: FeatureMap, X: Any, coef: Floats) -> Floats:
    """Return the scores of rows under weights on the features of a map, some rows at a time.

    Parameters
    ----------
    feature_map : FeatureMap
    X : matrix of shape (n_rows, n_features)
    coef : ndarray of shape (n_outputs, n_components)

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    scores = np.empty((int(X.shape[0]), len(coef)))
    for start in range(0, len(scores), _MAPPED_ROWS):
        part = slice(start, start + _MAPPED_ROWS)
        scores[part] = feature_map.transform(X[part]) @ coef.T
    return scores


def one_or_more(scores: Floats) -> Floats:
    """Return scores of two classes, which have one column, without that axis."""
    return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)
