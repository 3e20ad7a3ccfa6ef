# SPDX-License-Identifier: BSD-3-Clause
"""Training data of more than two classes as the count-likelihood machine sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._class_training import ClassTraining
from bagshift.exceptions import RoundedShareWarning, name_bags, warn_caller
from bagshift.solvers.class_counts import ClassCounts

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# Further from a whole count than this a share is taken as rounded.
_WHOLE = 1e-6


@dataclass(frozen=True, eq=False)
class ClassUnits:
    """Bags and labelled target rows.

    Attributes
    ----------
    rows : ndarray of shape (n_unit_rows,)
        Numbers of target rows, unit by unit: the bags, then the labelled rows.
    counts : ClassCounts
        Of every unit.
    weights : ndarray of shape (n_units,)
        Factors on the log-likelihood of every unit.
    """

    rows: Numbers
    counts: ClassCounts
    weights: Floats

    @property
    def is_labelled(self) -> bool:
        """Whether every label is known: all rows of a unit are of one class."""
        return bool(np.all(self.counts.counts.max(axis=1) == self.counts.sizes))

    def rows_from(self, X: Any) -> Any:
        """Return the rows of all units, unit by unit; `X` itself where it holds them so."""
        n_rows = len(self.rows)
        is_ordered = n_rows == X.shape[0] and np.array_equal(self.rows, np.arange(n_rows))
        return X if is_ordered else X[self.rows]


def class_units(given: ClassTraining, *, warn: bool = True) -> ClassUnits:
    """Arrange training data for the likelihood of the counts of all classes.

    Parameters
    ----------
    given : ClassTraining
    warn : bool, default=True
        Whether to warn of shares that are not those of whole counts.

    Returns
    -------
    ClassUnits
    """
    rows, counts = class_bag_counts(given.bags, given.class_shares, warn=warn)
    n_labelled = len(given.labelled_rows)
    singles = np.eye(given.n_classes, dtype=np.int64)[given.labelled_codes]
    return ClassUnits(
        rows=np.concatenate([rows, given.labelled_rows]).astype(np.int64),
        counts=ClassCounts(
            np.concatenate([counts.starts, counts.n_rows + 1 + np.arange(n_labelled)]),
            np.concatenate([counts.counts, singles]),
        ),
        weights=np.concatenate([given.bags.weights, given.labelled_weight]),
    )


def class_bag_counts(
    bags: Bags, class_shares: Floats, *, warn: bool = True
) -> tuple[Numbers, ClassCounts]:
    """Arrange rows bag by bag, with the number of rows of each class in every bag.

    Parameters
    ----------
    bags : Bags
        Whole bags.
    class_shares : ndarray of shape (n_bags, n_classes)
    warn : bool, default=True
        Whether to warn of shares that are not those of whole counts of the rows.

    Returns
    -------
    rows : ndarray of int64
        Numbers of the rows in bags, bag by bag.
    counts : ClassCounts
        Shares times rows; where these are not whole, rounded so that they sum to the rows, those
        with the largest remainders up.

    Raises
    ------
    BagError
        When a bag was cut.

    Warns
    -----
    RoundedShareWarning
        When counts had to be rounded.
    """
    bags.check_whole()
    n_rows = bags.rows_per_bag
    wanted = class_shares * n_rows[:, None]
    counts = largest_remainders(wanted, n_rows)
    off = np.abs(wanted - counts).max(axis=1, initial=0.0) > _WHOLE * np.maximum(n_rows, 1)
    if warn and off.any():
        warn_caller(
            f"the shares of {name_bags(bags.ids[off])} are not those of whole counts of their "
            "rows, so they are taken as rounded to the nearest ones: pass counts= of the rows.",
            RoundedShareWarning,
        )
    order = np.argsort(bags.bag_index, kind="stable").astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(n_rows)])
    return order[np.count_nonzero(bags.bag_index < 0) :], ClassCounts(starts, counts)


def largest_remainders(wanted: Floats, totals: NDArray[np.int64]) -> Numbers:
    """Round numbers of classes so that each row has its total.

    Parameters
    ----------
    wanted : ndarray of shape (n_bags, n_classes)
        Not negative; rows sum to the totals but for rounding.
    totals : ndarray of shape (n_bags,)

    Returns
    -------
    ndarray of int64, shape (n_bags, n_classes)
        Rounded down, and up for as many of the largest remainders as are missing; of equal ones
        the first.

    Examples
    --------
    >>> largest_remainders(np.array([[1.4, 1.3, 0.3]]), np.array([3]))
    array([[2, 1, 0]])
    """
    down = np.floor(wanted + 1e-9)
    missing = (totals - down.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(-(wanted - down), axis=1, kind="stable"), axis=1)
    return np.asarray(down + (rank < missing[:, None]), dtype=np.int64)
