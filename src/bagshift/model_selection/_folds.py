# SPDX-License-Identifier: BSD-3-Clause
"""Which bags are held out: what `cv` may be, and the rows of every fold."""

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from bagshift._bags.indexing import invert, row_numbers
from bagshift.bags import Bags
from bagshift.exceptions import BagError, name_bags
from bagshift.model_selection.splitters import BagKFold, LeaveOneBagOut, RepeatedBagKFold

Rows = NDArray[np.int64]
Split = tuple[Rows, Rows]


@dataclass(frozen=True)
class BagFold:
    """One split of the bags, in the numbering of the target rows.

    Attributes
    ----------
    train_rows : ndarray of shape (n_train,)
        Target rows trained on, ascending: those of the training bags and those in no bag.
    train_bags : ndarray of shape (n_train_bags,)
        Positions of the training bags in the bag table, ascending.
    test_rows : ndarray of shape (n_test,)
        Target rows of the held-out bags, ascending.
    test_bags : ndarray of shape (n_test_bags,)
        Positions of the held-out bags in the bag table, ascending.
    """

    train_rows: Rows
    train_bags: Rows
    test_rows: Rows
    test_bags: Rows


# What cv may be ---------------------------------------------------------------------------


def single_bag_cv(bags: Bags) -> BagKFold | LeaveOneBagOut:
    """Return a splitter that holds out every bag once.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    BagKFold or LeaveOneBagOut
        Ten shuffled folds with a fixed seed; leave-one-bag-out below ten bags.
    """
    return LeaveOneBagOut() if bags.n_bags < 10 else shuffled_folds(10)


def default_bag_cv(bags: Bags) -> BagKFold | LeaveOneBagOut | RepeatedBagKFold:
    """Return the splitter by which parameters are chosen unless told otherwise.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    splitter
        Ten shuffled folds with a fixed seed, three times over below thirty bags;
        leave-one-bag-out below ten.
    """
    if 10 <= bags.n_bags < 30:
        return RepeatedBagKFold(10, n_repeats=3, random_state=0)
    return single_bag_cv(bags)


def resolve_cv(cv: Any, default: Any) -> Any:
    """Turn the argument `cv` into a splitter or a list of splits.

    Parameters
    ----------
    cv : splitter, int, iterable of (train, test) or None
        A number is that of shuffled folds with a fixed seed.
    default : splitter
        Taken when `cv` is None.

    Returns
    -------
    splitter or list

    Raises
    ------
    TypeError
        If `cv` is something else.
    """
    if cv is None:
        return default
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        return shuffled_folds(int(cv))
    if hasattr(cv, "split") and not isinstance(cv, str | bytes | type):
        return cv
    if isinstance(cv, Iterable) and not isinstance(cv, str | bytes | type):
        return list(cv)
    raise TypeError(
        "cv must be a splitter such as BagKFold(5), a number of folds or a list of (train, test) "
        f"row numbers; got {cv!r}."
    )


def shuffled_folds(n_splits: int) -> BagKFold:
    """Return so many folds of whole bags, shuffled with a fixed seed."""
    return BagKFold(n_splits, shuffle=True, random_state=0)


# Rows of the folds ------------------------------------------------------------------------


def bag_splits(cv: Any, X: Any, y: Bags) -> list[Split]:
    """Return the training rows and held-out rows of every fold, checked.

    Parameters
    ----------
    cv : splitter or list of (train, test)
        From :func:`resolve_cv`.
    X : array-like of shape (n_rows, n_features)
    y : Bags of length n_rows
        May hold source rows.

    Returns
    -------
    list of (train, test)
        Ascending row numbers.

    Raises
    ------
    TypeError
        If `cv` is a splitter of scikit-learn that asks for groups or labels.
    BagError
        If a bag is cut, trained on in the fold that holds it out, or nothing is held out.
    ValueError
        If a row in no bag is held out or left out of training, or a split is no pair of sets of
        rows.
    """
    check_consistent_length(X, y)
    splits = [_read_split(pair, len(y)) for pair in _pairs(cv, X, y)]
    if not splits:
        raise BagError("cv holds out no bag at all.")
    for train, test in splits:
        _check_split(train, test, y)
    return splits


def _pairs(cv: Any, X: Any, y: Bags) -> list[Any]:
    if not hasattr(cv, "split"):
        return list(cv)
    if not type(cv).__module__.startswith("sklearn."):
        return list(cv.split(X, y))
    try:
        return list(cv.split(X, y))
    except (TypeError, ValueError) as error:  # it asks for groups= or for labels
        raise TypeError(
            f"cv={type(cv).__name__} of scikit-learn cannot split Bags, whose groups are the bags "
            "themselves: give a number of folds, or BagKFold or another splitter of "
            "bagshift.model_selection."
        ) from error


def bag_folds(splits: list[Split], y: Bags) -> list[BagFold]:
    """Return splits in the numbering of the target rows.

    Parameters
    ----------
    splits : list of (train, test)
        From :func:`bag_splits`.
    y : Bags of length n_rows
        May hold source rows.

    Returns
    -------
    list of BagFold
    """
    number_in_target = invert(y.target_rows(), len(y))
    return [
        BagFold(
            train_rows=number_in_target[train[~y.is_source[train]]],
            train_bags=_bags_of(train, y),
            test_rows=number_in_target[test],
            test_bags=_bags_of(test, y),
        )
        for train, test in splits
    ]


def _read_split(pair: Any, n_rows: int) -> Split:
    try:
        train, test = (_ascending(rows, n_rows) for rows in pair)
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(
            "cv must give pairs (train, test) of row numbers, each row at most once, or of masks "
            f"over the {n_rows:,} rows of X."
        ) from error
    return train, test


def _ascending(rows: Any, n_rows: int) -> Rows:
    """Turn row numbers, a mask or a slice into distinct ascending row numbers."""
    numbers = row_numbers(rows if isinstance(rows, slice) else np.asarray(rows), n_rows)
    distinct = np.unique(numbers)
    if len(distinct) < len(numbers):
        raise ValueError("a row comes twice")
    return distinct


def _check_split(train: Rows, test: Rows, y: Bags) -> None:
    y[train].check_whole()
    y[test].check_whole()
    if len(train) == 0:
        raise BagError("a fold of cv trains on no row.")
    if len(test) == 0:
        raise BagError("a fold of cv holds out no bag.")
    in_no_bag = np.flatnonzero(y.bag_index < 0)
    if np.isin(in_no_bag, test).any() or not np.isin(in_no_bag, train).all():
        raise ValueError(
            "cv must keep source rows and rows in no bag in every training set and hold out none "
            "of them; use BagKFold or another splitter of bagshift."
        )
    leaked = np.intersect1d(_bags_of(train, y), _bags_of(test, y))
    if leaked.size:
        raise BagError(
            f"cv trains on {name_bags(y.ids[leaked])} in the same fold that holds them out; use "
            "BagKFold or another splitter of bagshift."
        )


def _bags_of(rows: Rows, y: Bags) -> Rows:
    """Return the positions of the bags of rows, ascending."""
    positions = np.unique(y.bag_index[rows])
    return positions[positions >= 0]
