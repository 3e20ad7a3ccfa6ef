# SPDX-License-Identifier: BSD-3-Clause
"""Source and target as one matrix, for steps that must see both, such as a scaler.

A Pipeline transforms ``X`` but never a ``source=`` beside it. Stacked, both domains pass through
every step, and the rows' domain travels inside the target object.
"""

import sys
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.exceptions import TableError, name_some


def stack_domains(*, source: tuple[Any, ...], target: tuple[Any, Any]) -> tuple[Any, Bags]:
    """Stack source rows upon target rows.

    Parameters
    ----------
    source : tuple (X, y) or (X, y, sample_weight)
        Labelled rows; dense, CSR, pandas or polars.
    target : tuple (X, bags)
        Target rows in the same columns and their `Bags`; None for rows in no bag.

    Returns
    -------
    X : array, sparse matrix or frame of shape (n_source + n_target, n_features)
    y : Bags
        Knows which rows are source rows and holds their labels.

    Examples
    --------
    >>> from bagshift import Bags, stack_domains
    >>> bags = Bags.from_arrays(["a", "a"], {"a": 0.5})
    >>> X, y = stack_domains(source=([[0.0], [1.0]], [0, 1]), target=([[0.2], [0.9]], bags))
    >>> X.shape, y.is_source
    ((4, 1), array([ True,  True, False, False]))
    """
    X_source, labels, weight = (*source, None) if len(source) == 2 else source
    X_target, bags = target
    source_part = Bags.for_source(labels, weight)
    target_part = Bags.unlabelled(_n_rows(X_target)) if bags is None else bags
    return _stack(X_source, X_target), Bags.concatenate([source_part, target_part])


def split_domains(
    X: Any, y: Bags
) -> tuple[tuple[Any, NDArray[Any], NDArray[np.float64]] | None, Any, Bags]:
    """Undo `stack_domains`.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    y : Bags

    Returns
    -------
    source : tuple (X, labels, weights) or None
        None when there is no source row.
    X_target : of the type of `X`
    bags : Bags
        Of the target rows.
    """
    target_rows = y.target_rows()
    if len(target_rows) == len(y):
        return None, X, y
    source_rows = np.flatnonzero(y.is_source)
    labels = np.array(y.label_values[source_rows].tolist())
    source = (_take(X, source_rows), labels, y.row_weights[source_rows])
    return source, _take(X, target_rows), y[target_rows]


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _stack(X_source: Any, X_target: Any) -> Any:
    if hasattr(X_source, "columns") or hasattr(X_target, "columns"):
        return _stack_frames(X_source, X_target)
    if scipy.sparse.issparse(X_source) or scipy.sparse.issparse(X_target):
        return scipy.sparse.vstack([X_source, X_target], format="csr")
    return np.vstack([np.asarray(X_source), np.asarray(X_target)])


def _stack_frames(X_source: Any, X_target: Any) -> Any:
    if type(X_source) is not type(X_target):
        raise TableError("source and target must be of one kind.")
    names = list(X_source.columns)
    aligned = X_target[names]
    if hasattr(X_source, "iloc"):
        return sys.modules["pandas"].concat([X_source, aligned], ignore_index=True)
    return sys.modules["polars"].concat([X_source, aligned], how="vertical_relaxed")
