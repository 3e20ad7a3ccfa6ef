# SPDX-License-Identifier: BSD-3-Clause
"""Bags of equal size from labelled rows, for examples and benchmarks."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from bagshift.exceptions import name_some


def make_bags(
    labels: ArrayLike, bag_size: int, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.int64], dict[int, float]]:
    """Cut rows at random into bags of equal size with exact shares.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        True labels: truth values, 0 and 1, or -1 and 1.
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
        When ``bag_size`` is less than 1, or labels are of another kind.

    Examples
    --------
    >>> bag_ids, shares = make_bags([1, 0, 1, 1], bag_size=2, random_state=0)
    >>> sum(shares.values())
    1.5
    """
    is_positive = read_positives(labels)
    check_bag_size(bag_size)
    n_rows = len(is_positive)
    bag_ids = np.empty(n_rows, dtype=np.int64)
    bag_ids[check_random_state(random_state).permutation(n_rows)] = np.arange(n_rows) // bag_size
    return bag_ids, shares_by_bag(bag_ids, is_positive)


def make_skewed_bags(
    labels: ArrayLike,
    bag_size: int,
    concentration: float,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.int64], dict[int, float]]:
    """Fill bags of equal size so that their shares differ more than by chance.

    Each bag draws a probability from the Beta distribution whose mean is the overall share of
    positives and whose parameters sum to `concentration`, and then, given it, a binomial number
    of positives. So a small concentration makes nearly pure bags, and a very large one makes
    bags like those of `make_bags`. Bags are filled one after the other, without replacement:
    once one class has run out, the rest of the bags hold what is left.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        True labels: truth values, 0 and 1, or -1 and 1.
    bag_size : int
        Rows per bag; the last bag is smaller when this does not divide the number of rows.
    concentration : float
        Sum of the two parameters of the Beta distribution, above 0. The variance of the bags'
        probabilities is that of a single label divided by one more than it.
    random_state : int, RandomState or None, default=None
        Of the draws.

    Returns
    -------
    bag_ids : ndarray of shape (n_rows,)
        Bag of every row, numbered from 0 in the order in which the bags are filled.
    shares : dict of int to float
        Share of positives in every bag.

    Raises
    ------
    ValueError
        When ``bag_size`` is less than 1, ``concentration`` is not a number above 0, or labels are
        of another kind.

    Examples
    --------
    >>> labels = [0, 1] * 500
    >>> for concentration in (0.1, 1, 1000):
    ...     _, shares = make_skewed_bags(labels, 10, concentration, random_state=0)
    ...     print(sum(share in (0, 1) for share in shares.values()), "of 100 bags are pure")
    88 of 100 bags are pure
    46 of 100 bags are pure
    1 of 100 bags are pure
    """
    is_positive = read_positives(labels)
    check_bag_size(bag_size)
    if not 0 < concentration < np.inf:
        raise ValueError(f"concentration must be a finite number above 0, not {concentration}.")
    random = check_random_state(random_state)
    counts = _draw_counts(is_positive, bag_size, concentration, random)
    sizes = _sizes(len(is_positive), bag_size)
    bag_ids = np.empty(len(is_positive), dtype=np.int64)
    for rows, taken in ((is_positive, counts), (~is_positive, sizes - counts)):
        bag_ids[random.permutation(np.flatnonzero(rows))] = np.repeat(np.arange(len(sizes)), taken)
    return bag_ids, shares_by_bag(bag_ids, is_positive)


def _draw_counts(
    is_positive: NDArray[np.bool_],
    bag_size: int,
    concentration: float,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """Draw the number of positives in each bag; together they are all positives."""
    sizes = _sizes(len(is_positive), bag_size)
    n_left = np.array([np.sum(~is_positive), np.sum(is_positive)])
    counts = np.empty(len(sizes), dtype=np.int64)
    parameters = concentration * n_left[::-1] / max(1, n_left.sum())
    for bag, size in enumerate(sizes):
        share = random.beta(*parameters) if parameters.all() else float(parameters[0] > 0)
        count = np.clip(random.binomial(size, share), size - n_left[0], n_left[1])
        counts[bag] = count
        n_left -= [size - count, count]
    return counts


def _sizes(n_rows: int, bag_size: int) -> NDArray[np.int64]:
    return np.bincount(np.arange(n_rows) // bag_size)


def check_bag_size(bag_size: int) -> None:
    """Refuse a number of rows per bag that is none.

    Parameters
    ----------
    bag_size : int
        Rows per bag.

    Raises
    ------
    ValueError
        When it is not a whole number from 1.
    """
    check_number("bag_size", bag_size)


def read_positives(labels: ArrayLike, n_rows: int | None = None) -> NDArray[np.bool_]:
    """Return which labels are positive.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        True labels: truth values, 0 and 1, or -1 and 1.
    n_rows : int, optional
        How many there must be.

    Returns
    -------
    ndarray of bool, shape (n_rows,)

    Raises
    ------
    ValueError
        When there is not one label per row, or labels are of another kind.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or (n_rows is not None and len(labels) != n_rows):
        expected = (
            "one label per row" if n_rows is None else f"one label for each of {n_rows} rows"
        )
        raise ValueError(f"labels must hold {expected}; their shape is {labels.shape}.")
    found = dict.fromkeys(labels.tolist())
    if not (found.keys() <= {0, 1} or found.keys() <= {-1, 1}):
        raise ValueError(
            "labels must be truth values, or 0 and 1, or -1 and 1, where 1 is positive; they hold "
            f"{name_some(found)}."
        )
    return np.asarray(labels == 1, dtype=bool)


def check_number(name: str, value: int, fewest: int = 1) -> None:
    """Refuse a number of things that is none.

    Parameters
    ----------
    name : str
        Of the argument.
    value : int
        Its value.
    fewest : int, default=1
        The least that makes sense.

    Raises
    ------
    ValueError
        When it is not a whole number from `fewest`.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < fewest:
        raise ValueError(f"{name} must be a whole number and at least {fewest}, not {value!r}.")


def shares_by_bag(bag_ids: NDArray[np.int64], is_positive: NDArray[np.bool_]) -> dict[int, float]:
    """Return the share of positives in every bag.

    Parameters
    ----------
    bag_ids : ndarray of shape (n_rows,)
        Bag of every row, numbered from 0; below 0 for rows in no bag.
    is_positive : ndarray of bool, shape (n_rows,)
        Which rows are positive.

    Returns
    -------
    dict of int to float
    """
    in_bags = bag_ids >= 0
    positives = np.bincount(bag_ids[in_bags], weights=is_positive[in_bags])
    shares = positives / np.bincount(bag_ids[in_bags])
    return {bag: float(share) for bag, share in enumerate(shares)}
