# SPDX-License-Identifier: BSD-3-Clause
"""Bags that the data bring along: groups, and equal combinations of column values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._bags.ids import is_blank, number_distinct
from bagshift.bags import Bags
from bagshift.datasets.bag_making import check_number, read_positives, shares_by_bag

Ints = NDArray[np.int64]
IN_NO_BAG = -1


def make_natural_bags(
    groups: Any, labels: ArrayLike, *, min_size: int = 1
) -> tuple[NDArray[Any], dict[int, float]]:
    """Make each group a bag.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Group of every row: any hashable values, matched by equality. A row whose group is blank
        (None, NaN or an empty text) is in no bag.
    labels : array-like of shape (n_rows,)
        True labels: truth values, 0 and 1, or -1 and 1.
    min_size : int, default=1
        Rows of a group with fewer rows than this are in no bag.

    Returns
    -------
    bag_ids : ndarray of shape (n_rows,)
        Bag of every row. Bags are numbered from 0 in order of first appearance. Whole numbers
        (int64) while every row is in a bag; otherwise of dtype object, with `Bags.NO_BAG` for
        the rows that are in none.
    shares : dict of int to float
        Share of positives in every bag.

    Raises
    ------
    ValueError
        When ``min_size`` is less than 1, the lengths differ, or labels are of another kind.
    BagError
        When groups are not hashable or not one-dimensional.

    Examples
    --------
    >>> make_natural_bags(["north", "south", "north"], [1, 1, 0])
    (array([0, 1, 0]), {0: 0.5, 1: 1.0})
    >>> make_natural_bags(["north", "south", "north"], [1, 1, 0], min_size=2)
    (array([0, Bags.NO_BAG, 0], dtype=object), {0: 0.5})
    """
    return _bags_of_codes(_codes(groups, "groups"), labels, min_size)


def make_feature_bags(
    columns: Any, labels: ArrayLike, *, min_size: int = 1
) -> tuple[NDArray[Any], dict[int, float]]:
    """Make a bag of the rows that have the same values in all given columns.

    So are official tables made, as of occupation by education.

    Parameters
    ----------
    columns : array-like of shape (n_rows,) or (n_rows, n_columns), or frame
        Values of the columns: any hashables, matched by equality. A row with a blank value
        (None, NaN or an empty text) is in no bag.
    labels : array-like of shape (n_rows,)
        True labels: truth values, 0 and 1, or -1 and 1.
    min_size : int, default=1
        Rows of a combination with fewer rows than this are in no bag.

    Returns
    -------
    bag_ids : ndarray of shape (n_rows,)
        Bag of every row. Bags are numbered from 0 in order of first appearance. Whole numbers
        (int64) while every row is in a bag; otherwise of dtype object, with `Bags.NO_BAG` for
        the rows that are in none.
    shares : dict of int to float
        Share of positives in every bag.

    Raises
    ------
    ValueError
        When ``min_size`` is less than 1, the lengths differ, there is no column, or labels are
        of another kind.
    BagError
        When values are not hashable.

    Examples
    --------
    >>> make_feature_bags([["nurse", 1], ["cook", 1], ["nurse", 2], ["cook", 1]], [1, 1, 0, 0])
    (array([0, 1, 2, 1]), {0: 1.0, 1: 0.5, 2: 0.0})
    """
    table = columns if isinstance(columns, np.ndarray) else np.asarray(columns, dtype=object)
    if table.ndim not in (1, 2) or (table.ndim == 2 and table.shape[1] == 0):
        raise ValueError(
            f"columns must be one column or a table of one or more, not of shape {table.shape}."
        )
    table = table[:, None] if table.ndim == 1 else table
    columns_codes = [_codes(column, "columns") for column in table.T]
    combined = columns_codes[0]
    for codes in columns_codes[1:]:
        is_blank_row = (combined < 0) | (codes < 0)
        pairs = combined * (codes.max(initial=0) + 1) + codes
        # Renumbered after each column, so that the product never overflows.
        combined = np.unique(pairs, return_inverse=True)[1]
        combined[is_blank_row] = IN_NO_BAG
    return _bags_of_codes(combined, labels, min_size)


def _codes(values: Any, name: str) -> Ints:
    """Give equal values one number, blank ones `IN_NO_BAG`."""
    raw_codes, distinct = number_distinct(values, name)
    if not len(raw_codes):
        return raw_codes
    blank = np.array([is_blank(value) for value in distinct])
    return np.where(blank[raw_codes], IN_NO_BAG, raw_codes)


def _bags_of_codes(
    codes: Ints, labels: ArrayLike, min_size: int
) -> tuple[NDArray[Any], dict[int, float]]:
    is_positive = read_positives(labels, len(codes))
    check_number("min_size", min_size)
    sizes = np.bincount(codes[codes >= 0])
    in_bag = (codes >= 0) & (sizes[codes] >= min_size if len(sizes) else False)
    numbers = np.full(len(codes), IN_NO_BAG, dtype=np.int64)
    numbers[in_bag] = number_distinct(codes[in_bag], "groups")[0]
    shares = shares_by_bag(numbers, is_positive)
    if in_bag.all():
        return numbers, shares
    bag_ids = numbers.astype(object)
    bag_ids[~in_bag] = Bags.NO_BAG
    return bag_ids, shares
