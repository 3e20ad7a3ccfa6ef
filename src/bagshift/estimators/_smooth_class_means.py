# SPDX-License-Identifier: BSD-3-Clause
"""Class means of every bag, smooth over a graph of bags.

The linear system stands in :mod:`bagshift.estimators.laplacian_mean_map`. What is wanted is two
combinations of its unknowns, so the matrix, which is symmetric, is solved for these two sides
only. It is singular where the graph falls apart, and gets a small ridge towards the overall mean,
which leaves the sum of the weights at one.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpocon
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._target_rows import TargetRows
from bagshift.kernels import require_memory

Floats = NDArray[np.float64]

LAPLACIAN_CONSTRAINTS: dict[str, list[Any]] = {
    "smoothing": [Interval(Real, 0.0, None, closed="neither")],
    "bandwidth": [StrOptions({"median"}), Interval(Real, 0.0, None, closed="neither")],
}

# Relative to the average weight of a bag, which is one.
_RIDGE = 1e-10


def laplacian_weights(
    rows: TargetRows, means: Any, weights: Floats, *, smoothing: float, bandwidth: float | str
) -> tuple[Floats, float]:
    """Return the weights of bag means in class means that vary smoothly between bags.

    Parameters
    ----------
    rows : TargetRows
    means : matrix of shape (n_bags, n_features)
        Bag means, dense or sparse.
    weights : ndarray of shape (n_bags,)
        Of the bags, of mean one.
    smoothing : float
        Weight of differences between bags, in units of the weight of the average bag.
    bandwidth : float or "median"
        Distance at which the similarity of bags falls to 1/e.

    Returns
    -------
    of_classes : ndarray of shape (2, n_bags)
        The first class first; rows sum to one.
    condition_number : float
        Of the matrix of the system, in the 1-norm, as LAPACK estimates it.

    Raises
    ------
    KernelMemoryError
        When the system would not fit into memory.
    """
    group, within = _groups(rows, weights)
    n_groups = int(group.max()) + 1
    require_memory(
        6 * (2 * n_groups) ** 2 * 8,
        f"The linear system of {n_groups:,} bags",
        "use MeanMap, or fewer and larger bags",
    )
    pool = sparse.csr_array((within, (group, np.arange(len(group)))), shape=(n_groups, len(group)))
    similarity = _similarity(pool @ means, bandwidth)
    shares, mass = np.empty(n_groups), np.bincount(group, weights).astype(np.float64)
    shares[group] = rows.bags.shares
    of_groups, condition = _solve(shares, mass, smoothing * _graph_laplacian(similarity))
    return of_groups[:, group] * within, condition


def _groups(rows: TargetRows, weights: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return for every bag its group and its part in it: labelled rows of a class are one bag."""
    group = np.arange(rows.n_bags, dtype=np.float64)
    labelled = slice(rows.n_true_bags, None)
    group[labelled] = rows.n_true_bags + rows.bags.shares[labelled]
    numbers = np.unique(group, return_inverse=True)[1]
    return numbers, weights / np.bincount(numbers, weights)[numbers]


def _graph_laplacian(similarity: Floats) -> Floats:
    """Return the Laplacian of the graph with weights that for the average bag sum to one."""
    degree = similarity.sum(axis=1)
    average = float(degree.mean())
    if average == 0.0:
        return np.zeros_like(similarity)
    return np.asarray((np.diag(degree) - similarity) / average)


def _similarity(means: Any, bandwidth: float | str) -> Floats:
    """Return exp(-distance / bandwidth) of groups, 0 on the diagonal."""
    far = euclidean_distances(means) if sparse.issparse(means) else cdist(means, means)
    width = bandwidth
    if isinstance(width, str):
        typical = float(np.median(far[np.triu_indices_from(far, 1)]))
        width = typical if typical > 0.0 else 1.0
    similarity = np.exp(-far / width)
    np.fill_diagonal(similarity, 0.0)
    return np.asarray(similarity)


def _solve(shares: Floats, mass: Floats, penalty: Floats) -> tuple[Floats, float]:
    """Return the weights of group means in class means, the first class first."""
    n = len(shares)
    rest = 1.0 - shares
    matrix = np.empty((2 * n, 2 * n))
    matrix[:n, :n] = penalty + np.diag(mass * shares**2 + _RIDGE)
    matrix[n:, n:] = penalty + np.diag(mass * rest**2 + _RIDGE)
    matrix[:n, n:] = matrix[n:, :n] = np.diag(mass * shares * rest)
    wanted = np.zeros((2 * n, 2))
    wanted[n:, 0] = mass * rest / (mass @ rest)
    wanted[:n, 1] = mass * shares / (mass @ shares)
    norm = float(np.abs(matrix).sum(axis=0).max())
    factor = cho_factor(matrix, overwrite_a=True)
    inverse_condition, _ = dpocon(factor[0], norm, uplo=b"L" if factor[1] else b"U")
    found = cho_solve(factor, wanted)
    of_groups = (mass * (shares * found[:n].T + rest * found[n:].T)).astype(np.float64)
    missing = 1.0 - of_groups.sum(axis=1, keepdims=True)
    of_groups = of_groups + missing * mass / mass.sum()
    return of_groups, 1.0 / max(float(inverse_condition), np.finfo(np.float64).tiny)
