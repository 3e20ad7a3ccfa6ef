# SPDX-License-Identifier: BSD-3-Clause
"""Bags from labelled rows, for examples and benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state


def make_bags(
    labels: ArrayLike, bag_size: int, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.int64], dict[int, float]]:
    """Cut rows at random into bags of equal size with exact shares.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        True labels; positive where they equal 1 or True.
    bag_size : int
        Rows per bag; the last bag is smaller when this does not divide the number of rows.
    random_state : int, RandomState or None, default=None
        Of the permutation.

    Returns
    -------
    bag_ids : ndarray of shape (n_rows,)
        Bag of every row, numbered from 0.
    shares : dict of int to float
        Share of positives in every bag.

    Raises
    ------
    ValueError
        When ``bag_size`` is less than 1.

    Examples
    --------
    >>> bag_ids, shares = make_bags([1, 0, 1, 1], bag_size=2, random_state=0)
    >>> sum(shares.values())
    1.5
    """
    if bag_size < 1:
        raise ValueError(f"bag_size must be at least 1, not {bag_size}.")
    is_positive = np.asarray(labels) == 1
    n_rows = len(is_positive)
    bag_ids = np.empty(n_rows, dtype=np.int64)
    bag_ids[check_random_state(random_state).permutation(n_rows)] = np.arange(n_rows) // bag_size
    positives = np.bincount(bag_ids, weights=is_positive)
    shares = positives / np.bincount(bag_ids)
    return bag_ids, {bag: float(share) for bag, share in enumerate(shares)}
