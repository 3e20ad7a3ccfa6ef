# SPDX-License-Identifier: BSD-3-Clause
"""Bags of rows that are alike, as neighbours in a precinct are.

The rows are first described by their leading principal components, at most ten. Then they are
halved, and the halves halved again, until a part is one bag: each time the rows of the part are
put in order along the direction in which they vary most, and cut so that each side holds whole
bags, as nearly as many as the other side. This is a balanced principal-direction tree; every bag
is full, which clusters of k-means are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import check_array, check_random_state

from bagshift.datasets.bag_making import check_bag_size, read_positives, shares_by_bag

MOST_COMPONENTS = 10
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def make_clustered_bags(
    X: Any,
    labels: ArrayLike,
    bag_size: int,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Ints, dict[int, float]]:
    """Cut rows into bags of equal size so that the rows of a bag are alike.

    Columns count by their variance, so scale them first. Dense rows are centred; sparse ones
    are not, as that would fill them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Rows.
    labels : array-like of shape (n_rows,)
        True labels: truth values, 0 and 1, or -1 and 1. They only make the shares.
    bag_size : int
        Rows per bag; one bag is smaller when this does not divide the number of rows.
    random_state : int, RandomState or None, default=None
        Of the order among rows that tie, of which end of a part the odd bag and the smaller bag
        lie at, and of the search for principal components.

    Returns
    -------
    bag_ids : ndarray of shape (n_rows,)
        Bag of every row, numbered from 0; the last bag is the smaller one. Bags with neighbouring
        numbers are often alike.
    shares : dict of int to float
        Share of positives in every bag.

    Raises
    ------
    ValueError
        When ``bag_size`` is less than 1, `X` holds NaN, the lengths differ, or labels
        are of another kind.

    Examples
    --------
    >>> bag_ids, shares = make_clustered_bags([[0.0], [9.0], [0.1], [9.1]], [0, 1, 0, 1], 2, 0)
    >>> sorted(shares.values())
    [0.0, 1.0]
    """
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0, ensure_min_features=0
    )
    is_positive = read_positives(labels, X.shape[0])
    check_bag_size(bag_size)
    random = check_random_state(random_state)
    # In random order, so that a stable sort breaks ties at random.
    order = random.permutation(X.shape[0])
    points = _leading_components(X, random)
    bag_ids = np.empty(X.shape[0], dtype=np.int64)
    for bag, rows in enumerate(_halve(points, order, bag_size, random)):
        bag_ids[rows] = bag
    return bag_ids, shares_by_bag(bag_ids, is_positive)


def _leading_components(X: Any, random: np.random.RandomState) -> Floats:
    if not issparse(X):
        X = X - X.mean(axis=0) if len(X) else X
        if X.shape[1] <= MOST_COMPONENTS:
            return np.asarray(X)
    n_components = min(MOST_COMPONENTS, *X.shape)
    if n_components == 0:
        return np.zeros((X.shape[0], 0))
    # It divides by the total variance for a figure that nobody reads here.
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(TruncatedSVD(n_components, random_state=random).fit_transform(X))


def _halve(
    points: Floats, order: Ints, bag_size: int, random: np.random.RandomState
) -> list[Ints]:
    """Return the rows of each bag, the smaller one last."""
    bags: list[Ints] = []
    parts = [order] if len(order) else []
    while parts:
        rows = parts.pop()
        n_bags = -(-len(rows) // bag_size)
        if n_bags == 1:
            bags.append(rows)
            continue
        along = points[rows] @ _direction(points[rows], random)
        rows = rows[np.argsort(along, kind="stable")]
        cut = n_bags // 2 * bag_size
        # The last part comes off the stack first; the one cut short must stay last.
        parts += [rows[cut:], rows[:cut]]
    return bags


def _direction(points: Floats, random: np.random.RandomState) -> Floats:
    """Return the direction of largest variance, pointing either way."""
    centred = points - points.mean(axis=0)
    if not points.shape[1]:
        return np.zeros(0)
    leading = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return np.asarray(leading * random.choice([-1.0, 1.0]))
