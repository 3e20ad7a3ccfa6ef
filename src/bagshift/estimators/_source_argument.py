# SPDX-License-Identifier: BSD-3-Clause
"""Read the argument ``source`` of ``fit``: labelled history with the columns of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_n_features, _check_sample_weight, check_array

from bagshift.bags import Bags
from bagshift.estimators._base import are_sound, row_checks, validate_rows
from bagshift.labels import read_source_labels


def read_source(estimator: Any, source: Any, *, beside: Any) -> tuple[Any, Any, Any]:
    """Return (X, labels, weight) of the ``source`` argument, or three times None.

    Parameters
    ----------
    estimator : BagClassifier
        Knows the columns of the target.
    source : tuple or None
        ``(X, y)`` or ``(X, y, sample_weight)``.
    beside : matrix of shape (n_target, n_features)
        Rows of the target; a frame only where frames are handed on.

    Returns
    -------
    tuple
        Matrix or frame, array of labels, and weights of float64.

    Raises
    ------
    ValueError
        When it cannot be used.
    """
    if source is None:
        return None, None, None
    if not isinstance(source, tuple) or len(source) not in (2, 3):
        raise ValueError(
            "source must be a tuple (X, y) or (X, y, sample_weight) of labelled rows; got "
            + (
                f"{len(source)} items."
                if isinstance(source, tuple)
                else f"{type(source).__name__}."
            )
        )
    if np.ndim(source[0]) == 1 and np.ndim(source[1]) == 2:
        raise ValueError("source must be (X, y), rows first and labels second; got labels first.")
    try:
        X = _read_source_rows(estimator, source[0], beside)
    except (TypeError, ValueError) as error:
        raise type(error)(f"The rows of source= cannot be used. {error}") from error
    if isinstance(source[1], Bags):
        raise ValueError("The labels of the source are Bags; give one label per row.")
    labels = read_source_labels(source[1])
    if len(labels) != X.shape[0]:
        raise ValueError(
            f"The source has {X.shape[0]} rows but {len(labels)} labels; give one label per row."
        )
    try:
        weight = row_weights(source[2] if len(source) == 3 else None, X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The weights of source= must be {X.shape[0]:,} finite numbers that are not negative "
            "and not all zero, one per source row."
        ) from error
    return X, labels, weight


def row_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Return weights of rows, each one where none are given.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
    X : matrix or frame of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    TypeError, ValueError
        When they cannot be used.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    return np.asarray(weight, dtype=np.float64).copy()


def _read_source_rows(estimator: Any, X: Any, beside: Any) -> Any:
    """Return the rows of the source; without names their columns are those of the target's."""
    if hasattr(X, "columns"):
        return validate_rows(estimator, X, reset=False)
    if hasattr(beside, "columns"):
        raise ValueError(
            "X is a frame and they are not; give both as frames with the same columns, or both "
            "as arrays."
        )
    if not are_sound(X):
        X = check_array(X, estimator=estimator, input_name="X", **row_checks(estimator))
    _check_n_features(estimator, X, reset=False)
    return X
