# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of row numbers and bag numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def row_numbers(key: Any, n_rows: int) -> IntArray:
    """Turn an index such as ``[rows, ...]`` into row numbers, as NumPy would.

    Parameters
    ----------
    key : array of int, mask, slice, or a tuple of one of these and Ellipsis
    n_rows : int

    Returns
    -------
    ndarray of shape (n_taken,)
    """
    if isinstance(key, tuple):
        parts = [part for part in key if part is not Ellipsis]
        if len(parts) > 1:
            raise IndexError("Bags have one axis, the rows, so they take one index.")
        key = parts[0] if parts else slice(None)
    if not isinstance(key, slice) and key is not Ellipsis:
        key = np.asarray(key)
        key = key.astype(np.int64) if key.shape == (0,) else key
    rows: IntArray = np.arange(n_rows)[key]
    if rows.ndim != 1:
        raise TypeError(
            "rows of Bags are taken by an array, a mask or a slice: write bags[[row]] for a "
            "single row."
        )
    return rows


def count_rows(bag_index: IntArray, n_bags: int) -> IntArray:
    """Count the rows of each bag; shape (n_bags,)."""
    return np.bincount(bag_index[bag_index >= 0], minlength=n_bags).astype(np.int64)


def count_distinct_rows(bag_index: IntArray, rows: IntArray, n_bags: int) -> IntArray:
    """Count the rows of each bag, repeated ones once; shape (n_bags,)."""
    in_bag = np.flatnonzero(bag_index >= 0)
    n_numbers = int(rows.max(initial=0)) + 1
    pairs = np.sort(bag_index[in_bag] * n_numbers + rows[in_bag])
    is_new = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
    return count_rows(pairs[is_new] // n_numbers, n_bags)


def first_places(numbers: IntArray, n: int) -> IntArray:
    """Find where each of the numbers 0..n-1 comes first; all of them come; shape (n,)."""
    first = np.empty(n, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last assignment stays
    return first


def by_first_appearance(bag_index: IntArray, n_bags: int) -> IntArray:
    """List the bags that occur, in the order in which they come first."""
    in_bag = bag_index[bag_index >= 0]
    is_present = np.zeros(n_bags, dtype=bool)
    is_present[in_bag] = True
    rank = np.cumsum(is_present) - 1
    present = np.flatnonzero(is_present)
    return present[np.argsort(first_places(rank[in_bag], len(present)))]


def look_up(table: IntArray, index: IntArray) -> IntArray:
    """Take ``table[index]``, with -1 for index -1."""
    return np.append(table, -1)[index]


def invert(places: IntArray, n: int) -> IntArray:
    """Say for each of the numbers 0..n-1 where it is in `places`; -1 for nowhere."""
    inverse = np.full(n, -1, dtype=np.int64)
    inverse[places] = np.arange(len(places))
    return inverse


def group_means(values: NDArray[Any], bag_index: IntArray, n_bags: int) -> NDArray[np.float64]:
    """Average rows by bag, in double precision; shape (n_bags,) or (n_bags, n_columns)."""
    means = np.zeros((n_bags, *values.shape[1:]))
    if n_bags:
        in_bag = np.flatnonzero(bag_index >= 0)
        order = in_bag[np.argsort(bag_index[in_bag], kind="stable")]
        n_rows = count_rows(bag_index, n_bags)
        starts = np.cumsum(n_rows) - n_rows
        np.add.reduceat(values[order], starts, axis=0, out=means, dtype=np.float64)
        means /= n_rows.reshape(-1, *(1,) * (values.ndim - 1))
    return means
