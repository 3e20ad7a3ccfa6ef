# SPDX-License-Identifier: BSD-3-Clause
"""Folds of whole bags, in the numbering of the target rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.exceptions import BagError

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class BagFold:
    """One split of the bags.

    Attributes
    ----------
    train_rows : ndarray of shape (n_train,)
        Target rows trained on: those of the training bags and those in no bag.
    train_bags : ndarray of shape (n_train_bags,)
        Positions of the training bags in the bag table, ascending.
    test_rows : ndarray of shape (n_test,)
        Target rows of the held-out bags.
    """

    train_rows: Rows
    train_bags: Rows
    test_rows: Rows


def bag_folds(cv: Any, X: Any, y: Bags) -> list[BagFold]:
    """Return the folds of a splitter.

    Parameters
    ----------
    cv : splitter or iterable of (train, test) row indices
    X : array-like of shape (n_rows, n_features)
    y : Bags of length n_rows
        May hold source rows.

    Returns
    -------
    list of BagFold

    Raises
    ------
    BagError
        If a bag is cut, or nothing is held out.
    ValueError
        If a row in no bag is held out or left out of training.
    """
    folds = list(_read_folds(cv.split(X, y) if hasattr(cv, "split") else cv, y))
    if not folds:
        raise BagError("cv holds out no bag at all.")
    return folds


def _read_folds(splits: Any, y: Bags) -> Iterator[BagFold]:
    target_rows = y.target_rows()
    number_in_target = np.full(len(y), -1)
    number_in_target[target_rows] = np.arange(len(target_rows))
    in_no_bag = np.flatnonzero(y.bag_index < 0)
    for train, test in splits:
        y[train].check_whole()
        y[test].check_whole()
        if len(test) == 0:
            raise BagError("a fold of cv holds out no bag.")
        if not np.isin(in_no_bag, train).all():
            raise ValueError(
                "cv must keep source rows and rows in no bag in every training set; use BagKFold "
                "or another splitter of bagshift."
            )
        train_bags = np.unique(y.bag_index[train])
        rows = number_in_target[train]
        yield BagFold(
            train_rows=rows[rows >= 0],
            train_bags=train_bags[train_bags >= 0],
            test_rows=number_in_target[test],
        )
