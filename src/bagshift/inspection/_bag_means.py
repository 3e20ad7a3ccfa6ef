# SPDX-License-Identifier: BSD-3-Clause
r"""In how many directions bags differ by their features, and how evenly.

With columns of unit variance, :math:`M` has the rows :math:`\sqrt{n_k} (\bar x_k - \bar x)`.
Its rank is the number of directions along which the means of bags differ at all; its condition
says how much less they differ along the last of them than along the first; and
:math:`\lVert M \rVert^2 / ((d-1) D)` is about 1 if rows came into bags by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from bagshift.bags import Bags

FloatArray = NDArray[np.float64]

_LARGEST_SIDE = 3000


@dataclass(frozen=True)
class BagMeans:
    """Directions of the means of bags.

    Attributes
    ----------
    n_features : int
    n_constant : int
        Features that are the same in all rows.
    rank : int or None
        Directions in which means differ; at most the bags less one. None where there are more
        than 3,000 bags and features.
    condition : float or None
        Largest over smallest deviation of means along these directions.
    spread_ratio : float
        Variance of means over that of random grouping, mean over features.
    """

    n_features: int
    n_constant: int
    rank: int | None
    condition: float | None
    spread_ratio: float


def bag_means(bags: Bags, X: Any) -> BagMeans | None:
    """Look at the means of bags.

    Parameters
    ----------
    bags : Bags
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        Finite numbers.

    Returns
    -------
    BagMeans or None
        None for a single bag.
    """
    if bags.n_bags < 2:
        return None
    rows = bags.rows_in_bags()
    means, deviations = _means_and_deviations(X[rows], bags.bag_index[rows], bags.rows_per_bag)
    varies = deviations > 1e-12 * np.maximum(np.abs(means).max(axis=0), 1e-300)
    scaled = means[:, varies] / deviations[varies]
    n_rows = bags.rows_per_bag.astype(np.float64)
    scaled = (scaled - n_rows @ scaled / n_rows.sum()) * np.sqrt(n_rows)[:, None]
    rank = condition = None
    if min(scaled.shape) <= _LARGEST_SIDE:
        rank, condition = _rank(scaled)
    n_features = int(varies.sum())
    total = float((scaled**2).sum()) / ((bags.n_bags - 1) * max(n_features, 1))
    return BagMeans(X.shape[1], X.shape[1] - n_features, rank, condition, total)


def _means_and_deviations(
    X: Any, bag_index: NDArray[np.int64], n_rows: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Return means by bag, and deviations over all rows, of dense or sparse features."""
    ones = np.ones(len(bag_index))
    shape = (len(n_rows), len(bag_index))
    sums = csr_array((ones, (bag_index, np.arange(len(bag_index)))), shape=shape) @ X
    means = np.asarray(sums.todense() if issparse(sums) else sums, dtype=np.float64)
    means = means / n_rows[:, None]
    overall = n_rows @ means / n_rows.sum()
    if issparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        variances = squares - overall**2
        return means, np.sqrt(np.where(variances > 1e-12 * squares, variances, 0.0))
    return means, np.asarray(X, dtype=np.float64).std(axis=0)


def _rank(scaled: FloatArray) -> tuple[int, float | None]:
    n_bags, n_features = scaled.shape
    if not n_features:
        return 0, None
    # The eigenvalues of the smaller product are the squares of the singular values.
    product = scaled.T @ scaled if n_features < n_bags else scaled @ scaled.T
    values = np.maximum(np.linalg.eigvalsh(product)[::-1], 0.0)
    most = min(n_bags - 1, n_features)
    is_left = values[:most] > values[0] * max(scaled.shape) * np.finfo(np.float64).eps * 10
    rank = int(is_left.sum()) if values[0] > 0 else 0
    return rank, float(np.sqrt(values[0] / values[rank - 1])) if rank else None
