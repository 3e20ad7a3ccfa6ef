# SPDX-License-Identifier: BSD-3-Clause
"""k-means that does not depend on the order of the rows, for machines that cluster the target."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms, safe_sparse_dot

Floats = NDArray[np.float64]

# Distances to the mean that agree in so many digits are equal up to rounding.
_DIGITS = 9


def cluster_centers(X: Any, n_clusters: int, *, n_init: int, random_state: Any) -> Floats:
    """Return the centres that k-means finds.

    Parameters
    ----------
    X : matrix of shape (n_rows, n_features)
        Dense or CSR.
    n_clusters : int
        How many clusters are wanted.
    n_init : int
        How many times k-means starts anew; the tightest clusters are kept.
    random_state : int or RandomState

    Returns
    -------
    ndarray of shape (at most n_clusters, n_features)
        Fewer where there are fewer different rows.
    """
    rows = X[canonical_order(X)].astype(np.float64)
    k_means = KMeans(min(n_clusters, X.shape[0]), n_init=n_init, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        k_means.fit(rows)
    _, first = np.unique(k_means.cluster_centers_, axis=0, return_index=True)
    return np.asarray(k_means.cluster_centers_[np.sort(first)])


def require_rows_for_clusters(n_clusters: int, n_rows: int, name: str) -> None:
    """Raise when more clusters are asked for than there are rows.

    Parameters
    ----------
    n_clusters, n_rows : int
    name : str
        What the rows are, such as "target rows".

    Raises
    ------
    ValueError
    """
    if n_clusters > n_rows:
        raise ValueError(
            f"n_clusters={n_clusters:,} asks for more clusters than there are {name}, "
            f"{n_rows:,}; set n_clusters to far fewer."
        )


def canonical_order(X: Any) -> NDArray[np.intp]:
    """Return an order of the rows, from the middle outwards, that no permutation changes.

    Parameters
    ----------
    X : matrix of shape (n_rows, n_features)
        Dense or CSR.

    Returns
    -------
    ndarray of shape (n_rows,)
        Row numbers. What is left to the order given are rows that are alike, and such as a
        symmetry of the data makes equally far and equally skew.
    """
    middle = np.asarray(X.mean(axis=0), dtype=np.float64).reshape(1, -1)
    distance = squared_distances(X, middle)[:, 0]
    largest = float(distance.max()) or 1.0
    skew = safe_sparse_dot(X, np.arange(1.0, X.shape[1] + 1.0), dense_output=True)
    return np.lexsort((np.asarray(skew), np.round(distance / largest, _DIGITS)))


def squared_distances(X: Any, centers: Floats) -> Floats:
    """Return the squared distance of every row to every centre.

    Parameters
    ----------
    X : matrix of shape (n_rows, n_features)
        Dense or CSR.
    centers : ndarray of shape (n_centers, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_centers)
    """
    if sparse.issparse(X):
        products = safe_sparse_dot(X, centers.T, dense_output=True)
        squares = row_norms(X, squared=True)[:, None] + row_norms(centers, squared=True)
        return np.maximum(np.asarray(squares - 2.0 * products, dtype=np.float64), 0.0)
    # One centre at a time: no cancellation where rows lie far from the origin.
    found = np.empty((X.shape[0], len(centers)))
    for k, center in enumerate(centers):
        found[:, k] = row_norms(X - center, squared=True)
    return found


def nearest(X: Any, centers: Floats) -> NDArray[np.intp]:
    """Return the number of the nearest centre of every row; shape (n_rows,)."""
    return np.asarray(squared_distances(X, centers).argmin(axis=1))


def to_unit_length(X: Any) -> Any:
    """Return rows of length one, rows of zeros as they are; distances become those of angles."""
    length = row_norms(X)
    factor = 1.0 / np.where(length > 0, length, 1.0)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(factor) @ X)
    return X * factor[:, None]
