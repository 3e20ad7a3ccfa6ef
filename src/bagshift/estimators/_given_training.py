# SPDX-License-Identifier: BSD-3-Clause
"""Check what ``fit`` was given, before it is known which classes there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y, check_consistent_length

from bagshift.bags import Bags
from bagshift.domains import split_domains
from bagshift.estimators._advice import IF_IDS, MAKE_BAGS, labels_beside_source, no_target
from bagshift.estimators._base import validate_rows
from bagshift.estimators._kernel_matrix import check_kernel_matrix
from bagshift.estimators._source_argument import read_source, row_weights

Floats = NDArray[np.float64]

# Truth values, whole numbers and text: none is missing, infinite or between two classes.
_KINDS_OF_CLASSES = "biuU"


@dataclass(frozen=True)
class GivenTraining:
    """Rows of both domains, checked, with the labels that were given.

    Attributes
    ----------
    X_source, X_target : matrix of shape (n_source, n_features), (n_target, n_features) or None
    source_labels : ndarray of shape (n_source,) or None
        None without a source.
    source_weight : ndarray of shape (n_source,)
        Empty without a source.
    bags : Bags
        Of the target rows; unlabelled where plain labels were given.
    labels : ndarray of shape (n_target,) or None
        Plain labels in place of bags.
    weight : ndarray of shape (n_target,) or None
        Positive weights of rows with plain labels.
    column_order : ndarray or None
        For a precomputed kernel: which column of the given matrix each training row is, source
        rows first.
    """

    X_source: Any
    X_target: Any
    source_labels: NDArray[Any] | None
    source_weight: Floats
    bags: Bags
    labels: NDArray[Any] | None = None
    weight: Floats | None = None
    column_order: NDArray[np.intp] | None = None

    @property
    def counted_source_labels(self) -> NDArray[Any] | None:
        """Labels of source rows of positive weight; None without a source."""
        if self.source_labels is None:
            return None
        return np.asarray(self.source_labels[self.source_weight > 0])


def read_given(
    estimator: Any, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
) -> GivenTraining:
    """Validate the arguments of ``fit``.

    Parameters
    ----------
    estimator : BagClassifier
        Receives ``n_features_in_`` and ``feature_names_in_``.
    X : matrix of shape (n_rows, n_features)
        Target rows, or source and target rows stacked by :func:`bagshift.stack_domains`.
    y : Bags, labels of shape (n_rows,) or None
        Bags of the rows; plain labels make an ordinary supervised problem.
    source : tuple, optional
        ``(X, y)`` or ``(X, y, sample_weight)`` of labelled history.
    sample_weight : array-like of shape (n_rows,), optional
        Only together with plain labels.

    Returns
    -------
    GivenTraining

    Raises
    ------
    ValueError
        When the arguments do not fit together or hold values that cannot be used.
    """
    if y is None and source is not None:
        y = Bags.unlabelled(_n_rows(X))
    if isinstance(y, Bags):
        if sample_weight is not None:
            raise ValueError(
                "sample_weight goes with plain labels only; give bags their weights in "
                "Bags.from_arrays(weights=...) and source rows theirs in source=(X, y, weight)."
            )
        return _read_domains(estimator, X, y, source)
    if isinstance(y, Mapping):
        raise ValueError(f"y is a mapping; {MAKE_BAGS}.")
    if source is not None:
        raise ValueError(labels_beside_source(estimator))
    return _read_labels(estimator, X, y, sample_weight)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _read_labels(estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None) -> GivenTraining:
    """Plain labels: every row is a labelled target row."""
    if y is None:
        raise ValueError(no_target(estimator))
    X = validate_rows(estimator, X, reset=True)
    if not _are_classes(y):
        y = _check_y(y, estimator=estimator)
    check_consistent_length(X, y)
    if not _are_classes(y):
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(f"{error} To learn from shares, {MAKE_BAGS}.") from error
    _check_number_of_classes(estimator, y)
    weight = row_weights(sample_weight, X)
    # A row of weight zero must not even move the kernel width: it is as if it were not there.
    kept = np.flatnonzero(weight > 0)
    if len(kept) < len(y) and len(np.unique(y[kept])) < 2:
        raise ValueError("Rows with a positive sample_weight hold fewer than two classes.")
    if is_pairwise(estimator):
        check_kernel_matrix(None, X)
    order = None
    if len(kept) < len(y):
        order = kept if is_pairwise(estimator) else None
        X = X[kept][:, kept] if is_pairwise(estimator) else _safe_indexing(X, kept)
        y, weight = y[kept], weight[kept]
    return GivenTraining(
        X_source=None,
        X_target=X,
        source_labels=None,
        source_weight=np.empty(0),
        bags=Bags.unlabelled(len(y)),
        labels=y,
        weight=weight,
        column_order=order,
    )


def _check_number_of_classes(estimator: Any, y: NDArray[Any]) -> None:
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(one_class(classes.tolist()[0]))
    if len(classes) > 2 and not getattr(estimator, "_takes_more_classes", False):
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}; {IF_IDS}."
        )


def one_class(label: Any) -> str:
    """Say that there is one class only."""
    return f"The labels hold one class, {label!r}; two classes are needed to learn from."


def _are_classes(labels: Any) -> bool:
    """Whether labels are an array that scikit-learn's checks have nothing to say of."""
    return (
        type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in _KINDS_OF_CLASSES
    )


def _read_domains(estimator: Any, X: Any, y: Bags, source: Any) -> GivenTraining:
    """Bags, with a source given beside them or stacked into them."""
    X = validate_rows(estimator, X, reset=True)
    if X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} rows but the bags describe {len(y)} rows.")
    if np.any(y.is_source) and source is not None:
        raise ValueError("These bags already hold source rows (stack_domains); leave source= out.")
    order = None
    if np.any(y.is_source):
        (X_source, labels, weight), X, bags = _split_stacked(X, y)
        if is_pairwise(estimator):
            order = np.concatenate([np.flatnonzero(y.is_source), np.flatnonzero(~y.is_source)])
            X_source, X = X_source[:, order], X[:, order]
    else:
        bags = y
        X_source, labels, weight = read_source(estimator, source, beside=X)
    if is_pairwise(estimator):
        check_kernel_matrix(X_source, X)
    bags.check_whole()
    return GivenTraining(
        X_source=X_source,
        X_target=X,
        source_labels=labels,
        source_weight=np.empty(0) if labels is None else weight,
        bags=bags,
        column_order=order,
    )


def _split_stacked(X: Any, y: Bags) -> tuple[Any, Any, Bags]:
    source, X_target, bags = split_domains(X, y)
    if len(bags) == 0:
        raise ValueError("The stacked rows hold source rows only; target rows are needed too.")
    return source, X_target, bags


def is_pairwise(estimator: Any) -> bool:
    """Whether an estimator is given rows of a kernel matrix."""
    kernel = getattr(estimator, "kernel", None)
    return isinstance(kernel, str) and kernel == "precomputed"
